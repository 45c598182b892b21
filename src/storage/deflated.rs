//! Payloads that are mostly 16-bit numbers, deflated.
//!
//! The bytes at even offsets come first, then those at odd ones: the high bytes of small numbers are alike, and deflate (RFC 1951)
//! finds in them what it would not find among low bytes.

use std::io::Read;

use flate2::bufread::DeflateDecoder;
use flate2::{Compress, Compression, FlushCompress};
use rayon::prelude::*;

/// Weights take 1% more than at the best level, and a quarter of its time.
const LEVEL: Compression = Compression::new(5);

/// Bytes that one task deflates; one after the other the results are a single stream.
const CHUNK: usize = 1 << 20;

/// The bytes, deflated. Equal bytes give equal results, on any number of threads.
pub(super) fn deflate(plain: &[u8]) -> Vec<u8> {
    let halves: Vec<u8> = plain.iter().step_by(2).chain(plain.iter().skip(1).step_by(2)).copied().collect();
    let last = halves.len().saturating_sub(1) / CHUNK;
    // Every chunk but the last ends at a whole byte, and the stream goes on.
    let flush = |number| if number == last { FlushCompress::Finish } else { FlushCompress::Sync };
    let chunks = halves.par_chunks(CHUNK).enumerate().map(|(number, chunk)| deflate_chunk(chunk, flush(number)));
    let chunks: Vec<Vec<u8>> = chunks.collect();
    // An empty stream has an end, too.
    if chunks.is_empty() { deflate_chunk(&[], FlushCompress::Finish) } else { chunks.concat() }
}

fn deflate_chunk(chunk: &[u8], flush: FlushCompress) -> Vec<u8> {
    let mut compress = Compress::new(LEVEL, false);
    let mut deflated = Vec::with_capacity(chunk.len() + 1024);
    loop {
        let rest = &chunk[compress.total_in() as usize..];
        compress.compress_vec(rest, &mut deflated, flush).expect("a chunk is deflated by one stream");
        // It is all out once there is room left.
        if deflated.len() < deflated.capacity() {
            return deflated;
        }
        deflated.reserve(CHUNK);
    }
}

/// The `length` bytes that were deflated. Not much more than that is allocated, and never much more than what is there stands for.
///
/// # Errors
/// What is wrong, as a sentence's end: `the payload ...`.
pub(super) fn inflate(deflated: &[u8], length: u64) -> Result<Vec<u8>, String> {
    // Weights are deflated to a third or half.
    let likely = (deflated.len() as u64 * 4).min(length);
    let mut halves = Vec::with_capacity(likely as usize);
    let mut decoder = DeflateDecoder::new(deflated);
    let read = decoder.by_ref().take(length.saturating_add(1)).read_to_end(&mut halves);
    read.map_err(|error| format!("cannot be inflated after {} bytes: {error}", halves.len()))?;
    if halves.len() as u64 != length {
        let more = if halves.len() as u64 > length { " or more" } else { "" };
        return Err(format!("inflates to {}{more} bytes where the header (byte 12) announces {length}", halves.len()));
    }
    match decoder.into_inner() {
        [] => Ok(interleave(&halves)),
        left => Err(format!("ends {} bytes before the file does", left.len())),
    }
}

/// Even bytes and odd ones in turns.
fn interleave(halves: &[u8]) -> Vec<u8> {
    let (even, odd) = halves.split_at(halves.len().div_ceil(2));
    let mut plain = Vec::with_capacity(halves.len());
    plain.extend(even.iter().zip(odd).flat_map(|(&even, &odd)| [even, odd]));
    plain.extend(even.get(odd.len()));
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn what_is_deflated_comes_back() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        for length in [0, 1, 2, 3, 1000, 2 * CHUNK, 2 * CHUNK + 1, 3 * CHUNK - 5] {
            // Bytes that deflate well, and bytes that do not at all.
            for alike in [5, 0] {
                let plain: Vec<u8> = (0..length).map(|_| random.random::<u8>() >> alike).collect();
                assert!(inflate(&deflate(&plain), length as u64).as_ref() == Ok(&plain), "{length} {alike}");
            }
        }
    }

    #[test]
    fn what_is_not_as_announced_is_refused() {
        let deflated = deflate(&[7; 1000]);
        assert!(inflate(&deflated, 999).unwrap_err().contains("1000 or more bytes where"));
        assert!(inflate(&deflated, 1001).unwrap_err().contains("1000 bytes where"));
        assert!(inflate(&deflated[..5], 1000).unwrap_err().contains("cannot be inflated"));
        assert!(inflate(&[&deflated[..], &[0]].concat(), 1000).unwrap_err().contains("ends 1 bytes before"));
        // A claim of more than there can be takes no memory.
        assert!(inflate(&deflated, u64::MAX).unwrap_err().contains("1000 bytes where"));
    }
}
