"""Kept games in PyTorch's DataLoader; skipped without PyTorch."""

import os

import numpy as np
import pytest

import flipside

torch = pytest.importorskip("torch")
from torch.utils.data import DataLoader  # noqa: E402

from flipside.torch import GamesDataset, tensors  # noqa: E402


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
    rest = list(DataLoader(GamesDataset(games, start=3), batch_size=None, **arguments))
    assert keys(rest) == keys(batches[3:])
    slots, labels = next(iter(DataLoader(GamesDataset(games, boards_and_labels), batch_size=None, **arguments)))
    assert slots.shape[0] == labels.shape[0] == 300


def test_fields_are_tensors(games_file):
    batch = next(iter(flipside.games(games_file)))
    for name, tensor in tensors(batch).items():
        assert (tensor.numpy() == batch[name]).all()
    # Fields are aligned, so that they can be tensors without a copy.
    assert np.shares_memory(torch.from_numpy(batch["label"]).numpy(), batch)
