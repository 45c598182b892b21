//! Files that must be refused.

use std::io::Write;
use std::path::PathBuf;

use flate2::write::GzEncoder;
use flipside::export::{Engine, ImportError, decode};
use flipside::pattern::Layout;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::naive::{EGAROUCID, Naive, egaroucid_values};
use super::{egaroucid_file, read, words, zebra_file};

#[test]
fn damaged_files_are_refused_with_file_offset_and_reason() {
    let error = |engine: Engine, bytes: &[u8]| read(engine, bytes).unwrap_err().to_string();
    let said = |engine: Engine, bytes: &[u8], offset: usize, reason: &str| {
        let message = error(engine, bytes);
        assert!(
            message.starts_with(&format!("file: byte {offset}: ")) && message.contains(reason),
            "{engine}: {message}"
        );
    };
    let edax: Vec<u8> = b"XADELAVE".iter().copied().chain([0; 100]).collect();
    said(Engine::Edax, &[], 0, "not an eval.dat");
    said(Engine::Edax, b"EDAXEVAL", 0, "big-endian");
    said(Engine::Edax, &edax, 108, "108 bytes where an eval.dat has 13952436");
    let long: Vec<u8> = edax.iter().copied().chain(std::iter::repeat_n(0, 13_952_436)).collect();
    said(Engine::Edax, &long, 13_952_436, "bytes where");

    said(Engine::Zebra, &[], 0, "cut off within the header");
    let swapped: Vec<u8> = [5358i16, 9793, 12].iter().flat_map(|word| word.to_le_bytes()).collect();
    said(Engine::Zebra, &swapped, 0, "5358 and 9793");
    said(Engine::Zebra, &zebra_file(&[], &[]), 4, "1 stages");
    said(Engine::Zebra, &zebra_file(&[8, 14], &[0; 113_879]), 2 * (5 + 113_879), "2 stages take");
    said(Engine::Zebra, &zebra_file(&[8, 8], &[0; 2 * 113_879]), 8, "stage 8; stages must rise");
    said(Engine::Zebra, &zebra_file(&[60], &[0; 113_879]), 6, "stage 60");
    let mut odd = zebra_file(&[8], &[0; 113_879]);
    odd.push(0);
    said(Engine::Zebra, &odd, odd.len() - 1, "1 stages take");
    let zipped = |plain: &[u8]| {
        let mut writer = GzEncoder::new(Vec::new(), flate2::Compression::fast());
        writer.write_all(plain).unwrap();
        writer.finish().unwrap()
    };
    let good = zipped(&zebra_file(&[8], &[0; 113_879]));
    assert!(read(Engine::Zebra, &good).is_ok());
    assert!(error(Engine::Zebra, &good[..good.len() - 4]).contains("gzip: "));
    let mut flipped = good.clone();
    let last = flipped.len() - 6;
    flipped[last] ^= 1;
    assert!(error(Engine::Zebra, &flipped).contains("gzip: "));
    // Once unzipped, far more than any file of Zebra's.
    said(Engine::Zebra, &zipped(&vec![0; 20_000_000]), 0, "5358");

    said(Engine::Egaroucid, &[1, 0], 2, "number of words");
    said(Engine::Egaroucid, &[0xff; 4], 0, "-1 words");
    said(Engine::Egaroucid, &[0xff, 0xff, 0xff, 0x7f, 0, 0], 0, "2147483647 words announced where 2 bytes follow");
    said(Engine::Egaroucid, &[1, 0, 0, 0, 0xff, 0x7f], 6, "28671 values where 36745500");
    // Runs of zero zeros, and one value too many.
    said(Engine::Egaroucid, &[2, 0, 0, 0, 0, 0x10, 0, 0x10], 8, "0 values");
    let zeros = egaroucid_file(&vec![0; 36_745_501]);
    said(Engine::Egaroucid, &zeros, zeros.len() - 2, "more than 36745500");

    let names: Vec<PathBuf> = ('a'..='j').map(|letter| format!("JA{letter}.cof").into()).collect();
    let file: Vec<u8> = [1, 0, 0, 0, 100, 0, 0, 0].into_iter().chain(std::iter::repeat_n(0, 574_620)).collect();
    let mut files = vec![file; 10];
    assert!(decode(Engine::Ntest, &names, &files).is_ok());
    assert!(decode(Engine::Ntest, &names[1..], &files[1..]).unwrap_err().to_string().contains("JAa.cof to JAj.cof"));
    let twice = [&names[..9], &names[..1]].concat();
    assert!(matches!(decode(Engine::Ntest, &twice, &files), Err(ImportError::Files { given: 10, .. })));
    let two_sets: Vec<PathBuf> = names.iter().map(|name| name.to_str().unwrap().replace("JA", "JB").into()).collect();
    let two_sets = [&names[..], &two_sets].concat();
    let contents = [&files[..], &files].concat();
    assert!(matches!(decode(Engine::Ntest, &two_sets, &contents), Err(ImportError::Files { given: 20, .. })));
    files[3].truncate(1000);
    let message = decode(Engine::Ntest, &names, &files).unwrap_err().to_string();
    assert!(message.contains("JAd.cof: byte 1000: 1000 bytes where"), "{message}");
    files[3][..4].reverse();
    assert!(decode(Engine::Ntest, &names, &files).unwrap_err().to_string().contains("JAd.cof: byte 0: "));
    assert!(matches!(decode(Engine::Edax, &names, &files), Err(ImportError::Files { .. })));
    assert!(matches!(decode(Engine::Edax, &[], &[]), Err(ImportError::Files { .. })));
}

/// A seeded, bounded fuzzing run: no bytes make a reader panic.
#[test]
fn random_and_mutated_bytes_never_panic() {
    let mut random = ChaCha8Rng::seed_from_u64(6);
    let zebra = zebra_file(&[8, 14], &words(7, 2 * 113_879, i16::MAX));
    let (naive, discs) = Naive::new(true, [0, 1, 2], 0, EGAROUCID);
    let egaroucid = egaroucid_file(&egaroucid_values(&naive, discs));
    let edax: Vec<u8> = b"XADELAVE".iter().copied().chain(std::iter::repeat_n(0x80, 13_952_428)).collect();
    let ntest: Vec<u8> = [1, 0, 0, 0, 100, 0, 0, 0].into_iter().chain(std::iter::repeat_n(0x80, 574_620)).collect();
    let names: Vec<PathBuf> = ('a'..='j').map(|letter| format!("JA{letter}.cof").into()).collect();
    let attempt = |engine: Engine, bytes: Vec<u8>| {
        let decoded = match engine {
            Engine::Ntest => decode(engine, &names, &vec![bytes; 10]),
            _ => decode(engine, &names[..1], &[bytes]),
        };
        if let Ok(model) = decoded {
            assert!(model.check(&Layout::new(&model.set).unwrap()).is_ok());
        }
    };
    for (engine, good) in
        [(Engine::Zebra, zebra), (Engine::Egaroucid, egaroucid), (Engine::Edax, edax), (Engine::Ntest, ntest)]
    {
        for round in 0..6 {
            let mut bytes = good.clone();
            for _ in 0..random.random_range(1..50) {
                let reach = if round % 2 == 0 { bytes.len() } else { 64 };
                let at = random.random_range(0..reach);
                bytes[at] = random.random();
            }
            attempt(engine, bytes);
        }
        for round in 0..500 {
            let mut bytes = vec![0; random.random_range(0..400)];
            random.fill_bytes(&mut bytes);
            let head = random.random_range(0..bytes.len().min(16) + 1);
            if round % 2 == 0 {
                bytes[..head].copy_from_slice(&good[..head]);
            }
            attempt(engine, bytes);
        }
    }
}
