"""Othello's rules, searches and files of kept games, independent of flipside."""

import hashlib
import random
import struct
import zlib

import numpy as np

START = "---------------------------OX------XO--------------------------- X"
DIRECTIONS = [(dx, dy) for dx in (-1, 0, 1) for dy in (-1, 0, 1) if (dx, dy) != (0, 0)]


def flips(own, other, square):
    """The discs a move flips."""
    turned = 0
    for dx, dy in DIRECTIONS:
        x, y, line = square % 8 + dx, square // 8 + dy, 0
        while 0 <= x < 8 and 0 <= y < 8 and other >> (x + 8 * y) & 1:
            line |= 1 << (x + 8 * y)
            x, y = x + dx, y + dy
        if 0 <= x < 8 and 0 <= y < 8 and own >> (x + 8 * y) & 1:
            turned |= line
    return turned


def moves(own, other):
    """Legal moves, each with the discs it flips."""
    empty = (square for square in range(64) if not (own | other) >> square & 1)
    found = ((square, flips(own, other, square)) for square in empty)
    return [(square, turned) for square, turned in found if turned]


def some_boards(empties, count=3):
    """Positions of random games in which the player to move has a move."""
    chance, found = random.Random(empties), []
    while len(found) < count:
        own, other = 1 << 28 | 1 << 35, 1 << 27 | 1 << 36
        while legal := moves(own, other) or moves(other, own):
            if not moves(own, other):
                own, other = other, own
            if 64 - bin(own | other).count("1") == empties:
                found.append([own, other])
                break
            square, turned = chance.choice(legal)
            own, other = other ^ turned, own | turned | 1 << square
    return np.array(found, dtype=np.uint64)


def negamax(own, other, depth, leaf, alpha=-100.0, beta=100.0):
    """The value of a search to a depth, counting plies as flipside does: a pass is none."""
    legal = moves(own, other)
    if not legal:
        if moves(other, own):
            return -negamax(other, own, depth, leaf, -beta, -alpha)
        difference = bin(own).count("1") - bin(other).count("1")
        empties = 64 - bin(own | other).count("1")
        return difference + (empties if difference > 0 else -empties if difference < 0 else 0)
    if depth == 0:
        return leaf(own, other)
    for square, turned in legal:
        child = -negamax(other ^ turned, own | turned | 1 << square, depth - 1, leaf, -beta, -alpha)
        alpha = max(alpha, child)
        if alpha >= beta:
            break
    return alpha


def random_game(chance):
    """A game as a list of (own, other, square), one for each move, and the difference of discs for black at its end."""
    own, other, black, played = 1 << 28 | 1 << 35, 1 << 27 | 1 << 36, True, []
    while True:
        legal = moves(own, other)
        if not legal:
            if not moves(other, own):
                result = negamax(own, other, 0, None)
                return played, result if black else -result
            own, other, black = other, own, not black
            continue
        square, turned = chance.choice(legal)
        played.append((own, other, square, black))
        own, other, black = other ^ turned, own | turned | 1 << square, not black


class Kept:
    """A game as flipside keeps it: random values and kinds for the plies after a random number of first ones."""

    def __init__(self, chance):
        self.played, self.result = random_game(chance)
        self.opening = chance.randrange(10)
        plies = len(self.played) - self.opening
        self.values = [chance.randrange(-8192, 8193) for _ in range(plies)]
        self.kinds = [chance.choice([0, 0, 0, 1, 2]) for _ in range(plies)]

    def positions(self, lam):
        """What flipside.games gives: player, opponent, label, search, result, ply, kind, move. Values are in 1/128 disc."""
        found, ahead, ahead_black = [], self.result * 128.0, True
        for i in reversed(range(len(self.values))):
            own, other, square, black = self.played[self.opening + i]
            value, kind = self.values[i], self.kinds[i]
            following = ahead if black == ahead_black else -ahead
            label = (1 - lam) * value + lam * following if kind == 0 else value
            ahead, ahead_black = label, black
            result = self.result if black else -self.result
            found.append((own, other, label / 128, value / 128, result, self.opening + i, kind, square))
        return found[::-1]


def write_games(path, games, generation=0):
    """Writes a file of kept games, as docs/FILES.md describes it."""
    header = b"\x89FSG\r\n\x1a\n" + struct.pack("<II", 1, generation) + bytes(16)
    with open(path, "wb") as file:
        file.write(header + hashlib.sha256(header).digest()[:8])
        for first in range(0, len(games), 32):
            block = packed(games[first : first + 32])
            frame = b"FSGB" + struct.pack("<III", first, len(games[first : first + 32]), len(block)) + block
            file.write(frame + hashlib.sha256(frame).digest()[:8])


def packed(games):
    differences = []
    for game in games:
        before = 0
        for i, value in enumerate(game.values):
            value = value if i % 2 == 0 else -value
            step = (value - before + 0x8000) % 0x10000 - 0x8000
            differences.append((step << 1 ^ step >> 15) & 0xFFFF)
            before = value
    columns = [
        [len(game.played) for game in games],
        [len(game.values) for game in games],
        [ply[2] for game in games for ply in game.played],
        [kind for game in games for kind in game.kinds],
        [difference & 255 for difference in differences],
        [difference >> 8 for difference in differences],
        [0] * len(differences),
    ]
    deflate = zlib.compressobj(6, zlib.DEFLATED, -15)
    return deflate.compress(bytes(sum(columns, []))) + deflate.flush()
