//! Other engines' weight files. The first byte chooses the engine and whether the rest is repeated up to the engine's file size.
//!
//!     cargo +nightly fuzz run engine_files
#![no_main]

use flipside::export::{Engine, decode};
use flipside::pattern::Layout;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((&choice, content)) = bytes.split_first() else { return };
    let engine = Engine::ALL[usize::from(choice) % 4];
    let (header, size) = match engine {
        Engine::Edax => (28, 13_952_436),
        Engine::Ntest => (8, 574_628),
        // One stage.
        Engine::Zebra => (8, 2 * (4 + 113_879)),
        Engine::Egaroucid => (0, 0),
    };
    let whole = choice & 0x80 != 0 && content.len() > header;
    let content: Vec<u8> = if whole && size > 0 {
        let body = content[header..].iter().cycle();
        content[..header].iter().chain(body).copied().take(size).collect()
    } else {
        content.to_vec()
    };
    let (names, contents) = match engine {
        Engine::Ntest => (('a'..='j').map(|file| format!("JA{file}.cof").into()).collect(), vec![content; 10]),
        _ => (vec!["file".into()], vec![content]),
    };
    if let Ok(model) = decode(engine, &names, &contents) {
        model.check(&Layout::new(&model.set).unwrap()).unwrap();
    }
});
