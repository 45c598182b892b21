//! Long vectors of numbers as one run of little-endian bytes: [`Blob`], or `#[serde(with = "storage::blob")]` on a `Vec<f32>`.
//!
//! In bincode this is a u64 count of *bytes*, then the numbers. Reading and writing is one copy instead of a call for each number,
//! and a claimed length is checked against what is there before anything is allocated.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Serialize, Serializer};

/// Numbers that are written and read as one run of bytes.
#[derive(Clone, Debug)]
pub struct Blob<'a, N: Number>(pub Cow<'a, [N]>);

impl<N: Number> Serialize for Blob<'_, N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize(&self.0, serializer)
    }
}

impl<'de, N: Number> Deserialize<'de> for Blob<'_, N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize(deserializer).map(|numbers| Self(Cow::Owned(numbers)))
    }
}

/// A number with a fixed little-endian form.
pub trait Number: Copy + fmt::Debug {
    /// Bytes of a number.
    const BYTES: usize;

    /// Appends the numbers' bytes.
    fn append(numbers: &[Self], bytes: &mut Vec<u8>);

    /// The numbers of a run of bytes; a last incomplete number is dropped.
    fn read(bytes: &[u8]) -> Vec<Self>;
}

macro_rules! number {
    ($($type:ty),*) => {$(
        impl Number for $type {
            const BYTES: usize = size_of::<$type>();

            fn append(numbers: &[Self], bytes: &mut Vec<u8>) {
                bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
            }

            fn read(bytes: &[u8]) -> Vec<Self> {
                bytes.as_chunks().0.iter().map(|&number| Self::from_le_bytes(number)).collect()
            }
        }
    )*};
}

number!(u8, i8, i16, u16, u32, u64, f32);

/// Writes the numbers as bytes.
///
/// # Errors
/// The serializer's.
pub fn serialize<N: Number, S: Serializer>(numbers: &[N], serializer: S) -> Result<S::Ok, S::Error> {
    let mut bytes = Vec::with_capacity(numbers.len() * N::BYTES);
    N::append(numbers, &mut bytes);
    serializer.serialize_bytes(&bytes)
}

/// Reads the numbers from bytes.
///
/// # Errors
/// The deserializer's, or a length that is not a whole number of numbers.
pub fn deserialize<'de, N: Number, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<N>, D::Error> {
    deserializer.deserialize_bytes(Bytes(PhantomData))
}

struct Bytes<N>(PhantomData<N>);

impl<N: Number> Visitor<'_> for Bytes<N> {
    type Value = Vec<N>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "a whole number of {}-byte numbers", N::BYTES)
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Vec<N>, E> {
        if bytes.len().is_multiple_of(N::BYTES) {
            Ok(N::read(bytes))
        } else {
            Err(E::invalid_length(bytes.len(), &self))
        }
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
