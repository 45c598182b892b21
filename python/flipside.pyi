"""Evaluating, searching and solving Othello positions by flipside's weights.

Boards are a ``numpy.uint64`` array of shape (n, 2), or a tuple of two of shape (n,): the discs of the player to move, and
of the opponent, one bit a square, bit 0 being a1, bit 1 b1, bit 63 h8. Values are in discs for the player to move. Work is
done on all cores, without the GIL, and Ctrl-C ends it.
"""

from os import PathLike
from typing import Union

import numpy as np
from numpy.typing import NDArray

__version__: str

Boards = Union[NDArray[np.uint64], tuple[NDArray[np.uint64], NDArray[np.uint64]]]

class Weights:
    """Weights, ready for work. `load` makes them."""

    @property
    def hash(self) -> str:
        """Their name: 64 hexadecimal digits, as `flipside inspect` prints them."""

    @property
    def patterns(self) -> str:
        """The name of their pattern set."""

    def evaluate(self, boards: Boards) -> NDArray[np.float32]:
        """Static values. Where the player has to pass, the opponent's, negated; where the game is over, the result."""

    def search(self, boards: Boards, depth: int) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
        """Values by a full-width search of `depth` plies (0 to 60), and the best moves: the number of a square, or -1
        where there is no move or nothing was searched."""

    def solve(self, boards: Boards) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
        """Results with best play, empty squares going to the winner, and best moves as of `search`. A position of 20
        empty squares takes milliseconds, each one more some three times as long."""

def load(path: Union[str, PathLike[str], None] = None) -> Weights:
    """Reads a weight file (`.fsw`); without a path, the weights that come with the program.

    Raises OSError (FileNotFoundError and others) where the file cannot be read, ValueError where it is no weight file or
    damaged.
    """

def boards(text: str) -> NDArray[np.uint64]:
    """Positions from text, one a line: 64 characters (``X`` black, ``O`` white, ``-`` empty) from a1 to h8 and the side to
    move, or the moves that lead to it, such as ``f5d6c3``. Raises ValueError with the line that is neither."""
