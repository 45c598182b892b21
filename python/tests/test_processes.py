"""Every call returns in a forked process, whatever the parent was doing, and in spawned ones and threads."""

import concurrent.futures
import multiprocessing
import os
import signal
import threading

import numpy as np
import pytest

import flipside

BOARDS = flipside.boards("f5d6c3\nf5f6e6\nf5d6c3d3c4f4f6f3e6e7")
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")


def nearly_full():
    """A position with eight empty squares."""
    return flipside.boards("--OX--XO-OXXOOOOXOOXXOOOXXOXOXOOXXXOXOOOXXOXOOOO-XOOOOO--XXXXXX- X")


def results(weights):
    """One result of every function that works on threads."""
    return (
        weights.evaluate(BOARDS).tolist(),
        weights.search(BOARDS, 3)[0].tolist(),
        weights.solve(nearly_full())[0].tolist(),
        flipside.features(BOARDS, "classic").sum().item(),
        flipside.load().hash,
    )


def in_child(work):
    """What `work` returns in a forked child, or an error if it fails there or never ends."""
    ours, theirs = multiprocessing.Pipe(False)
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            theirs.send(work())
            os._exit(0)
        finally:
            os._exit(1)
    theirs.close()
    try:
        return ours.recv()
    except EOFError:
        pytest.fail("the child failed, or hung for a minute")
    finally:
        os.waitpid(child, 0)


@pytest.fixture(scope="module")
def weights():
    return flipside.load()


@forks
def test_a_child_works_after_its_parent(weights):
    expected = results(weights)
    assert in_child(lambda: results(weights)) == expected
    assert results(weights) == expected


@forks
def test_a_childs_child_works(weights):
    expected = results(weights)
    assert in_child(lambda: in_child(lambda: results(weights))) == expected
    assert in_child(lambda: (results(weights), in_child(lambda: results(weights)))) == (expected, expected)


@forks
def test_a_child_works_that_was_forked_in_the_middle_of_calls_of_other_threads(weights):
    expected, over = results(weights), threading.Event()

    def busy():
        while not over.is_set():
            results(weights)

    threads = [threading.Thread(target=busy) for _ in range(3)]
    [thread.start() for thread in threads]
    try:
        for _ in range(10):
            assert in_child(lambda: results(weights)) == expected
    finally:
        over.set()
        [thread.join() for thread in threads]


@forks
def test_a_fork_in_a_signal_handler_leaves_both_at_work(weights, games_file):
    """The handler runs in the middle of the call: the child does the work again."""
    start = flipside.boards("-" * 27 + "OX" + "-" * 6 + "XO" + "-" * 27 + " X")
    children = []

    def fork(*_):
        child = os.fork()
        if child == 0:
            signal.alarm(120)
            children.clear()
        else:
            children.append(child)

    before = signal.signal(signal.SIGALRM, fork)
    parent = os.getpid()
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.15)
        found = weights.search(np.repeat(start, 64, axis=0), 9)[0]
    finally:
        if os.getpid() != parent:
            os._exit(0 if len(set(found.tolist())) == 1 else 1)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(set(found.tolist())) == 1
    for child in children:
        assert os.waitpid(child, 0)[1] == 0


@forks
def test_an_iteration_goes_on_in_a_child(games_file):
    batches = iter(flipside.games(games_file, shuffle=3, batch=700))
    next(batches)
    theirs = in_child(lambda: [batch.tobytes() for batch in batches])
    assert theirs == [batch.tobytes() for batch in batches] and len(theirs) > 2


def all_results(games):
    return results(flipside.load()), [batch.tobytes() for batch in games]


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_pools_of_processes_work(weights, games_file, method):
    games = flipside.games(games_file, shuffle=1, batch=1000)
    expected = results(weights), [batch.tobytes() for batch in games]
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map_async(all_results, [games] * 3).get(300) == [expected] * 3


def test_threads_get_what_one_gets(weights, games_file):
    expected = results(weights)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: results(weights), range(8))) == [expected] * 8
    # Threads that share an iteration get all batches, each once.
    batches, taken = iter(flipside.games(games_file, batch=256)), []

    def take():
        for batch in batches:
            taken.append(batch)

    takers = [threading.Thread(target=take) for _ in range(3)]
    [taker.start() for taker in takers]
    [taker.join() for taker in takers]
    whole = np.concatenate(list(flipside.games(games_file, batch=256)))
    assert sorted(map(bytes, np.concatenate(taken))) == sorted(map(bytes, whole))


def test_threads_can_be_limited(weights, monkeypatch):
    expected = results(weights)
    try:
        for number in (1, 3):
            flipside.set_threads(number)
            assert flipside.threads() == number and results(weights) == expected
        if hasattr(os, "fork"):
            assert in_child(flipside.threads) == 3
        monkeypatch.setenv("FLIPSIDE_THREADS", "2")
        flipside.set_threads(None)
        assert flipside.threads() == 2
        monkeypatch.setenv("FLIPSIDE_THREADS", "many")
        flipside.set_threads(None)
        with pytest.raises(ValueError, match="FLIPSIDE_THREADS.*many"):
            weights.evaluate(BOARDS)
        for wrong in (0, -1, 10**6):
            with pytest.raises(ValueError, match="1 to 1024"):
                flipside.set_threads(wrong)
    finally:
        monkeypatch.undo()
        flipside.set_threads(None)
