//! What is wrong with a file, and where.

/// A fault at an offset of a file's (decompressed) bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Fault {
    /// Where.
    pub(super) offset: usize,
    /// What, and what to do.
    pub(super) reason: String,
}

/// A fault as a result.
pub(super) fn fault<T>(offset: usize, reason: impl Into<String>) -> Result<T, Fault> {
    Err(Fault { offset, reason: reason.into() })
}

/// Little-endian words of two bytes.
pub(super) fn words(bytes: &[u8]) -> impl ExactSizeIterator<Item = i16> + '_ {
    bytes.as_chunks().0.iter().map(|&word| i16::from_le_bytes(word))
}

/// Sets each weight to the value that the file has for it. `offset` gives the place in the file of each of `values`.
///
/// # Errors
/// Two different values for weights that are one by symmetry.
pub(super) fn place(
    weights: &mut [i16],
    order: &[u32],
    values: &[i16],
    offset: impl Fn(usize) -> usize,
) -> Result<(), Fault> {
    let mut known = vec![false; weights.len()];
    for (i, (&weight, &value)) in order.iter().zip(values).enumerate() {
        let weight = weight as usize;
        if known[weight] && weights[weight] != value {
            let reason = format!(
                "{value} where the mirrored configuration has {}: the tables must be symmetric",
                weights[weight]
            );
            return fault(offset(i), reason);
        }
        (known[weight], weights[weight]) = (true, value);
    }
    Ok(())
}
