"""A wheel for x86-64 has two modules, and takes the right one for the processor; skipped for other builds."""

import pathlib
import shutil
import subprocess
import sys
from importlib import import_module

import numpy as np
import pytest

import flipside
from othello import some_boards

FOLDER = pathlib.Path(flipside.__file__).parent
OTHER = next((name for name in ("portable", "x86_64_v3") if (FOLDER / name).is_dir()), None)
pytestmark = pytest.mark.skipif(OTHER is None, reason="this build has one module")


def modules():
    """The names of the module for all processors and of that for x86-64-v3."""
    names = [f"flipside.{OTHER}._flipside", "flipside._flipside"]
    return names if OTHER == "portable" else names[::-1]


def test_both_modules_give_the_same():
    if flipside._module.__name__ != modules()[1]:
        pytest.skip("this processor has no AVX2")
    boards, both = some_boards(12, 10), [import_module(name) for name in modules()]
    for results in zip(*([*module.load().search(boards, 3), *module.load().solve(boards)] for module in both)):
        assert np.array_equal(*results)


@pytest.mark.parametrize("cpu, chosen", [("SandyBridge", 0), ("Haswell", 1)])
def test_the_processor_decides(cpu, chosen):
    if shutil.which("qemu-x86_64") is None:
        pytest.skip("qemu-x86_64 is not installed")
    program = "import flipside; print(flipside._module.__name__, flipside.load().evaluate(flipside.boards('f5d6')))"
    told = subprocess.run(["qemu-x86_64", "-cpu", cpu, sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    assert told.split()[0] == modules()[chosen]
    assert told.split(maxsplit=1)[1].strip() == str(flipside.load().evaluate(flipside.boards("f5d6")))
