"""Reads flipside's weight files (.fsw) and evaluates positions, with NumPy and nothing else.

    python3 examples/fsw.py weights.fsw < positions.txt

A position is 64 characters (X black, O white, - or . empty), a space, and the side to move. Empty lines and those that begin with
# or % are skipped. The answer is in discs for that side, one number per line. In a program of your own:

    import fsw
    weights = fsw.load("weights.fsw")
    values = weights.evaluate(boards)        # boards: n x 64 of +1 (player to move), -1 (opponent), 0 (empty)

The format is described in docs/FILES.md.
"""

import hashlib
import struct
import sys
import zlib
from dataclasses import dataclass, field
from typing import Optional

import numpy as np

MAGIC = b"\x89FSW\r\n\x1a\n"
RAYS = [(1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1)]
SQUARES = np.arange(64).reshape(8, 8)
# For each symmetry of the board, the square that it puts in the place of each square.
SYMMETRIES = [np.rot90(board, turns).ravel() for board in (SQUARES, SQUARES.T) for turns in range(4)]


class Payload:
    """Reads the fields of a payload, one after the other."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        if count > len(self.data) - self.at:
            raise ValueError("the payload ends early")
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self, kind):
        return struct.unpack("<" + kind, self.take(struct.calcsize(kind)))[0]

    def bytes(self):
        return self.take(self.number("Q"))

    def text(self):
        return self.bytes().decode()

    def option(self, read):
        return read() if self.number("B") else None

    def list(self, read):
        return [read() for _ in range(self.number("Q"))]


@dataclass
class HiddenLayer:
    """The hidden layer, if the value is more than the sum of weights."""

    rows_of_stage: np.ndarray
    rows: np.ndarray
    """Tables of rows x weights x units."""
    bias: np.ndarray
    """Stages x units."""
    output: np.ndarray
    """Stages x units, in units of 1 / scale disc."""


@dataclass
class Weights:
    """The content of a weight file."""

    provenance: dict
    set_name: str
    patterns: list
    """The name and the squares of each pattern."""
    scalars: list
    stage_of_empties: np.ndarray
    scale: int
    weights: np.ndarray
    """Stages x weights, in units of 1 / scale disc."""
    hidden: Optional[HiddenLayer] = None
    places: list = field(default_factory=list)
    """For each place of a pattern on the board: its squares, and the number of the weight of each configuration."""

    def __post_init__(self):
        first = 0
        for _, squares in self.patterns:
            number_of, count = numbers_of_weights(squares)
            seen = set()
            for symmetry in SYMMETRIES:
                image = symmetry[squares]
                if frozenset(image.tolist()) not in seen:
                    seen.add(frozenset(image.tolist()))
                    self.places.append((image, first + number_of))
            first += count
        self.first_scalar = first

    def evaluate(self, boards):
        """The values of boards in discs for the player to move (n x 64 of +1, -1 and 0): an array of n numbers."""
        boards = np.atleast_2d(np.asarray(boards, dtype=np.int8))
        own, other = mobility(boards), mobility(-boards)
        values = np.empty(len(boards))
        can_move, must_pass = own.any(axis=1), ~own.any(axis=1) & other.any(axis=1)
        values[can_move] = self._sum(boards[can_move], own[can_move], other[can_move])
        values[must_pass] = -self._sum(-boards[must_pass], other[must_pass], own[must_pass])
        over = ~can_move & ~must_pass
        lead = boards[over].sum(axis=1, dtype=int)
        values[over] = lead + np.sign(lead) * (boards[over] == 0).sum(axis=1)
        return values

    def _sum(self, boards, own, other):
        stages = self.stage_of_empties[np.minimum((boards == 0).sum(axis=1), 60)]
        total = np.zeros(len(boards), dtype=np.int64)
        hidden = self.hidden
        sums = hidden.bias[stages].astype(np.int64) if hidden else None

        def add(numbers):
            nonlocal total, sums
            total += self.weights[stages, numbers]
            if hidden:
                sums += hidden.rows[hidden.rows_of_stage[stages], numbers]

        for squares, number_of in self.places:
            digits = boards[:, squares].astype(np.int64) + 1
            add(number_of[digits @ 3 ** np.arange(len(squares))])
        first = self.first_scalar
        for name in self.scalars:
            count, value = SCALARS[name]
            add(first + value(boards, own, other))
            first += count
        if hidden:
            total += ((np.clip(sums, 0, 256) * hidden.output[stages]).sum(axis=1) + 128) >> 8
        return np.clip(total / self.scale, -64, 64)


def numbers_of_weights(squares):
    """The number of the weight of each configuration of a pattern, and how many weights there are."""
    size = len(squares)
    configurations = np.arange(3**size)
    digits = configurations[:, None] // 3 ** np.arange(size) % 3
    smallest = configurations.copy()
    for symmetry in SYMMETRIES:
        image = symmetry[squares].tolist()
        if sorted(image) == sorted(squares.tolist()):
            order = [image.index(square) for square in squares.tolist()]
            smallest = np.minimum(smallest, digits[:, order] @ 3 ** np.arange(size))
    # The symmetries are a group: a number that none of them sends to a smaller one is the smallest of its orbit.
    own = smallest == configurations
    return (np.cumsum(own) - 1)[smallest], int(own.sum())


def shifted(boards, step):
    """What is one step further from each square; 0 beyond the board."""
    grid = boards.reshape(-1, 8, 8)
    moved = np.zeros_like(grid)
    column, row = step

    def spans(by):
        return (slice(max(0, -by), 8 - max(0, by)), slice(max(0, by), 8 - max(0, -by)))

    (to_row, from_row), (to_column, from_column) = spans(row), spans(column)
    moved[:, to_row, to_column] = grid[:, from_row, from_column]
    return moved.reshape(-1, 64)


def mobility(boards):
    """Where the player may move: an array of the boards' shape."""
    player, opponent, empty = boards == 1, boards == -1, boards == 0
    moves = np.zeros(boards.shape, dtype=bool)
    for step in RAYS:
        # Squares from which a line of the opponent's discs leads to one of the player's.
        line = shifted(player, step) & opponent
        for _ in range(5):
            line |= shifted(line, step) & opponent
        moves |= shifted(line, step) & empty
    return moves


def potential_mobility(discs, empty):
    """Pairs of an empty square and a neighbouring disc with a square behind it, on lines of four squares or more; halved."""
    column, row = np.arange(64) % 8, np.arange(64) // 8
    pairs = np.zeros(len(discs), dtype=np.int64)
    for step in RAYS[:4]:
        on_board = [
            (column + step[0] * n >= 0) & (column + step[0] * n < 8) & (row + step[1] * n >= 0) & (row + step[1] * n < 8)
            for n in range(-7, 8)
        ]
        inner = (sum(on_board) >= 4) & on_board[6] & on_board[8]
        counted = discs & inner
        pairs += (counted & shifted(empty, step)).sum(axis=1)
        pairs += (counted & shifted(empty, (-step[0], -step[1]))).sum(axis=1)
    return np.minimum(pairs // 2, 63)


def odd_quadrants(boards):
    """Quarters of the board with an odd number of empty squares."""
    quarters = (boards.reshape(-1, 2, 4, 2, 4) == 0).sum(axis=(2, 4))
    return (quarters % 2).sum(axis=(1, 2))


CORNERS = [0, 7, 56, 63]
SCALARS = {
    "constant": (1, lambda boards, own, other: np.zeros(len(boards), dtype=np.int64)),
    "parity": (2, lambda boards, own, other: (boards == 0).sum(axis=1) % 2),
    "mobility": (64, lambda boards, own, other: own.sum(axis=1)),
    "opponent-mobility": (64, lambda boards, own, other: other.sum(axis=1)),
    "potential-mobility": (64, lambda boards, own, other: potential_mobility(boards == -1, boards == 0)),
    "opponent-potential-mobility": (64, lambda boards, own, other: potential_mobility(boards == 1, boards == 0)),
    "corner-moves": (25, lambda boards, own, other: 5 * own[:, CORNERS].sum(axis=1) + other[:, CORNERS].sum(axis=1)),
    "odd-quadrants": (5, lambda boards, own, other: odd_quadrants(boards)),
    "player-discs": (65, lambda boards, own, other: (boards == 1).sum(axis=1)),
}


def load(path):
    """Reads a weight file. ValueError says what is wrong with it."""
    with open(path, "rb") as file:
        data = file.read()
    version, length = struct.unpack("<IQ", data[8:20]) if len(data) >= 52 else (0, 0)
    if data[:8] != MAGIC or version != 1 or length > 1 << 28:
        raise ValueError(f"{path} is not a weight file that this reader knows")
    try:
        payload = zlib.decompressobj(wbits=-15).decompress(data[52:], length + 1)
    except zlib.error as error:
        raise ValueError(f"{path} is damaged: {error}") from error
    if len(payload) != length or hashlib.sha256(payload).digest() != data[20:52]:
        raise ValueError(f"{path} is damaged")
    read = Payload(payload)
    provenance = {"program": read.text(), "commit": read.option(read.text), "origin": read.text(), "config": read.text()}
    provenance["seed"] = read.option(lambda: read.number("Q"))
    provenance |= {name: read.number("Q") for name in ("generations", "games", "samples")}
    provenance |= {name: read.option(read.text) for name in ("date", "parent")}
    set_name = read.text()
    patterns = read.list(lambda: (read.text(), np.frombuffer(read.bytes(), dtype=np.uint8)))
    scalars = read.list(read.text)
    stages = np.frombuffer(read.bytes(), dtype=np.uint8)
    scale = read.number("H")
    weights = np.stack(read.list(lambda: weights_of_stage(read.bytes())))
    read.option(lambda: read.list(lambda: read.take(16)))  # The calibration, for selective search.
    hidden = read.option(lambda: hidden_layer(read))
    return Weights(provenance, set_name, patterns, scalars, stages, scale, weights, hidden)


def weights_of_stage(data):
    """The weights of a stage: their low bytes come first, then the high ones."""
    low, high = np.frombuffer(data, dtype=np.uint8).reshape(2, -1)
    return (high.astype(np.uint16) << 8 | low).view(np.int16)


def hidden_layer(read):
    """Reads a hidden layer."""
    units = read.number("B")
    rows_of_stage = np.frombuffer(read.bytes(), dtype=np.uint8)
    rows = np.stack(read.list(lambda: np.frombuffer(read.bytes(), dtype=np.int8).reshape(-1, units)))
    heads = np.stack(read.list(lambda: np.frombuffer(read.bytes(), dtype="<i2").reshape(2, units)))
    return HiddenLayer(rows_of_stage, rows, heads[:, 0], heads[:, 1])


def board(text):
    """A line of 64 squares, a space and the side to move as a board for `evaluate`. What follows, like scored moves, is ignored.

    ValueError says that it is no such line.
    """
    squares, side = text[:64].upper(), text[65:66].upper()
    if len(squares) < 64 or set(squares) - set("XO-.") or text[64:65] != " " or side not in ("X", "O"):
        raise ValueError(f"not a position: {text}")
    return [0 if square in "-." else 1 if square == side else -1 for square in squares]


if __name__ == "__main__":
    lines = [line.strip() for line in sys.stdin]
    try:
        boards = [board(line) for line in lines if line and not line.startswith(("#", "%"))]
        weights = load(sys.argv[1])
    except (OSError, ValueError) as error:
        sys.exit(str(error))
    for value in weights.evaluate(np.array(boards).reshape(-1, 64)):
        print(f"{value:.4f}")
