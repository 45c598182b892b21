"""Checks the package `flipside` against independent rules and searches."""

import pathlib
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import flipside
from othello import START, moves, negamax, some_boards

@pytest.fixture(scope="module")
def weights():
    return flipside.load()


def test_boards_are_read_from_text():
    boards = flipside.boards(f"{START}\nf5d6\n")
    assert boards.dtype == np.uint64 and boards.shape == (2, 2)
    assert boards[0].tolist() == [1 << 28 | 1 << 35, 1 << 27 | 1 << 36]
    with pytest.raises(ValueError, match="line 2"):
        flipside.boards(f"{START}\nnonsense")
    assert flipside.boards("").shape == (0, 2)


def test_weights_have_a_name(weights, tmp_path):
    assert len(weights.hash) == 64 and weights.patterns in repr(weights) and weights.hash[:12] in repr(weights)
    shipped = pathlib.Path(__file__).parents[2] / "weights" / "default.fsw"
    assert flipside.load(shipped).hash == flipside.load(str(shipped)).hash == weights.hash
    (tmp_path / "best.fsw").write_bytes(shipped.read_bytes())
    assert flipside.load(tmp_path).hash == weights.hash


def test_both_ways_to_give_boards_are_the_same(weights):
    boards = some_boards(20)
    pair = (boards[:, 0], boards[:, 1])
    assert (weights.evaluate(boards) == weights.evaluate(pair)).all()
    assert (weights.evaluate(np.asfortranarray(boards)) == weights.evaluate(boards)).all()
    assert weights.evaluate(boards[::-1]).tolist() == weights.evaluate(boards).tolist()[::-1]


def test_fields_of_packed_records_are_boards(weights):
    boards = some_boards(20)
    records = np.zeros(len(boards), dtype=[("score", "i1"), ("player", "<u8"), ("opponent", "<u8"), ("both", "<u8", 2)])
    records["player"], records["opponent"], records["both"] = boards[:, 0], boards[:, 1], boards
    expected = weights.evaluate(boards).tolist()
    assert weights.evaluate((records["player"], records["opponent"])).tolist() == expected
    assert weights.evaluate(records["both"]).tolist() == expected


def test_values_know_no_colours_and_symmetries(weights):
    boards = flipside.boards("f5\nd3\nc4\ne6")
    assert len(set(weights.evaluate(boards).tolist())) == 1
    assert weights.evaluate(boards[:0]).shape == (0,)


def test_a_search_is_negamax_over_static_values(weights):
    boards = np.concatenate([some_boards(40, 2), some_boards(15, 1)])
    static = {}

    def leaf(own, other):
        if (own, other) not in static:
            static[own, other] = float(weights.evaluate(np.array([[own, other]], dtype=np.uint64))[0])
        return static[own, other]

    values, best = weights.search(boards, 3)
    assert values.dtype == np.float32 and best.dtype == np.int8
    for (own, other), value, move in zip(boards.tolist(), values, best):
        assert value == pytest.approx(negamax(own, other, 3, leaf), abs=1e-6)
        assert move in [square for square, _ in moves(own, other)]
    assert weights.search(boards, 0)[0].tolist() == weights.evaluate(boards).tolist()


def test_solving_is_negamax_to_the_end(weights):
    boards = some_boards(7)
    values, best = weights.solve(boards)
    assert values.dtype == np.int8
    for (own, other), value, move in zip(boards.tolist(), values, best):
        assert value == negamax(own, other, 64, None)
        turned = dict(moves(own, other))[int(move)]
        assert -negamax(other ^ turned, own | turned | 1 << int(move), 64, None) == value


def test_a_finished_game_has_no_move(weights):
    full = np.array([[2**64 - 1, 0]], dtype=np.uint64)
    for values, best in (weights.solve(full), weights.search(full, 4)):
        assert (values.tolist(), best.tolist()) == ([64], [-1])


def test_errors_are_exceptions(weights, tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere.fsw"):
        flipside.load(tmp_path / "nowhere.fsw")
    damaged = tmp_path / "damaged.fsw"
    damaged.write_bytes(b"no weights at all")
    with pytest.raises(ValueError, match="damaged.fsw"):
        flipside.load(damaged)
    boards = flipside.boards(START)
    for wrong in (boards.astype(np.int64), boards[0], boards.repeat(2, axis=1), [START], START, (boards, boards)):
        with pytest.raises(TypeError, match="uint64"):
            weights.evaluate(wrong)
    with pytest.raises(ValueError, match="board 1: square 5"):
        weights.evaluate(np.array([[1, 2], [32, 32]], dtype=np.uint64))
    with pytest.raises(ValueError, match="2 boards of the player, 1 of the opponent"):
        weights.evaluate((np.zeros(2, np.uint64), np.zeros(1, np.uint64)))
    for depth in (61, -1, 2**32):
        with pytest.raises(ValueError, match="0 to 60"):
            weights.search(boards, depth)


@pytest.mark.parametrize("work", [lambda weights, hard: weights.solve(hard), lambda weights, hard: weights.search(hard, 40)])
def test_others_run_meanwhile(weights, work):
    """The GIL is released while Rust works: another thread can count, and a signal ends the work."""
    hard = flipside.boards(START)
    counted = []
    over = threading.Event()

    def count():
        while not over.wait(0.01):
            counted.append(time.monotonic())

    class Enough(Exception):
        pass

    def enough(*_):
        raise Enough

    before = signal.signal(signal.SIGALRM, enough)
    thread = threading.Thread(target=count)
    thread.start()
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        with pytest.raises(Enough):
            work(weights, hard)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        over.set()
        thread.join()
    assert len(counted) > 2


def test_the_hints_and_the_reference_have_the_docstrings():
    subprocess.run([sys.executable, pathlib.Path(__file__).parents[1] / "reference.py", "--check"], check=True)
