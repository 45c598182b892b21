//! Weight files: any bytes, and any payload in a header that fits it. What is read must come back the same.
//!
//!     cargo +nightly fuzz run weight_file
#![no_main]

use flipside::weights::WeightFile;
use libfuzzer_sys::fuzz_target;
use sha2::{Digest, Sha256};

fuzz_target!(|bytes: &[u8]| {
    let _ = WeightFile::from_bytes(bytes);
    let mut sealed = b"\x89FSW\r\n\x1a\n\x01\x00\x00\x00".to_vec();
    sealed.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    sealed.extend_from_slice(&Sha256::digest(bytes));
    sealed.extend_from_slice(bytes);
    if let Ok(file) = WeightFile::from_bytes(&sealed) {
        assert_eq!(file.to_bytes(), sealed);
    }
});
