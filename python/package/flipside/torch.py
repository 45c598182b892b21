"""Kept games for PyTorch's DataLoader. Needs PyTorch."""

import numpy as np
import torch
from torch.utils.data import IterableDataset, get_worker_info

from . import set_threads, threads

__all__ = ["GamesDataset", "tensors"]


def tensors(batch):
    """A batch's fields as tensors: a dict from the fields' names to tensors of shape (batch,)."""
    return {name: torch.from_numpy(np.ascontiguousarray(batch[name])) for name in batch.dtype.names}


class GamesDataset(IterableDataset):
    """Batches of `games`, shared among the loader's workers: `DataLoader(GamesDataset(...), batch_size=None, num_workers=2)`.

    Each worker takes a shard of the games and its share of the threads that the process which made the dataset may use. What `transform` makes
    of a batch (a structured array, see `flipside.games`) is what the loader gives; by default a dict of tensors. `start` is the number of
    batches that a loader with as many workers has given before: it goes on after them. For an epoch in a new order, make a new dataset of
    `games.shuffled(epoch)`. Raises ValueError for another `start`, and for games that begin at an offset.
    """

    def __init__(self, games, transform=tensors, start=0):
        super().__init__()
        if not (isinstance(start, int) and start >= 0):
            raise ValueError(f"start is a number of batches, not {start!r}")
        if iter(games).offset:
            raise ValueError("these games begin at an offset: give all games, and the number of batches to leave out as `start`")
        self.games, self.transform, self.start = games, transform, start
        self.threads = threads()

    def __iter__(self):
        worker = get_worker_info()
        index, number = (worker.id, worker.num_workers) if worker else (0, 1)
        if worker:
            set_threads(max(1, self.threads // number))
        before = 0
        if self.start:
            batches = [len(self.games.shard(index, number)) for index in range(number)]
            index, before = _turns(batches, self.start)[index]
        shard = self.games.shard(index, number)
        return map(self.transform, shard.starting_at(before * shard.batch))


def _turns(batches, start):
    """Which shard each worker goes on with and how many of its batches were given, after `start` batches of shards with so many in all.

    The loader takes a batch from each worker in turn, beginning with the first, and passes over those that have no more.
    """
    given, left = [0] * len(batches), start
    while left and (more := [shard for shard, number in enumerate(batches) if given[shard] < number]):
        # As many whole rounds as these shards last, or one that is cut short.
        rounds = min(left // len(more), *(batches[shard] - given[shard] for shard in more))
        for shard in more if rounds else more[:left]:
            given[shard] += rounds or 1
            left -= rounds or 1
    return sorted(enumerate(given), key=lambda turn: (turn[1] == batches[turn[0]], turn[1], turn[0]))
