//! Payloads that are mostly numbers, deflated (RFC 1951).

use flate2::{Decompress, FlushDecompress, Status};
use rayon::prelude::*;
use zlib_rs::{Deflate, DeflateConfig, DeflateFlush, Method, Strategy};

/// Learned numbers repeat in runs, of zeros above all, and otherwise by chance: looking for other matches makes them 4 to 7% larger.
/// Weights of other engines may repeat from stage to stage.
const STRATEGIES: [Strategy; 2] = [Strategy::Rle, Strategy::Default];

/// Weights take 1% more space than at the best level, in a quarter of the time.
const LEVEL: i32 = 5;

/// Bytes that one task deflates; the results make a single stream.
const CHUNK: usize = 1 << 20;

/// More than a chunk takes that does not deflate at all.
const ROOM: usize = CHUNK + CHUNK / 64;

/// Deflates bytes. Equal bytes give equal results, on any number of threads.
pub(super) fn deflate(plain: &[u8]) -> Vec<u8> {
    let last = plain.len().saturating_sub(1) / CHUNK;
    // Every chunk but the last ends at a whole byte, and the stream continues.
    let flush = |number| if number == last { DeflateFlush::Finish } else { DeflateFlush::SyncFlush };
    let chunks = plain.par_chunks(CHUNK).enumerate().map(|(number, chunk)| deflate_chunk(chunk, flush(number)));
    let chunks: Vec<Vec<u8>> = chunks.collect();
    // An empty stream needs an end too.
    if chunks.is_empty() { deflate_chunk(&[], DeflateFlush::Finish) } else { chunks.concat() }
}

/// Deflates a chunk by the strategy that makes it smallest.
fn deflate_chunk(chunk: &[u8], flush: DeflateFlush) -> Vec<u8> {
    let deflated = STRATEGIES.map(|strategy| {
        let config = DeflateConfig { level: LEVEL, method: Method::Deflated, window_bits: -15, mem_level: 9, strategy };
        let mut stream = Deflate::new_with_config(config);
        let mut deflated = vec![0; ROOM];
        stream.compress(chunk, &mut deflated, flush).expect("a new stream takes any chunk");
        let length = stream.total_out() as usize;
        // A full buffer may lack a part of the output.
        assert!(length < ROOM, "a chunk is deflated to no more than itself and a little");
        deflated.truncate(length);
        deflated
    });
    deflated.into_iter().min_by_key(Vec::len).expect("there are strategies")
}

/// Inflates `length` bytes. Allocates not much more than that, and never much more than what `deflated` really holds.
///
/// # Errors
/// What is wrong.
pub(super) fn inflate(deflated: &[u8], length: u64) -> Result<Vec<u8>, String> {
    // One byte more than announced is enough to see that there are more.
    let most = length.saturating_add(1);
    // Weights deflate to a third or half.
    let mut plain = Vec::with_capacity((deflated.len() as u64 * 4 + 64).min(most) as usize);
    let mut stream = Decompress::new(false);
    loop {
        let left = &deflated[stream.total_in() as usize..];
        let status = stream.decompress_vec(left, &mut plain, FlushDecompress::None);
        let found = plain.len();
        let failed = |reason: String| format!("the payload cannot be inflated after {found} bytes: {reason}");
        match status.map_err(|error| failed(error.to_string()))? {
            Status::StreamEnd => break,
            _ if found as u64 >= most => break,
            _ if found == plain.capacity() => plain.reserve_exact((found as u64).min(most - found as u64) as usize),
            _ => return Err(failed("it ends early".to_owned())),
        }
    }
    let found = plain.len() as u64;
    if found != length {
        let more = if found > length { " or more" } else { "" };
        return Err(format!(
            "the payload inflates to {found}{more} bytes where the header (byte 12) announces {length}"
        ));
    }
    match deflated.len() - stream.total_in() as usize {
        0 => Ok(plain),
        left => Err(format!("the payload ends {left} bytes before the file does")),
    }
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
                let back = inflate(&deflate(&plain), length as u64);
                assert!(back.as_ref() == Ok(&plain), "{length} {alike}");
            }
        }
    }

    #[test]
    fn what_is_not_as_announced_is_refused() {
        let deflated = deflate(&[7; 1000]);
        assert!(inflate(&deflated, 999).unwrap_err().contains("1000 or more bytes where"));
        assert!(inflate(&deflated, 1001).unwrap_err().contains("1000 bytes where"));
        for cut in 0..deflated.len() {
            assert!(inflate(&deflated[..cut], 1000).unwrap_err().contains("cannot be inflated"), "{cut}");
        }
        assert!(inflate(&[&deflated[..], &[0]].concat(), 1000).unwrap_err().contains("ends 1 bytes before"));
        // An absurd claim takes no memory.
        assert!(inflate(&deflated, u64::MAX).unwrap_err().contains("1000 bytes where"));
    }
}
