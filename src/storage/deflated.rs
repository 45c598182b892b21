//! Payloads that are mostly numbers, deflated (RFC 1951).
//!
//! Of 16-bit numbers the bytes at even offsets come first, then those at odd ones: the high bytes of small numbers are alike, and
//! deflate finds in them what it would not find among low bytes.

use std::io::Read;

use flate2::bufread::DeflateDecoder;
use rayon::prelude::*;
use zlib_rs::{Deflate, DeflateConfig, DeflateFlush, Method, Strategy};

/// Learned numbers repeat in runs, of zeros above all, and otherwise by chance: whoever looks for other matches makes them 4 to 7% larger.
/// Weights that others have learned may repeat from stage to stage.
const STRATEGIES: [Strategy; 2] = [Strategy::Rle, Strategy::Default];

/// Weights take 1% more than at the best level, and a quarter of its time.
const LEVEL: i32 = 5;

/// Bytes that one task deflates; one after the other the results are a single stream.
const CHUNK: usize = 1 << 20;

/// More than what a chunk takes that cannot be deflated.
const ROOM: usize = CHUNK + CHUNK / 64;

/// The bytes, deflated, the first `pairs` of them as 16-bit numbers. Equal bytes give equal results, on any number of threads.
///
/// # Panics
/// If there are fewer bytes than that.
pub(super) fn deflate(plain: &[u8], pairs: usize) -> Vec<u8> {
    let (numbers, rest) = plain.split_at(pairs);
    let parted: Vec<u8> =
        numbers.iter().step_by(2).chain(numbers.iter().skip(1).step_by(2)).chain(rest).copied().collect();
    let last = parted.len().saturating_sub(1) / CHUNK;
    // Every chunk but the last ends at a whole byte, and the stream goes on.
    let flush = |number| if number == last { DeflateFlush::Finish } else { DeflateFlush::SyncFlush };
    let chunks = parted.par_chunks(CHUNK).enumerate().map(|(number, chunk)| deflate_chunk(chunk, flush(number)));
    let chunks: Vec<Vec<u8>> = chunks.collect();
    // An empty stream has an end, too.
    if chunks.is_empty() { deflate_chunk(&[], DeflateFlush::Finish) } else { chunks.concat() }
}

/// The chunk by the strategy that makes the least of it.
fn deflate_chunk(chunk: &[u8], flush: DeflateFlush) -> Vec<u8> {
    let deflated = STRATEGIES.map(|strategy| {
        let config = DeflateConfig { level: LEVEL, method: Method::Deflated, window_bits: -15, mem_level: 9, strategy };
        let mut stream = Deflate::new_with_config(config);
        let mut deflated = vec![0; ROOM];
        stream.compress(chunk, &mut deflated, flush).expect("a new stream takes any chunk");
        let length = stream.total_out() as usize;
        // What fills all of it may not be all.
        assert!(length < ROOM, "a chunk is deflated to no more than itself and a little");
        deflated.truncate(length);
        deflated
    });
    deflated.into_iter().min_by_key(Vec::len).expect("there are strategies")
}

/// The `length` bytes that were deflated, the first `pairs` of them as 16-bit numbers. Not much more than that is allocated, and never
/// much more than what is there stands for.
///
/// # Errors
/// What is wrong, as a sentence's end: `the payload ...`.
pub(super) fn inflate(deflated: &[u8], length: u64, pairs: u64) -> Result<Vec<u8>, String> {
    // Weights are deflated to a third or half.
    let likely = (deflated.len() as u64 * 4).min(length);
    let mut parted = Vec::with_capacity(likely as usize);
    let mut decoder = DeflateDecoder::new(deflated);
    let read = decoder.by_ref().take(length.saturating_add(1)).read_to_end(&mut parted);
    read.map_err(|error| format!("cannot be inflated after {} bytes: {error}", parted.len()))?;
    if parted.len() as u64 != length {
        let more = if parted.len() as u64 > length { " or more" } else { "" };
        return Err(format!("inflates to {}{more} bytes where the header (byte 12) announces {length}", parted.len()));
    }
    match decoder.into_inner() {
        [] => Ok(whole(parted, pairs as usize)),
        left => Err(format!("ends {} bytes before the file does", left.len())),
    }
}

/// Of the first `pairs` bytes the even and the odd ones in turns, then the others.
fn whole(mut parted: Vec<u8>, pairs: usize) -> Vec<u8> {
    let numbers = parted[..pairs].to_vec();
    let (even, odd) = numbers.split_at(pairs.div_ceil(2));
    for (to, &from) in parted[..pairs].iter_mut().step_by(2).zip(even) {
        *to = from;
    }
    for (to, &from) in parted[..pairs].iter_mut().skip(1).step_by(2).zip(odd) {
        *to = from;
    }
    parted
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
                for pairs in [0, length / 2, length] {
                    let back = inflate(&deflate(&plain, pairs), length as u64, pairs as u64);
                    assert!(back.as_ref() == Ok(&plain), "{length} {pairs} {alike}");
                }
            }
        }
    }

    #[test]
    fn what_is_not_as_announced_is_refused() {
        let deflated = deflate(&[7; 1000], 1000);
        let inflate = |deflated: &[u8], length| inflate(deflated, length, length);
        assert!(inflate(&deflated, 999).unwrap_err().contains("1000 or more bytes where"));
        assert!(inflate(&deflated, 1001).unwrap_err().contains("1000 bytes where"));
        assert!(inflate(&deflated[..5], 1000).unwrap_err().contains("cannot be inflated"));
        assert!(inflate(&[&deflated[..], &[0]].concat(), 1000).unwrap_err().contains("ends 1 bytes before"));
        // A claim of more than there can be takes no memory.
        assert!(inflate(&deflated, u64::MAX).unwrap_err().contains("1000 bytes where"));
    }
}
