"""Kept games for PyTorch's DataLoader. Needs PyTorch."""

import os

import numpy as np
import torch
from torch.utils.data import IterableDataset, get_worker_info

from . import set_threads

__all__ = ["GamesDataset", "tensors"]


def tensors(batch):
    """A batch's fields as tensors: a dict from the fields' names to tensors of shape (batch,)."""
    return {name: torch.from_numpy(np.ascontiguousarray(batch[name])) for name in batch.dtype.names}


class GamesDataset(IterableDataset):
    """Batches of `games`, shared among the loader's workers: `DataLoader(GamesDataset(...), batch_size=None, num_workers=2)`.

    Each worker takes a shard of the games and its share of the processor's cores. What `transform` makes of a batch (a structured array, see
    `flipside.games`) is what the loader gives; by default a dict of tensors. `start` is the number of batches that a loader with as many
    workers has given before: it goes on after them. For an epoch in a new order, make a new dataset of `games.shuffled(epoch)`.
    """

    def __init__(self, games, transform=tensors, start=0):
        super().__init__()
        self.games, self.transform, self.start = games, transform, start

    def __iter__(self):
        worker = get_worker_info()
        index, number = (worker.id, worker.num_workers) if worker else (0, 1)
        if worker:
            set_threads(max(1, (os.cpu_count() or 1) // number))
        # The loader takes a batch from each worker in turn, beginning with the first.
        index = (index + self.start) % number
        before = (self.start - index + number - 1) // number
        shard = self.games.shard(index, number)
        return map(self.transform, shard.starting_at(before * shard.batch))
