//! Bytes as text.

/// Bytes in lower-case hexadecimal: how checksums are written.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
