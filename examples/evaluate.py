"""Evaluates positions with weights exported to a NumPy archive.

    flipside export --to npz weights.fsw -o weights.npz
    python3 examples/evaluate.py weights.npz < positions.txt

A position is 64 characters (X black, O white, - or . empty), a space, and the side to move. Empty lines and those that begin with
# or % are skipped. The answer is in discs for that side, one number per line. Written to be read, not to be fast.
"""

import sys

RAYS = [(1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1)]


def square(number, step, steps):
    """The square `steps` steps away, or None beyond the board."""
    column, row = number % 8 + step[0] * steps, number // 8 + step[1] * steps
    return 8 * row + column if 0 <= column < 8 and 0 <= row < 8 else None


CORNERS = {0, 7, 56, 63}


def moves(player, opponent):
    """The squares the player may move to."""

    def turns(start, step):
        n = 1
        while square(start, step, n) in opponent:
            n += 1
        return n > 1 and square(start, step, n) in player

    empty = set(range(64)) - player - opponent
    return {start for start in empty if any(turns(start, step) for step in RAYS)}


def potential_mobility(discs, empty):
    """Pairs of an empty square and a neighbouring disc with a square behind it, on lines of four squares or more; halved."""
    pairs = 0
    for disc in discs:
        for step in RAYS[:4]:
            length = sum(square(disc, step, n) is not None for n in range(-7, 8))
            ahead, behind = square(disc, step, 1), square(disc, step, -1)
            if length >= 4 and ahead is not None and behind is not None:
                pairs += (ahead in empty) + (behind in empty)
    return min(pairs // 2, 63)


def odd_quadrants(empty):
    """Quarters of the board with an odd number of empty squares."""
    quarters = [(s % 8 // 4, s // 32) for s in empty]
    return sum(quarters.count(quarter) % 2 for quarter in set(quarters))


SCALARS = {
    "constant": lambda player, opponent, empty: 0,
    "parity": lambda player, opponent, empty: len(empty) % 2,
    "mobility": lambda player, opponent, empty: len(moves(player, opponent)),
    "opponent-mobility": lambda player, opponent, empty: len(moves(opponent, player)),
    "potential-mobility": lambda player, opponent, empty: potential_mobility(opponent, empty),
    "opponent-potential-mobility": lambda player, opponent, empty: potential_mobility(player, empty),
    "player-discs": lambda player, opponent, empty: len(player),
    "corner-moves": lambda player, opponent, empty: (
        5 * len(moves(player, opponent) & CORNERS) + len(moves(opponent, player) & CORNERS)
    ),
    "odd-quadrants": lambda player, opponent, empty: odd_quadrants(empty),
}


def configuration(place, player, opponent):
    """The number of the configuration at a place of a pattern."""
    digits = [2 if s in player else 0 if s in opponent else 1 for s in map(int, place)]
    return sum(digit * 3**i for i, digit in enumerate(digits))


def evaluate(arrays, player, opponent):
    """The value in discs for the player to move, from the sets of the player's and the opponent's squares.

    A player without a move passes: the value is the opponent's, negated. If neither has a move, it is the result.
    """
    empty = set(range(64)) - player - opponent
    if not moves(player, opponent):
        if moves(opponent, player):
            return -evaluate(arrays, opponent, player)
        lead = len(player) - len(opponent)
        return lead + (lead > 0) * len(empty) - (lead < 0) * len(empty)
    stage = int(arrays["stage_of_empties"][min(len(empty), 60)])
    total = 0
    sums = [int(bias) for bias in arrays["hidden.bias"][stage]] if "hidden.bias" in arrays else []
    for name in arrays:
        if not name.endswith(".weights"):
            continue
        feature = name.removesuffix(".weights")
        kind, _, scalar = feature.partition(".")
        if kind == "scalar":
            shown = [SCALARS[scalar](player, opponent, empty)]
        else:
            shown = [configuration(place, player, opponent) for place in arrays[f"{feature}.places"]]
        total += sum(int(arrays[name][stage][number]) for number in shown)
        if f"{feature}.rows" in arrays:
            rows = arrays[f"{feature}.rows"][arrays["hidden.rows_of_stage"][stage]]
            for number in shown:
                sums = [added + int(more) for added, more in zip(sums, rows[number])]
    if sums:
        outputs = map(int, arrays["hidden.output"][stage])
        worth = sum(max(0, min(256, added)) * output for added, output in zip(sums, outputs))
        total += (worth + 128) // 256
    return max(-64.0, min(64.0, total / int(arrays["scale"])))


def position(line):
    """The sets of the player's and the opponent's squares. What follows the side to move, like scored moves, is ignored."""
    board, side = line[:64].upper(), line[65:66].upper()
    if len(board) < 64 or set(board) - set("XO-.") or line[64:65] != " " or side not in ("X", "O"):
        sys.exit(f"not a position: {line}")
    discs = {colour: {s for s in range(64) if board[s] == colour} for colour in "XO"}
    return discs[side], discs["O" if side == "X" else "X"]


def answer(arrays, lines):
    """Prints the value of each position."""
    for line in map(str.strip, lines):
        if line and not line.startswith(("#", "%")):
            print(f"{evaluate(arrays, *position(line)):.4f}")


if __name__ == "__main__":
    import numpy

    with numpy.load(sys.argv[1], allow_pickle=False) as archive:
        answer({name: archive[name] for name in archive.files}, sys.stdin)
