//! Long vectors of numbers as one run of little-endian bytes: [`Blob`], or `#[serde(with = "storage::blob")]` on a `Vec<f32>`.
//!
//! In bincode this is a u64 count of *bytes*, then the numbers. Reading and writing is a copy at most instead of a call for each number,
//! and a claimed length is checked against what is there before anything is allocated.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Serialize, Serializer};

/// Numbers that are written and read as one run of bytes, without a copy if each is a byte.
#[derive(Clone, Debug)]
pub struct Blob<'a, N: Number>(pub Cow<'a, [N]>);

impl<N: Number> Serialize for Blob<'_, N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize(&self.0, serializer)
    }
}

impl<'de: 'a, 'a, N: Number> Deserialize<'de> for Blob<'a, N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bytes(Bytes(PhantomData)).map(Self)
    }
}

/// A number with a fixed little-endian form.
pub trait Number: Copy + fmt::Debug + 'static {
    /// Bytes of a number.
    const BYTES: usize;

    /// The numbers' bytes.
    fn bytes(numbers: &[Self]) -> Cow<'_, [u8]>;

    /// The numbers of a run of bytes; a last incomplete number is dropped.
    fn read(bytes: &[u8]) -> Cow<'_, [Self]>;
}

macro_rules! single_bytes {
    ($($type:ty),*) => {$(
        impl Number for $type {
            const BYTES: usize = 1;

            fn bytes(numbers: &[Self]) -> Cow<'_, [u8]> {
                bytemuck::cast_slice(numbers).into()
            }

            fn read(bytes: &[u8]) -> Cow<'_, [Self]> {
                bytemuck::cast_slice(bytes).into()
            }
        }
    )*};
}

macro_rules! several_bytes {
    ($($type:ty),*) => {$(
        impl Number for $type {
            const BYTES: usize = size_of::<$type>();

            fn bytes(numbers: &[Self]) -> Cow<'_, [u8]> {
                numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
            }

            fn read(bytes: &[u8]) -> Cow<'_, [Self]> {
                bytes.as_chunks().0.iter().map(|&number| Self::from_le_bytes(number)).collect()
            }
        }
    )*};
}

single_bytes!(u8, i8);
several_bytes!(i16, u16, u32, u64, f32);

/// Writes the numbers as bytes.
///
/// # Errors
/// The serializer's.
pub fn serialize<N: Number, S: Serializer>(numbers: &[N], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bytes(&N::bytes(numbers))
}

/// Reads the numbers from bytes.
///
/// # Errors
/// The deserializer's, or a length that is not a whole number of numbers.
pub fn deserialize<'de, N: Number, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<N>, D::Error> {
    Blob::deserialize(deserializer).map(|blob| blob.0.into_owned())
}

struct Bytes<N>(PhantomData<N>);

impl<N: Number> Bytes<N> {
    fn read<E: Error>(self, bytes: &[u8]) -> Result<Cow<'_, [N]>, E> {
        if bytes.len().is_multiple_of(N::BYTES) {
            Ok(N::read(bytes))
        } else {
            Err(E::invalid_length(bytes.len(), &self))
        }
    }
}

impl<'de, N: Number> Visitor<'de> for Bytes<N> {
    type Value = Cow<'de, [N]>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "a whole number of {}-byte numbers", N::BYTES)
    }

    fn visit_borrowed_bytes<E: Error>(self, bytes: &'de [u8]) -> Result<Self::Value, E> {
        self.read(bytes)
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Self::Value, E> {
        self.read(bytes).map(|numbers| numbers.into_owned().into())
    }
}

/// The same for a vector of vectors: `#[serde(with = "storage::blob::each")]`.
pub mod each {
    use serde::de::{Deserialize, Deserializer};
    use serde::ser::Serializer;

    use super::{Blob, Number};

    /// Writes each vector as bytes.
    ///
    /// # Errors
    /// The serializer's.
    pub fn serialize<N: Number, S: Serializer>(all: &[Vec<N>], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(all.iter().map(|numbers| Blob(numbers.into())))
    }

    /// Reads each vector from bytes, into a `Vec` or a `Cow`.
    ///
    /// # Errors
    /// The deserializer's, or a length that is not a whole number of numbers.
    pub fn deserialize<'de, N: Number, V: From<Vec<Vec<N>>>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<V, D::Error> {
        let blobs = Vec::<Blob<N>>::deserialize(deserializer)?;
        Ok(blobs.into_iter().map(|blob| blob.0.into_owned()).collect::<Vec<_>>().into())
    }
}
