"""Trains a pattern evaluation in PyTorch on the games of a run, and writes weights that flipside plays with.

    python3 examples/train_torch.py RUN -o mine.fsw [--set classic] [--epochs 3] [--network network.npz]

The linear model is the one that `flipside fit RUN --patterns SET` learns. The losses are on the games that `fit` holds out, so they can be
compared with what it prints. --network then adds a small network over the same features, of the kind that flipside plays with:

    flipside import --from npz --patterns classic network.npz -o network.fsw
"""

import argparse
import time

import numpy as np
import torch
from torch import nn

import flipside

PLIES_PER_STAGE = 4
STAGES = (60 - np.arange(61, dtype=np.uint8)) // PLIES_PER_STAGE


class Linear(nn.Module):
    """One weight for each stage and slot. (An Embedding that is added up takes a third of an EmbeddingBag's time to train on a CPU.)"""

    def __init__(self, slots):
        super().__init__()
        self.slots = slots
        self.weights = nn.Embedding((int(STAGES.max()) + 1) * slots, 1)
        nn.init.zeros_(self.weights.weight)

    def forward(self, features, stage):
        return self.weights(features + self.slots * stage[:, None]).sum(1)[:, 0]


class Network(nn.Module):
    """The linear model, and what some units (flipside has 14) see in the same features, weighed by stage."""

    def __init__(self, linear, units=14):
        super().__init__()
        self.linear = linear.requires_grad_(False)
        self.units = nn.Embedding(linear.slots, units)
        self.bias = nn.Embedding(int(STAGES.max()) + 1, units)
        self.output = nn.Embedding(int(STAGES.max()) + 1, units)
        nn.init.normal_(self.units.weight, std=0.05)
        nn.init.zeros_(self.bias.weight)
        nn.init.zeros_(self.output.weight)

    def forward(self, features, stage):
        active = torch.clamp(self.units(features).sum(1) + self.bias(stage), 0, 1)
        return self.linear(features, stage) + (active * self.output(stage)).sum(1)


def inputs(batch, patterns):
    """Features, stage, label and number of empty squares of a batch, as tensors."""
    empties = 60 - batch["ply"].astype(np.int64)
    stage = torch.from_numpy(STAGES[empties].astype(np.int64))
    return torch.from_numpy(flipside.features(batch, patterns)).long(), stage, torch.from_numpy(batch["label"].copy()), empties


@torch.no_grad()
def losses(model, games, patterns):
    """Root mean square error in discs, in all and by empties, as `flipside fit` prints it."""
    squared, count = np.zeros(61), np.zeros(61)
    for batch in games:
        features, stage, label, empties = inputs(batch, patterns)
        squared += np.bincount(empties, ((model(features, stage) - label) ** 2).numpy(), 61)
        count += np.bincount(empties, minlength=61)
    by_empties = "  ".join(f"{at}: {np.sqrt(squared[at] / max(count[at], 1)):.2f}" for at in (10, 20, 30, 40, 50))
    return f"{np.sqrt(squared.sum() / count.sum()):.3f}  (by empties {by_empties})"


def train(model, rate, games, held_out, patterns, epochs):
    optimizer = torch.optim.Adam([parameter for parameter in model.parameters() if parameter.requires_grad], lr=rate, fused=True)
    steps = epochs * len(games)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: max(0.01, 1 - step / steps))
    for epoch in range(epochs):
        begun, total = time.monotonic(), 0.0
        for batch in games.shuffled(epoch):
            features, stage, label, _ = inputs(batch, patterns)
            loss = ((model(features, stage) - label) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item()
        seconds, loss = time.monotonic() - begun, (total / len(games)) ** 0.5
        print(f"epoch {epoch + 1}: loss {loss:.3f}, on held-out games {losses(model, held_out, patterns)}, {seconds:.0f} s", flush=True)


def save_network(path, network, patterns):
    """Writes the arrays of an open layout (docs/FILES.md): whole numbers, in 1/128 disc or in 1/256 of a unit."""

    def whole(weights, scale, most):
        return (weights.detach().numpy() * scale).round().clip(-most, most)

    weights = whole(network.linear.weights.weight, 128, 32639).reshape(-1, patterns.slots)[:, patterns.canonical]
    rows = whole(network.units.weight, 256, 127)[patterns.canonical]
    arrays = {"scale": np.uint16(128), "stage_of_empties": STAGES, "hidden.rows_of_stage": np.zeros(len(weights), np.uint8)}
    arrays["hidden.bias"] = whole(network.bias.weight, 256, 16384).astype(np.int16)
    arrays["hidden.output"] = whole(network.output.weight, 128, 32767).astype(np.int16)
    for name, first, slots in patterns.tables:
        arrays[f"{name}.weights"] = weights[:, first : first + slots].astype(np.int16)
        arrays[f"{name}.rows"] = rows[None, first : first + slots].astype(np.int8)
    np.savez_compressed(path, **arrays)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("run", nargs="+", help="runs, or files of kept games")
    arguments.add_argument("-o", "--output", required=True, help="the weight file to write")
    arguments.add_argument("--set", default="classic", help="a pattern set's name, or its TOML file")
    arguments.add_argument("--epochs", type=int, default=3)
    arguments.add_argument("--network", metavar="NPZ", help="train a network too, and write it to this archive")
    arguments = arguments.parse_args()

    patterns = flipside.PatternSet(arguments.set)
    games, held_out = (flipside.games(arguments.run, part=part, batch=8192) for part in ("learned", "held-out"))
    print(f"{games.positions} positions to learn, {held_out.positions} held out, {patterns}")
    linear = Linear(patterns.slots)
    train(linear, 0.1, games, held_out, patterns, arguments.epochs)
    flipside.save(arguments.output, patterns, linear.weights.weight.detach().numpy().reshape(-1, patterns.slots), STAGES)
    print(arguments.output)
    if arguments.network:
        network = Network(linear)
        train(network, 0.02, games, held_out, patterns, arguments.epochs)
        save_network(arguments.network, network, patterns)
        print(arguments.network)


if __name__ == "__main__":
    main()
