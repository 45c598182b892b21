"""Kept games in PyTorch's DataLoader; skipped without PyTorch."""

import os

import numpy as np
import pytest

import flipside

torch = pytest.importorskip("torch")
from torch.utils.data import DataLoader  # noqa: E402

from flipside.torch import GamesDataset, _turns, tensors  # noqa: E402


def keys(batches):
    return [key for batch in batches for key in zip(batch["game"].tolist(), batch["ply"].tolist())]


def boards_and_labels(batch):
    return torch.from_numpy(flipside.features(batch, "classic")), torch.from_numpy(batch["label"].copy())


@pytest.mark.parametrize("method", [None, *(["fork"] if hasattr(os, "fork") else []), "spawn"])
def test_workers_share_the_games(games_file, method):
    games = flipside.games(games_file, shuffle=2, batch=300)
    # The parent has worked before its workers begin.
    whole = keys(games)
    arguments = {} if method is None else dict(num_workers=2, multiprocessing_context=method)
    batches = list(DataLoader(GamesDataset(games), batch_size=None, **arguments))
    assert sorted(keys(batches)) == sorted(whole) and batches[0]["label"].dtype == torch.float32
    # The shares differ: the last batches come from one worker alone.
    for start in (3, len(batches) - 2, len(batches) + 1):
        rest = list(DataLoader(GamesDataset(games, start=start), batch_size=None, **arguments))
        assert keys(rest) == keys(batches[start:])
    slots, labels = next(iter(DataLoader(GamesDataset(games, boards_and_labels), batch_size=None, **arguments)))
    assert slots.shape[0] == labels.shape[0] == 300


def test_fields_are_tensors(games_file):
    batch = next(iter(flipside.games(games_file)))
    for name, tensor in tensors(batch).items():
        assert (tensor.numpy() == batch[name]).all()
    # Fields are aligned, so that they can be tensors without a copy.
    assert np.shares_memory(torch.from_numpy(batch["label"]).numpy(), batch)


def in_turn(batches):
    """What a loader takes from shards with so many batches: shard and number of batch."""
    rounds = range(max(batches))
    return [(shard, at) for at in rounds for shard, number in enumerate(batches) if at < number]


@pytest.mark.parametrize("batches", [[4], [3, 3], [5, 2], [2, 5, 5, 1], [0, 3, 0, 4]])
def test_a_loader_goes_on_in_turn(batches):
    order = in_turn(batches)
    for start in range(len(order) + 2):
        turns = _turns(batches, start)
        assert sorted(shard for shard, _ in turns) == list(range(len(batches)))
        left = in_turn([batches[shard] - given for shard, given in turns])
        assert [(turns[worker][0], turns[worker][1] + at) for worker, at in left] == order[start:]


def threads_of_worker(_):
    return flipside.threads()


def test_workers_share_the_threads_that_were_allowed(games_file):
    games = flipside.games(games_file, batch=1000)
    try:
        for allowed, expected in ((6, 3), (1, 1)):
            flipside.set_threads(allowed)
            loader = DataLoader(GamesDataset(games, threads_of_worker), batch_size=None, num_workers=2)
            assert set(loader) == {expected}
    finally:
        flipside.set_threads(None)


def test_a_start_is_a_number_of_batches(games_file):
    for wrong in (-1, 0.5, "1"):
        with pytest.raises(ValueError, match="start"):
            GamesDataset(flipside.games(games_file), start=wrong)
    with pytest.raises(ValueError, match="offset"):
        GamesDataset(flipside.games(games_file, start=300))
