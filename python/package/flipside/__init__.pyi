"""Evaluate, search and solve Othello positions with flipside's weights.

Boards are a ``numpy.uint64`` array of shape (n, 2), or a tuple of two arrays of shape (n,): the discs of the player to move
and of the opponent, one bit per square; bit 0 is a1, bit 1 is b1, bit 63 is h8. Values are in discs for the player to move.
`evaluate`, `search` and `solve` use all cores, release the GIL, and stop at Ctrl-C. They raise TypeError for boards of another
type or shape, and ValueError for arrays of unequal lengths, for a square with discs of both sides, and for a depth that is not 0 to 60.
"""

from os import PathLike
from typing import Union

import numpy as np
from numpy.typing import NDArray

__version__: str

Boards = Union[NDArray[np.uint64], tuple[NDArray[np.uint64], NDArray[np.uint64]]]

class Weights:
    """Weights, ready for use. `load` creates them."""

    @property
    def hash(self) -> str:
        """SHA-256 of the weights: 64 hexadecimal digits, as `flipside inspect` prints it."""

    @property
    def patterns(self) -> str:
        """The name of their pattern set."""

    def evaluate(self, boards: Boards) -> NDArray[np.float32]:
        """Static values. If the player has to pass, the opponent's value, negated; if the game is over, the result."""

    def search(self, boards: Boards, depth: int) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
        """Values by a full-width search of `depth` plies (0 to 60), and the best moves: the number of a square, or -1
        if there is no move or nothing was searched."""

    def solve(self, boards: Boards) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
        """Results with best play, with empty squares counted for the winner, and best moves as in `search`. A position
        with 20 empty squares takes milliseconds, and about three times as long for each square more."""

def load(path: Union[str, PathLike[str], None] = None) -> Weights:
    """Reads a weight file (`.fsw`); without a path, the weights that ship with flipside.

    Raises OSError (such as FileNotFoundError) if the file cannot be read, ValueError if it is damaged or not a weight file.
    """

def boards(text: str) -> NDArray[np.uint64]:
    """Positions from text, one per line: 64 characters from a1 to h8 (``X`` black, ``O`` white, ``-`` empty) and the side
    to move, or the moves that lead to the position, such as ``f5d6c3``. Raises ValueError naming a line that is neither."""
