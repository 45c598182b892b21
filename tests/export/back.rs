//! Weights that come back from open layouts, as others may have changed them.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Cursor, Read, Write};

use flipside::eval::{HiddenLayer, Model, StageMap};
use flipside::export::{Engine, OpenLayout, read_open, write_open};
use flipside::pattern::PatternSet;
use flipside::weights::{Provenance, WeightFile};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use serde_json::{Value, json};
use zip::ZipArchive;
use zip::write::{SimpleFileOptions, ZipWriter};

use super::calling::run_with;
use super::helpers::add_hidden_layer;
use super::open_layouts::both_kinds;
use super::random_model;

const READ: [OpenLayout; 3] = [OpenLayout::Npz, OpenLayout::Safetensors, OpenLayout::Json];

fn written(layout: OpenLayout, file: &WeightFile) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_open(layout, file, &mut bytes).unwrap();
    bytes
}

fn model_of(layout: OpenLayout, bytes: &[u8]) -> Result<Model, String> {
    read_open(layout, bytes, None).map(|file| file.model)
}

#[test]
fn every_layout_gives_the_same_weights_back() {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let mut classic = Model::zero(&PatternSet::built_in("classic").unwrap(), &StageMap::uniform(20), 128).unwrap();
    classic.weights.iter_mut().flatten().for_each(|weight| *weight = random.random());
    let mut no_rows = classic.clone();
    add_hidden_layer(&mut no_rows, 1, 100);
    no_rows.weights.iter_mut().flatten().for_each(|weight| *weight = (*weight).min(HiddenLayer::MAX_WEIGHT));
    // A layer that adds the same everywhere.
    no_rows.hidden.as_mut().unwrap().rows.iter_mut().flatten().for_each(|row| *row = Default::default());
    let more = [classic, no_rows].map(|model| WeightFile::new(model, Provenance::of_this_program("random")));
    for file in both_kinds().iter().chain(&more) {
        for layout in READ {
            let bytes = written(layout, file);
            let back = read_open(layout, &bytes, None).unwrap();
            assert!(back.model == file.model, "{layout}");
            assert_eq!(back.provenance.parent, Some(file.hash()));
            let same_set = read_open(layout, &bytes, Some(&file.model.set)).unwrap();
            assert!(same_set.model.weights == file.model.weights);
        }
    }
}

/// Arrays of a safetensors file, to be changed, and its metadata.
type Tensors = BTreeMap<String, (Dtype, Vec<usize>, Vec<u8>)>;

fn changed(file: &WeightFile, has_metadata: bool, change: impl Fn(&mut Tensors)) -> Vec<u8> {
    let bytes = written(OpenLayout::Safetensors, file);
    let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
    let tensors = SafeTensors::deserialize(&bytes).unwrap().tensors();
    let parts = |view: TensorView<'_>| (view.dtype(), view.shape().to_vec(), view.data().to_vec());
    let mut tensors: Tensors = tensors.into_iter().map(|(name, view)| (name, parts(view))).collect();
    change(&mut tensors);
    let views = tensors
        .iter()
        .map(|(name, (dtype, shape, data))| (name, TensorView::new(*dtype, shape.clone(), data).unwrap()));
    safetensors::serialize(views, header.metadata().clone().filter(|_| has_metadata)).unwrap()
}

/// A tensor's numbers as f32, each changed.
fn as_floats(tensors: &mut Tensors, name: &str, change: impl Fn(usize, f32) -> f32) {
    let (dtype, _, data) = tensors.get_mut(name).unwrap();
    let numbers: Vec<f32> = match *dtype {
        Dtype::I16 => data.chunks(2).map(|bytes| i16::from_le_bytes([bytes[0], bytes[1]]).into()).collect(),
        Dtype::I8 => data.iter().map(|byte| byte.cast_signed().into()).collect(),
        Dtype::U16 => data.chunks(2).map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]]).into()).collect(),
        _ => data.iter().map(|byte| (*byte).into()).collect(),
    };
    let changed = numbers.into_iter().enumerate().map(|(at, number)| change(at, number));
    *data = changed.flat_map(f32::to_le_bytes).collect();
    *dtype = Dtype::F32;
}

#[test]
fn numbers_that_were_changed_count_and_are_rounded() {
    let [_, file] = both_kinds();
    let names =
        ["pattern.corner.weights", "pattern.diag8.rows", "hidden.bias", "hidden.output", "scale", "stage_of_empties"];
    let read = |bytes: &[u8]| model_of(OpenLayout::Safetensors, bytes);
    let floats =
        changed(&file, true, |tensors| names.iter().for_each(|name| as_floats(tensors, name, |_, number| number)));
    assert!(read(&floats).unwrap() == file.model);
    let nearly = changed(&file, true, |tensors| as_floats(tensors, "pattern.corner.weights", |_, number| number + 0.4));
    assert!(read(&nearly).unwrap() == file.model);
    let half =
        changed(&file, true, |tensors| as_floats(tensors, "scalar.constant.weights", |_, number| number / 2.0 + 0.1));
    let (half, last) = (read(&half).unwrap(), file.model.weights[0].len() - 1);
    assert_eq!(half.weights[1][last], (f32::from(file.model.weights[1][last]) / 2.0 + 0.1).round() as i16);
    assert_eq!(half.weights[1][..last], file.model.weights[1][..last]);
    // As frameworks save it that know nothing of metadata.
    let bare = changed(&file, false, |_| ());
    let error = read(&bare).unwrap_err();
    assert!(error.contains("`metadata`") && error.contains("--patterns"), "{error}");
    assert!(read_open(OpenLayout::Safetensors, &bare, Some(&file.model.set)).unwrap().model == file.model);
    let no_places = changed(&file, false, |tensors| tensors.retain(|name, _| !name.ends_with(".places")));
    assert!(read_open(OpenLayout::Safetensors, &no_places, Some(&file.model.set)).unwrap().model == file.model);
    let other = PatternSet::built_in("classic").unwrap();
    let error = read_open(OpenLayout::Safetensors, &bare, Some(&other)).unwrap_err();
    assert!(error.contains("`pattern.corner5x2.weights` is missing"), "{error}");
}

#[test]
fn what_is_wrong_is_told_with_the_arrays_name() {
    let [_, file] = both_kinds();
    type Change = dyn Fn(&mut Tensors, &str);
    let at = |place: usize, wrong: f32| {
        move |tensors: &mut Tensors, name: &str| {
            as_floats(tensors, name, |at, number| if at == place { wrong } else { number });
        }
    };
    let missing = |tensors: &mut Tensors, name: &str| drop(tensors.remove(name));
    let unknown = |tensors: &mut Tensors, name: &str| {
        tensors.insert(name.to_owned(), (Dtype::U8, vec![1], vec![0]));
    };
    let flat = |tensors: &mut Tensors, name: &str| {
        let (_, shape, _) = tensors.get_mut(name).unwrap();
        *shape = vec![shape.iter().product()];
    };
    let half = |tensors: &mut Tensors, name: &str| tensors.get_mut(name).unwrap().0 = Dtype::F16;
    let largest = f32::from(HiddenLayer::MAX_WEIGHT);
    let first_table = |tensors: &mut Tensors, name: &str| {
        let (_, shape, data) = tensors.get_mut(name).unwrap();
        shape[0] = 1;
        data.truncate(shape.iter().product());
    };
    let cases: [(&str, &Change, &str); 25] = [
        ("pattern.corner.weights", &missing, "missing"),
        ("pattern.diag8.places", &missing, "missing"),
        ("stage_of_empties", &missing, "missing"),
        ("hidden.output", &missing, "missing"),
        ("pattern.none.weights", &unknown, "not an array of this model"),
        ("optimizer", &unknown, "not an array of this model"),
        ("pattern.corner.weights", &flat, "[3, 81]"),
        ("pattern.diag8.rows", &flat, "[2, 6561, 14]"),
        ("hidden.bias", &flat, "[3, 14]"),
        ("pattern.diag8.rows", &first_table, "[2, 6561, 14]"),
        ("pattern.diag8.weights", &half, "F16"),
        ("pattern.corner.weights", &at(100, f32::NAN), "NaN, at [1, 19]"),
        ("pattern.corner.weights", &at(5, f32::INFINITY), "inf"),
        ("scalar.constant.rows", &at(14, f32::NAN), "NaN, at [1, 0, 0]"),
        ("hidden.bias", &at(3, f32::NEG_INFINITY), "-inf"),
        ("pattern.corner.weights", &at(0, 40_000.0), "40000"),
        ("pattern.corner.weights", &at(0, largest + 1.0), "32640"),
        ("pattern.corner.weights", &at(0, -32_769.0), "-32769"),
        ("pattern.diag8.rows", &at(0, 128.0), "128"),
        ("hidden.bias", &at(2, 16_385.0), "16385"),
        ("hidden.rows_of_stage", &at(1, 2.0), "from 0 to 1"),
        ("scale", &at(0, 0.0), "from 1 to 65535"),
        ("stage_of_empties", &at(60, 1.0), "in the order in which a game enters them"),
        ("pattern.diag8.places", &at(0, 1.0), "diag8.places"),
        // The first and the last square.
        ("pattern.diag8.weights", &at(1, 700.0), "[0, 1] and [0, 2187] differ"),
    ];
    for (name, change, reason) in cases {
        let bytes = changed(&file, true, |tensors| change(tensors, name));
        let error = model_of(OpenLayout::Safetensors, &bytes).unwrap_err();
        assert!(error.contains(name) && error.contains(reason), "{name}, {reason}: {error}");
    }
}

#[test]
fn json_is_told_apart_by_its_keys() {
    let [_, file] = both_kinds();
    let good: Value = serde_json::from_slice(&written(OpenLayout::Json, &file)).unwrap();
    let read = |json: &Value| model_of(OpenLayout::Json, json.to_string().as_bytes());
    let text = good.to_string();
    type Change = dyn Fn(&mut Value);
    let cases: [(&Change, &str); 12] = [
        (&|json| drop(json["weights"].as_array_mut().unwrap().pop()), "pattern.corner.weights"),
        (&|json| drop(json["weights"][1].as_array_mut().unwrap().pop()), "`weights`"),
        (&|json| json["weights"] = json!([]), "`weights` is empty"),
        (&|json| json["weights"][2][5] = json!(32_768), "`weights`: 32768, at [2, 5]"),
        (&|json| json["weights"][2][5] = json!("1"), "weights[2][5]"),
        (&|json| json["hidden"]["rows"][1][7][2] = json!(-129), "`hidden.rows`: -129, at [1, 7, 2]"),
        (&|json| drop(json["hidden"]["rows"][1].as_array_mut().unwrap().pop()), "`hidden.rows`"),
        (&|json| json["hidden"]["bias"][1][7] = json!(1e9), "`hidden.bias`: 1000000000, at [1, 7]"),
        (
            &|json| json["patterns"][0]["weight_of_configuration"][3] = json!(1e6),
            "pattern.corner.weight_of_configuration",
        ),
        (&|json| drop(json["patterns"].as_array_mut().unwrap().pop()), "pattern.centre.places"),
        (&|json| json["colour"] = json!(1), "colour"),
        (&|json| drop(json.as_object_mut().unwrap().remove("scale")), "scale"),
    ];
    for (change, reason) in cases {
        let mut json = good.clone();
        change(&mut json);
        let error = read(&json).unwrap_err();
        assert!(error.contains(reason), "{reason}: {error}");
    }
    // As Python writes what is no number, which is no JSON.
    let mut json = good.clone();
    json["weights"][2][5] = json!(123_456_789);
    for none in ["NaN", "-Infinity", "1e999"] {
        let error = model_of(OpenLayout::Json, json.to_string().replace("123456789", none).as_bytes()).unwrap_err();
        assert!(error.contains("weights[2][5]"), "{none}: {error}");
    }
    assert!(read(&good).unwrap() == file.model);
    for bad in [&text[..text.len() / 2], &format!("{text} 1"), "", "[]", "null"] {
        assert!(model_of(OpenLayout::Json, bad.as_bytes()).is_err());
    }
}

/// An archive of arrays as NumPy writes them.
fn archive(arrays: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in arrays {
        archive.start_file(*name, SimpleFileOptions::DEFAULT).unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

fn npy(header: &str, bytes: &[u8]) -> Vec<u8> {
    let header = format!("{header}\n");
    [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), bytes].concat()
}

#[test]
fn npz_is_read_as_numpy_may_write_it() {
    let [file, _] = both_kinds();
    let mut given = ZipArchive::new(Cursor::new(written(OpenLayout::Npz, &file))).unwrap();
    let mut arrays: Vec<(String, Vec<u8>)> = Vec::new();
    for number in 0..given.len() {
        let mut entry = given.by_index(number).unwrap();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        arrays.push((entry.name().unwrap().into_owned(), bytes));
    }
    type Change = dyn Fn(&str, &[u8]) -> Option<Vec<u8>>;
    let read = |change: &Change| {
        let arrays = arrays.iter().filter_map(|(name, bytes)| Some((name.as_str(), change(name, bytes)?)));
        model_of(OpenLayout::Npz, &archive(&arrays.collect::<Vec<_>>()))
    };
    let only = |wanted: &'static str, array: Vec<u8>| {
        read(&move |name, bytes| Some(if name == wanted { array.clone() } else { bytes.to_vec() }))
    };
    assert!(read(&|_, bytes| Some(bytes.to_vec())).unwrap() == file.model);
    // The last 2 * 3 * 81 bytes are the numbers: the other order of bytes, and the other order of indices.
    let corner = "pattern.corner.weights.npy";
    let (_, bytes) = arrays.iter().find(|(name, _)| name == corner).unwrap();
    let numbers = &bytes[bytes.len() - 2 * 3 * 81..];
    let swapped: Vec<u8> = numbers.chunks(2).flat_map(|number| [number[1], number[0]]).collect();
    let turned: Vec<u8> = (0..81)
        .flat_map(|slot| (0..3).flat_map(move |stage| &numbers[2 * (81 * stage + slot)..][..2]))
        .copied()
        .collect();
    let header =
        |element: &str, order: &str| format!("{{'descr': '{element}', 'fortran_order': {order}, 'shape': (3, 81), }}");
    assert!(only(corner, npy(&header(">i2", "False"), &swapped)).unwrap() == file.model);
    assert!(only(corner, npy(&header("<i2", "True"), &turned)).unwrap() == file.model);
    // An array of one number, as `numpy.ascontiguousarray` makes of a number.
    let scale = npy("{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }", &100i64.to_le_bytes());
    assert!(only("scale.npy", scale).unwrap() == file.model);
    let text = npy("{'descr': '<U1', 'fortran_order': False, 'shape': (), }", b"{\0\0\0");
    let error = only("metadata.npy", text).unwrap_err();
    assert!(error.contains("`metadata`") && error.contains("<U1"), "{error}");

    let missing =
        |wanted: &'static str| read(&move |name, bytes| (name != wanted).then(|| bytes.to_vec())).unwrap_err();
    assert!(missing("metadata.npy").contains("--patterns"));
    assert!(missing("scalar.parity.weights.npy").contains("`scalar.parity.weights` is missing"));
    let huge = [
        header("<i2", "False").replace("81", "18446744073709551615"),
        header("<i2", "False").replace("(3, 81)", "(4294967296, 4294967296)"),
        header("<i2", "False").replace("81", "80"),
        header("<c8", "False"),
        header("|O", "False"),
        "[('a', '<i2')]".into(),
        "{".into(),
    ];
    for header in huge {
        let error = only(corner, npy(&header, numbers)).unwrap_err();
        assert!(error.starts_with("`pattern.corner.weights`"), "{header}: {error}");
    }
    let error = only(corner, b"\x93NUMPY\x02\x00\xff\xff\xff\xff".to_vec()).unwrap_err();
    assert!(error.starts_with("`pattern.corner.weights`"), "{error}");
    assert!(model_of(OpenLayout::Npz, b"PK\x03\x04").is_err());
    assert!(model_of(OpenLayout::C, b"").unwrap_err().contains("only written"));
}

/// A few bytes must not stand for a model that fills the memory.
#[test]
fn a_model_that_no_weight_file_can_hold_is_refused() {
    let file = WeightFile::new(random_model(&Engine::Edax.set(), &[60], 100, 300, 1), Provenance::default());
    let bytes = changed(&file, true, |tensors| {
        let slots = 59_049;
        let rows = vec![0; 250 * 14];
        tensors.insert("scalar.constant.rows".into(), (Dtype::I8, vec![250, 1, 14], rows));
        assert!(tensors.values().any(|(_, shape, _)| shape.last() == Some(&slots)));
    });
    let error = model_of(OpenLayout::Safetensors, &bytes).unwrap_err();
    assert!(error.contains("more than a weight file may have"), "{error}");
}

#[test]
fn imported_weights_are_weights_like_any_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let [weights, npz, json, back, eval, again] =
        ["w.fsw", "w.npz", "w.json", "back.fsw", "eval.dat", "again.dat"].map(path);
    let file = WeightFile::new(random_model(&Engine::Edax.set(), &[60, 30], 128, 300, 1), Provenance::default());
    file.save(&weights).unwrap();
    let call = |arguments: &[&str]| {
        let output = run_with(arguments, "");
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let refused = |arguments: &[&str], code: i32| {
        let output = run_with(arguments, "");
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    call(&["export", "--to", "npz", &weights, "-o", &npz]);
    assert_eq!(call(&["import", "--from", "npz", &npz, "-o", &back]), format!("{back}\n"));
    let read = WeightFile::load(&back).unwrap();
    assert!(read.model == file.model && read.provenance.origin == "imported from npz: w.npz");
    for (weights, to) in [(&weights, &eval), (&back, &again)] {
        call(&["export", "--to", "edax", weights, "-o", to]);
    }
    assert!(fs::read(&eval).unwrap() == fs::read(&again).unwrap());
    let accuracy = |weights: &str| call(&["accuracy", weights, "data/ffo/fforum-1-19.obf", "--json"]);
    assert_eq!(accuracy(&weights).replace(&weights, ""), accuracy(&back).replace(&back, ""));

    call(&["export", "--to", "json", &weights, "-o", &json]);
    let text = fs::read_to_string(&json).unwrap();
    fs::write(&json, text.replacen("\"scale\":128", "\"scale\":0", 2)).unwrap();
    let error = refused(&["import", "--from", "json", &json, "-o", &back], 1);
    assert!(error.contains(&json) && error.contains("`scale`"), "{error}");
    // What was there is still there.
    assert!(WeightFile::load(&back).unwrap() == read);
    for wrong in ["safetensors", "json"] {
        assert!(refused(&["import", "--from", wrong, &npz, "-o", &back], 1).contains(&npz));
    }
    refused(&["import", "--from", "npz", &npz, &npz, "-o", &back], 2);
    refused(&["import", "--from", "edax", &eval, "--patterns", "edax", "-o", &back], 2);
    assert!(refused(&["import", "--from", "c", &npz, "-o", &back], 1).contains("only written"));
}
