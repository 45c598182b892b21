from collections.abc import Iterator, Sequence
from os import PathLike
from typing import Any, Literal, Union

import numpy as np
from numpy.typing import NDArray

__version__: str

Path = Union[str, PathLike[str]]
Boards = Union[NDArray[np.uint64], tuple[NDArray[np.uint64], NDArray[np.uint64]], NDArray[np.void]]
Set = Union["PatternSet", Path]

def boards(text: str) -> NDArray[np.uint64]:
    """Positions from text, one per line: uint64, shape (n, 2).

    A line has 64 characters from a1 to h8 (`X` black, `O` white, `-` empty) and the side to move, or the moves that lead to the position, such
    as `f5d6c3`. Raises ValueError naming a line that is neither.
    """
def load(path: Path | None = None) -> Weights:
    """Reads a weight file (`.fsw`), or the best weights of a run by its folder; without a path, the weights that ship with flipside.

    Raises OSError (such as FileNotFoundError) if the file cannot be read, ValueError if it is damaged or not a weight file.
    """
def games(
    path: Path | Sequence[Path],
    *,
    label: Literal["lambda", "search", "result"] = "lambda",
    lambda_: float = 0.9,
    batch: int = 65536,
    shuffle: int | None = None,
    shard: tuple[int, int] = (0, 1),
    start: int = 0,
    part: Literal["all", "learned", "held-out"] = "all",
    hold_out: int = 200,
) -> Games:
    """The labelled positions of the games that runs have kept, in batches.

    `path` is a run's folder, a file of kept games (`.fsg`), or a list of these. Before the games of a run come those of the runs that it
    continues. Each batch is a structured array of shape (batch,), the last one shorter. Values are in discs for the player to move:

    - `player`, `opponent` (uint64): the discs of both sides, as in `boards`
    - `label` (float32): what is to be learned
    - `search` (float32): the value by search when the game was played
    - `game` (uint32): the number of the game among all in the files, from 0
    - `result` (int8): of the game, empty squares counted for the winner
    - `ply` (uint8): moves played before, 0 to 59
    - `kind` (uint8): 0 if the best move of a search was played, 1 if a random one was, 2 if the search value is exact
    - `move` (int8): the square that was played to, 0 (a1) to 63 (h8)

    `label` is "lambda" for the lambda-return with `lambda_`, 0 to 1, as in `flipside fit`; "search" for the search value; "result" for the
    result. With `shuffle`, a seed, positions come in a random order: the same for the same games, seed and shard, on any number of threads.
    Without it they come in the order of the games. `shard` is (index, number): every process takes a share of the games. `start` is the
    number of positions to leave out, so that an interrupted iteration goes on where its `offset` says. `part` is "all", or "learned" or
    "held-out": the games that `flipside fit` learns and those that it holds out, one of `hold_out`.

    The files are read and checked first, on all threads. What is appended to them later does not count. Positions are decoded a million
    at a time, which takes about 150 MB of memory; a billion positions take as much again.

    Raises FileNotFoundError if there are no games, ValueError if a file is damaged or an argument is wrong, and warns if the end of a file
    was cut off by a crash (the games before it count), or if a run that another one continues is not there.
    """
def features(boards: Boards, set: Set) -> NDArray[np.int32]:
    """The slots of the features of positions: int32, shape (n, features of the set).

    `set` is a `PatternSet`, the name of a built-in one, or the path of a TOML file. The columns are the places of the patterns on the board,
    pattern by pattern, then the scalars. The sum of a stage's weights at a position's slots is its value. Positions are seen as they are:
    nothing is special if the player has to pass.
    """
def save(path: Path, set: Set, weights: NDArray[np.float32], stage_of_empties: NDArray[np.uint8]) -> None:
    """Writes weights made in Python to a weight file (`.fsw`), which every command of flipside takes.

    `weights` are float32, shape (stages, slots of the pattern set), in discs for the player to move. Of slots that are mirror images of each
    other, the one in `canonical` counts. `stage_of_empties` is uint8, shape (61,): the stage of each number of empty squares, numbered from 0
    in the order in which a game enters them. Weights are stored in 1/128 disc.

    Raises ValueError for arrays of other shapes, for NaN, and for weights of 256 discs or more; OSError if the file cannot be written.
    """
def set_threads(threads: int | None) -> None:
    """Limits the number of threads from the next call on.

    `threads` is 1 to 1024, or None for the default: the environment variable FLIPSIDE_THREADS, or else the number of processors that this
    process may use. A forked process keeps the limit. Raises ValueError for another number.
    """
def threads() -> int:
    """The number of threads that calls use."""

class Weights:
    """Weights, ready for use. `load` creates them."""

    @property
    def hash(self) -> str:
        """SHA-256 of the weights: 64 hexadecimal digits, as `flipside inspect` prints it."""
    @property
    def patterns(self) -> str:
        """The name of their pattern set."""
    @property
    def pattern_set(self) -> PatternSet:
        """Their pattern set."""
    @property
    def stage_of_empties(self) -> NDArray[np.uint8]:
        """The stage of each number of empty squares: uint8, shape (61,)."""
    def table(self) -> NDArray[np.float32]:
        """The weights in discs: float32, shape (stages, slots of the pattern set). What a hidden layer adds is not among them."""
    def evaluate(self, boards: Boards) -> NDArray[np.float32]:
        """Static values in discs for the player to move: float32, shape (n,).

        If the player has to pass, the opponent's value, negated; if the game is over, the result.
        """
    def search(self, boards: Boards, depth: int) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
        """Values by a full-width search of `depth` plies (0 to 60), and the best moves.

        The values are float32, shape (n,), in discs for the player to move; the moves are int8, shape (n,): the number of a square, 0 (a1)
        to 63 (h8), or -1 if there is no move or nothing was searched. Raises ValueError for another depth.
        """
    def solve(self, boards: Boards) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
        """Results with best play, and best moves.

        The results are int8, shape (n,), in discs for the player to move, with empty squares counted for the winner; the moves are as in
        `search`. A position with 20 empty squares takes milliseconds, and about three times as long for each square more.
        """

class PatternSet:
    """A pattern set: what a linear evaluation looks at.

    `set` is the name of a built-in set, such as "classic", or the path of a TOML file. Raises ValueError if there is no such set.

    A configuration of a pattern and a value of a scalar feature each have a slot in one flat table: the tables of the patterns, then
    those of the scalars, as `flipside export --to npz` writes them, one after another.
    """

    def __init__(self, set: Set) -> None: ...
    @property
    def name(self) -> str:
        """Its name."""
    @property
    def slots(self) -> int:
        """Number of slots of all tables."""
    @property
    def features(self) -> int:
        """Number of features of a position: places of patterns on the board, and scalars."""
    @property
    def tables(self) -> list[tuple[str, int, int]]:
        """The tables in order: the name that begins the names of its arrays in an exported npz (as in `pattern.edge2x.weights`), its first
        slot, and its number of slots.
        """
    @property
    def canonical(self) -> NDArray[np.int32]:
        """For each slot, the slot that counts for it and its mirror images: int32, shape (slots,).

        `features` gives only such slots. `table[:, set.canonical]` fills the others.
        """

class Games:
    """Labelled positions of kept games, an iterable of batches. `games` creates them.

    Each `iter` begins anew. Games can be pickled and used in forked processes: no file stays open. `len` is the number of batches.
    """

    def __iter__(self) -> Batches: ...
    def __len__(self) -> int: ...
    @property
    def positions(self) -> int:
        """Number of positions in this shard, those before `start` included."""
    @property
    def batch(self) -> int:
        """Positions in a batch."""
    @property
    def files(self) -> list[Any]:
        """The paths of the files."""
    def shuffled(self, seed: int | None) -> Games:
        """The same games from the beginning, shuffled with a seed, such as the number of the epoch; None for the order of the games."""
    def shard(self, index: int, number: int) -> Games:
        """Shard `index`, counted from 0, of `number` of these games, from the beginning."""
    def starting_at(self, offset: int) -> Games:
        """The same games, but the first `offset` positions are left out."""

class Batches(Iterator[NDArray[np.void]]):
    """Iterates over batches."""

    def __next__(self) -> NDArray[np.void]: ...
    @property
    def offset(self) -> int:
        """Number of positions so far, those before `start` included: what `start` has to be to go on from here."""
