//! Event files of TensorBoard: what happens in a run as scalars.
//!
//! A file is a list of records (TensorFlow's TFRecord): length, its checksum, a message [`Event`] of Protocol Buffers, its checksum.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use crc::{CRC_32_ISCSI, Crc};
use prost::Message;

use super::history::History;
use crate::clock::{since_1970, unix_seconds};
use crate::train::TrainEvent;

/// TensorFlow's `Event`, as far as scalars and resumed runs need it; so are [`Summary`], [`Scalar`] and [`SessionLog`].
#[derive(Message)]
struct Event {
    /// Seconds since 1970.
    #[prost(double, tag = "1")]
    wall_time: f64,
    #[prost(int64, tag = "2")]
    step: i64,
    #[prost(string, optional, tag = "3")]
    file_version: Option<String>,
    #[prost(message, optional, tag = "5")]
    summary: Option<Summary>,
    #[prost(message, optional, tag = "7")]
    session_log: Option<SessionLog>,
}

/// TensorFlow's `SessionLog`. A session that starts takes back what earlier ones told of its first step and later ones.
#[derive(Message)]
struct SessionLog {
    #[prost(int32, optional, tag = "1")]
    status: Option<i32>,
}

impl SessionLog {
    const START: i32 = 1;
}

/// TensorFlow's `Summary`.
#[derive(Message)]
struct Summary {
    #[prost(message, repeated, tag = "1")]
    value: Vec<Scalar>,
}

/// TensorFlow's `Summary.Value`. A value of 0 is written, too.
#[derive(Message)]
struct Scalar {
    #[prost(string, tag = "1")]
    tag: String,
    #[prost(float, optional, tag = "2")]
    simple_value: Option<f32>,
}

/// An event file that grows.
#[derive(Debug)]
pub struct TensorBoard {
    file: File,
    history: History,
}

impl TensorBoard {
    /// Begins a file in a run's directory, with the time in its name; each session of a run has one.
    ///
    /// # Errors
    /// The file system's.
    pub fn create(directory: &Path) -> io::Result<Self> {
        let (seconds, process) = (unix_seconds(), std::process::id());
        let path = directory.join(format!("events.out.tfevents.{seconds:010}.flipside.{process}"));
        let mut board = Self { file: File::create(path)?, history: History::of_run(directory) };
        let file_version = Some("brain.Event:2".to_owned());
        board.write(&Event { wall_time: since_1970().as_secs_f64(), file_version, ..Event::default() })?;
        Ok(board)
    }

    /// Adds the numbers of an event. Steps are generations played. Where a run is resumed, numbers of generations that it learns
    /// again are taken back.
    ///
    /// # Errors
    /// The file system's.
    pub fn add(&mut self, event: &TrainEvent) -> io::Result<()> {
        let wall_time = since_1970().as_secs_f64();
        self.history.add(event);
        if let TrainEvent::Start { generation, resumed: true, .. } = event {
            let session_log = Some(SessionLog { status: Some(SessionLog::START) });
            return self.write(&Event { wall_time, step: i64::from(*generation) + 1, session_log, ..Event::default() });
        }
        let (step, scalars) = scalars(event, &self.history);
        let finite = scalars.into_iter().filter(|(_, value)| value.is_finite());
        let value: Vec<_> = finite.map(|(tag, value)| Scalar { tag, simple_value: Some(value as f32) }).collect();
        if value.is_empty() {
            return Ok(());
        }
        let summary = Some(Summary { value });
        self.write(&Event { wall_time, step: step.into(), summary, ..Event::default() })
    }

    fn write(&mut self, event: &Event) -> io::Result<()> {
        self.file.write_all(&record(&event.encode_to_vec()))
    }
}

/// A message with its length, each with its checksum.
fn record(message: &[u8]) -> Vec<u8> {
    let length = (message.len() as u64).to_le_bytes();
    [&length[..], &masked(&length), message, &masked(message)].concat()
}

/// CRC-32C, rotated and shifted so that a checksum of checksums is a good one too.
fn masked(bytes: &[u8]) -> [u8; 4] {
    const CRC_32C: Crc<u32> = Crc::<u32>::new(&CRC_32_ISCSI);
    CRC_32C.checksum(bytes).rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes()
}

/// The generations played, and numbers with their names.
fn scalars(event: &TrainEvent, history: &History) -> (u32, Vec<(String, f64)>) {
    let named = |scalars: &[(&str, f64)]| scalars.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    match event {
        TrainEvent::Played { generation, loss, games, positions, playing, elapsed, .. } => {
            let scalars = [
                ("loss/new games", *loss),
                ("run/games", *games as f64),
                ("run/positions", *positions as f64),
                ("run/hours", elapsed / 3600.0),
                ("seconds/playing", *playing),
            ];
            (generation + 1, named(&scalars))
        }
        TrainEvent::Learned { generation, loss, held_out, held_out_by_empties, seconds, .. } => {
            let mut all: Vec<(String, f64)> = named(&[("loss/learned", *loss), ("seconds/learning", *seconds)]);
            all.extend(held_out.map(|loss| ("loss/held out".to_owned(), loss)));
            let by_empties = held_out_by_empties.iter().enumerate().step_by(4);
            all.extend(by_empties.filter_map(|(at, loss)| Some((format!("held out by empties/{at:02}"), (*loss)?))));
            (*generation, all)
        }
        TrainEvent::Gate { generation, best, seconds, .. } => {
            let mut all: Vec<(String, f64)> = named(&[("seconds/gate", *seconds)]);
            let rated = history.rating_of(event).map(|rating| ["elo", "low", "high"].into_iter().zip(rating.elo));
            all.extend(rated.into_iter().flatten().map(|(end, elo)| (format!("elo relative to default/{end}"), elo)));
            all.extend(best.map(|result| ("elo over the best/elo".to_owned(), result.elo[0])));
            (generation + 1, all)
        }
        _ => (0, Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_what_tensorflow_writes() {
        let value = vec![Scalar { tag: "loss".into(), simple_value: Some(0.0) }];
        let event = Event { wall_time: 1.5, step: 300, summary: Some(Summary { value }), ..Event::default() };
        let message = b"\x09\0\0\0\0\0\0\xf8\x3f\x10\xac\x02\x2a\x0d\x0a\x0b\x0a\x04loss\x15\0\0\0\0";
        assert_eq!(event.encode_to_vec(), message);
        // 0xe3069283, the check value of the CRC catalogue, masked.
        assert_eq!(record(b"123456789")[21..], 0xc78a_b0e5_u32.to_le_bytes());
    }
}
