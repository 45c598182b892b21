//! What must hold for messages between coordinator and workers, whatever the bytes; see `checks.rs`.

use flipside::cluster::wire::{MAX_GAMES, Offer, result_from_bytes};
use flipside::games::{RawFrame, decode, encode};
use flipside::storage::sha256;
use sha2::{Digest, Sha256};

/// A message as each kind, and as games in a frame with the right checksum.
pub fn messages(bytes: &[u8]) {
    for job in Offer::from_bytes(bytes).into_iter().flat_map(|offer| [offer.job, offer.proof.job]) {
        assert!((1..=MAX_GAMES).contains(&job.count) && job.games().len() as u32 == job.count);
        assert!(job.play.strength.depth <= 20 && job.play.strength.exact_empties <= 24);
    }
    let mut frame = b"FSGB".to_vec();
    [0, 2, bytes.len() as u32].iter().for_each(|word: &u32| frame.extend(word.to_le_bytes()));
    frame.extend(bytes);
    frame.extend(&Sha256::digest(&frame)[..8]);
    let line = format!("{{\"key\":\"{}\",\"worker\":\"w\",\"first\":0,\"count\":2}}\n", sha256(b""));
    for message in [bytes.to_vec(), [line.as_bytes(), &frame].concat()] {
        let Ok((line, frames)) = result_from_bytes(&message) else { continue };
        assert_eq!(frames.iter().map(RawFrame::len).sum::<usize>(), line.count as usize);
        for games in frames.iter().flat_map(RawFrame::decode) {
            assert_eq!(decode(&encode(&games), games.len()).as_ref(), Ok(&games));
        }
    }
}
