//! Event files of TensorBoard: what happens in a run as scalars.
//!
//! A file is a list of records (TensorFlow's TFRecord): length, its checksum, a message `Event` of Protocol Buffers, its checksum.
//! Only a few kinds of fields occur, so the messages are put together here.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::train::TrainEvent;

/// An event file that grows.
#[derive(Debug)]
pub struct TensorBoard(File);

impl TensorBoard {
    /// Begins a file in a run's directory, with the time in its name; each session of a run has one.
    ///
    /// # Errors
    /// The file system's.
    pub fn create(directory: &Path) -> io::Result<Self> {
        let (seconds, process) = (now() as u64, std::process::id());
        let path = directory.join(format!("events.out.tfevents.{seconds:010}.flipside.{process}"));
        let mut board = Self(File::create(path)?);
        let mut event = double(1, now());
        event.extend(bytes(3, b"brain.Event:2"));
        board.write(&event)?;
        Ok(board)
    }

    /// Adds what an event says in numbers. Steps are generations played.
    ///
    /// # Errors
    /// The file system's.
    pub fn add(&mut self, event: &TrainEvent) -> io::Result<()> {
        let (step, scalars) = scalars(event);
        let values: Vec<u8> = scalars
            .iter()
            .filter(|(_, value)| value.is_finite())
            .flat_map(|(tag, value)| bytes(1, &[bytes(1, tag.as_bytes()), float(2, *value as f32)].concat()))
            .collect();
        if values.is_empty() {
            return Ok(());
        }
        let event = [double(1, now()), whole(2, u64::from(step)), bytes(5, &values)].concat();
        self.write(&event)
    }

    fn write(&mut self, event: &[u8]) -> io::Result<()> {
        let length = (event.len() as u64).to_le_bytes();
        let record = [&length[..], &masked(&length), event, &masked(event)].concat();
        self.0.write_all(&record)
    }
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64())
}

/// The generations played, and numbers with their names.
fn scalars(event: &TrainEvent) -> (u32, Vec<(String, f64)>) {
    let named = |scalars: &[(&str, f64)]| scalars.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    match event {
        TrainEvent::Learned { generation, loss, games, positions, playing, seconds, elapsed, .. } => {
            let scalars = [
                ("loss/new games", *loss),
                ("run/games", *games as f64),
                ("run/positions", *positions as f64),
                ("run/hours", elapsed / 3600.0),
                ("seconds/playing", *playing),
                ("seconds/learning", *seconds),
            ];
            (generation + 1, named(&scalars))
        }
        TrainEvent::Fitted { generation, loss, held_out, held_out_by_empties, seconds, .. } => {
            let mut all: Vec<(String, f64)> = named(&[("loss/fit", *loss), ("seconds/fitting", *seconds)]);
            all.extend(held_out.map(|loss| ("loss/held out".to_owned(), loss)));
            let by_empties = held_out_by_empties.iter().enumerate().step_by(4);
            all.extend(by_empties.filter_map(|(at, loss)| Some((format!("held out by empties/{at:02}"), (*loss)?))));
            (*generation, all)
        }
        TrainEvent::Gate { generation, best, baseline, seconds, .. } => {
            let mut all: Vec<(String, f64)> = named(&[
                ("elo over mobility/elo", baseline.elo[0]),
                ("elo over mobility/low", baseline.elo[1]),
                ("elo over mobility/high", baseline.elo[2]),
                ("seconds/gate", *seconds),
            ]);
            all.extend(best.map(|result| ("elo over the best/elo".to_owned(), result.elo[0])));
            (generation + 1, all)
        }
        _ => (0, Vec::new()),
    }
}

/// A number of seven bits a byte, the lowest first.
fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

fn key(field: u64, wire: u64) -> Vec<u8> {
    varint(field << 3 | wire)
}

fn whole(field: u64, number: u64) -> Vec<u8> {
    [key(field, 0), varint(number)].concat()
}

fn double(field: u64, number: f64) -> Vec<u8> {
    [key(field, 1), number.to_le_bytes().to_vec()].concat()
}

fn float(field: u64, number: f32) -> Vec<u8> {
    [key(field, 5), number.to_le_bytes().to_vec()].concat()
}

fn bytes(field: u64, content: &[u8]) -> Vec<u8> {
    [key(field, 2), varint(content.len() as u64), content.to_vec()].concat()
}

/// The checksum of a record: CRC-32C, rotated and shifted so that a checksum of checksums is a good one, too.
fn masked(bytes: &[u8]) -> [u8; 4] {
    crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes()
}

/// CRC-32C (Castagnoli), a bit at a time: there are some hundred bytes a generation.
fn crc32c(bytes: &[u8]) -> u32 {
    let mut crc = !0u32;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = crc >> 1 ^ if crc & 1 == 1 { 0x82f6_3b78 } else { 0 };
        }
    }
    !crc
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_castagnolis() {
        // The check value of the CRC catalogue.
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }
}
