"""Reads the open layouts with nothing but Python's standard library, and evaluates positions as examples/evaluate.py does.

    stdlib.py FILE.npz|FILE.safetensors|FILE.json < positions
"""

import array
import ast
import json
import math
import pathlib
import struct
import sys
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "examples"))
import evaluate  # noqa: E402

CODES = {"|u1": "B", "|i1": "b", "<u2": "H", "<i2": "h", "U8": "B", "I8": "b", "U16": "H", "I16": "h"}


def shaped(kind, shape, raw):
    numbers = array.array(CODES[kind], raw)
    if sys.byteorder == "big":
        numbers.byteswap()
    assert len(numbers) == math.prod(shape)
    for length in reversed(shape[1:]):
        numbers = [numbers[at : at + length] for at in range(0, len(numbers), length)]
    return numbers if shape else numbers[0]


def npz(path):
    arrays = {}
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        for name in archive.namelist():
            data = archive.read(name)
            assert data[:8] == b"\x93NUMPY\x01\x00"
            (length,) = struct.unpack("<H", data[8:10])
            assert (10 + length) % 64 == 0 and data[9 + length : 10 + length] == b"\n"
            header = ast.literal_eval(data[10 : 10 + length].decode("ascii"))
            assert header["fortran_order"] is False
            arrays[name.removesuffix(".npy")] = shaped(header["descr"], header["shape"], data[10 + length :])
    metadata = json.loads(bytes(arrays.pop("metadata")))
    return metadata, arrays


def safetensors(path):
    data = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    metadata = json.loads(header.pop("__metadata__")["flipside"])
    body = data[8 + length :]
    assert sorted(a["data_offsets"][1] for a in header.values())[-1] == len(body)
    slices = {name: body[slice(*a["data_offsets"])] for name, a in header.items()}
    return metadata, {name: shaped(a["dtype"], a["shape"], slices[name]) for name, a in header.items()}


def from_json(path):
    with open(path, encoding="utf-8") as file:
        data = json.load(file)
    arrays = {"scale": data["scale"], "stage_of_empties": data["stage_of_empties"]}
    hidden = data.get("hidden", {})

    def tables(name, numbers):
        arrays[f"{name}.weights"] = [[stage[n] for n in numbers] for stage in data["weights"]]
        if hidden:
            arrays[f"{name}.rows"] = [[rows[n] for n in numbers] for rows in hidden["rows"]]

    for pattern in data["patterns"]:
        arrays[f"pattern.{pattern['name']}.places"] = pattern["places"]
        tables(f"pattern.{pattern['name']}", pattern["weight_of_configuration"])
    for scalar in data["scalars"]:
        tables(f"scalar.{scalar['name']}", scalar["weight_of_value"])
    arrays.update({f"hidden.{name}": numbers for name, numbers in hidden.items() if name != "rows"})
    return data["metadata"], arrays


if __name__ == "__main__":
    readers = {".npz": npz, ".safetensors": safetensors, ".json": from_json}
    metadata, arrays = readers[pathlib.Path(sys.argv[1]).suffix](sys.argv[1])
    assert metadata["format"] == "flipside weights" and len(metadata["sha256"]) == 64
    assert metadata["version"] == (2 if "hidden.bias" in arrays else 1)
    evaluate.answer(arrays, sys.stdin)
