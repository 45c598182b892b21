"""Othello evaluation weights, kept games and pattern features in NumPy arrays, by flipside.

python/GUIDE.md in flipside's repository leads from a clone to a model of one's own.
"""

from importlib import import_module as _import
from pathlib import Path as _Path

__all__ = ["Batches", "Games", "PatternSet", "Weights", "boards", "features", "games", "load", "save", "set_threads", "threads"]


def _compiled():
    """The compiled module for this processor. A wheel for x86-64 has two: the lesser one can tell whether the other will run."""
    folder = _Path(__file__).parent
    if (folder / "portable").is_dir():
        lesser, better = ".portable._flipside", "._flipside"
    elif (folder / "x86_64_v3").is_dir():
        lesser, better = "._flipside", ".x86_64_v3._flipside"
    else:
        return _import("._flipside", __name__)
    module = _import(lesser, __name__)
    return _import(better, __name__) if module._has_v3() else module


_module = _compiled()
globals().update({_name: getattr(_module, _name) for _name in [*__all__, "__version__", "_games", "_pattern_set"]})
