"""Kept games as batches, and features, against Python's own reading of the rules and formats."""

import pathlib
import pickle
import shutil
import subprocess

import numpy as np
import pytest

import flipside
from othello import some_boards, write_games

NAMES = ["player", "opponent", "label", "search", "result", "ply", "kind", "move"]


def whole(*path, **arguments):
    return np.concatenate(list(flipside.games(*path, **arguments)))


def in_order(batch):
    return np.sort(batch, order=["game", "ply"])


def test_positions_are_those_of_the_games(kept, games_file):
    for lam in (0.0, 0.6, 1.0):
        found = whole(games_file, lambda_=lam)
        expected = [(number, *row) for number, game in enumerate(kept) for row in game.positions(lam)]
        assert len(found) == len(expected)
        for row, (number, *values) in zip(found, expected):
            named = dict(zip(NAMES, values))
            assert row["game"] == number
            # Labels are rounded to 1/128 disc.
            assert row["label"] == pytest.approx(named.pop("label"), abs=0.51 / 128)
            assert all(row[name] == value for name, value in named.items())
    assert (whole(games_file, label="search")["label"] == found["search"]).all()
    assert (whole(games_file, label="result")["label"] == found["result"]).all()


def test_fields_are_aligned_and_boards(games_file):
    batch = next(iter(flipside.games(games_file, batch=100)))
    assert batch.dtype.itemsize == 32 and batch.dtype.names[:4] == ("player", "opponent", "label", "search")
    for name in batch.dtype.names:
        offset, itemsize = batch.dtype.fields[name][1], batch.dtype[name].itemsize
        assert offset % itemsize == 0 and batch.strides[0] % itemsize == 0
    values = flipside.load().evaluate(batch)
    assert (values == flipside.load().evaluate(np.stack([batch["player"], batch["opponent"]], 1))).all()


def test_batches_are_full_but_the_last(games_file):
    games = flipside.games(games_file, batch=1000)
    sizes = [len(batch) for batch in games]
    assert len(games) == len(sizes) and sum(sizes) == games.positions
    assert set(sizes[:-1]) == {1000} and sizes[-1] == games.positions % 1000


def test_a_seed_gives_an_order(games_file):
    plain = whole(games_file)
    for seed in (0, 1, 2**64 - 1):
        shuffled = whole(games_file, shuffle=seed)
        assert (shuffled == whole(games_file, shuffle=seed, batch=77)).all()
        assert (in_order(shuffled) == plain).all() and (shuffled != plain).any()
    assert (whole(games_file, shuffle=1) != whole(games_file, shuffle=2)).any()
    again = np.concatenate(list(flipside.games(games_file).shuffled(2)))
    assert (again == whole(games_file, shuffle=2)).all()
    number = flipside.threads()
    flipside.set_threads(1)
    assert (again == whole(games_file, shuffle=2)).all()
    flipside.set_threads(number)
    flipside.set_threads(None)


def test_an_iteration_goes_on_at_an_offset(games_file):
    games = flipside.games(games_file, batch=500, shuffle=4)
    batches = iter(games)
    first = [next(batches) for _ in range(3)]
    assert batches.offset == 1500
    rest = np.concatenate(list(flipside.games(games_file, batch=64, shuffle=4, start=batches.offset)))
    assert (np.concatenate([*first, rest]) == np.concatenate(list(games))).all()
    assert list(games.starting_at(games.positions)) == [] == list(games.starting_at(2**63))


def test_shards_are_all(games_file):
    plain = whole(games_file)
    for number in (1, 2, 5):
        shards = [whole(games_file, shuffle=9, shard=(index, number)) for index in range(min(number, 3))]
        assert (in_order(np.concatenate(shards)) == plain).all()
    games = flipside.games(games_file, shuffle=9, shard=(1, 2))
    parts = [batch for index in range(2) for batch in games.shard(index, 2)]
    assert (in_order(np.concatenate(parts)) == in_order(np.concatenate(list(games)))).all()
    # More shards than frames: some are empty.
    assert list(flipside.games(games_file, shard=(4, 5))) == []


def test_games_held_out_are_those_of_a_fit(kept, games_file):
    # As flipside fit does: by the generation and the number of the game in it.
    base = 7 * 0x9E3779B97F4A7C15 % 2**64 >> 32
    expected = {number for number in range(len(kept)) if (base + number) % 10 == 9}
    held_out, learned = (whole(games_file, part=part, hold_out=10) for part in ("held-out", "learned"))
    assert set(held_out["game"]) == expected and len(expected) in (9, 10)
    assert (in_order(np.concatenate([held_out, learned])) == whole(games_file)).all()


def test_pickled_games_are_the_same(kept, games_file, tmp_path):
    copy = tmp_path / "copy.fsg"
    shutil.copy(games_file, copy)
    games = flipside.games([copy], shuffle=5, batch=300, shard=(0, 2), start=10, part="learned", label="search")
    expected = np.concatenate(list(games))
    data = pickle.dumps(games)
    # What has been appended since does not count.
    with open(copy, "ab") as file:
        file.write(b"FSGB")
    assert (np.concatenate(list(pickle.loads(data))) == expected).all()


def test_a_run_is_its_files_in_order(kept, tmp_path):
    (tmp_path / "run" / "games").mkdir(parents=True)
    for generation in (1, 0):
        write_games(tmp_path / "run" / "games" / f"{generation:08}.fsg", kept[45 * generation :][:45], generation)
    found = whole(tmp_path / "run")
    assert set(found["game"]) == set(range(90))
    expected = [row[0] for game in kept for row in game.positions(0)]
    assert found["player"].tolist() == expected
    assert (whole([str(tmp_path / "run"), tmp_path / "run" / "games" / "00000000.fsg"]) == found).all()


@pytest.fixture
def program():
    path = pathlib.Path(__file__).parents[2] / "target" / "release" / "flipside"
    return path if path.exists() else pytest.skip("target/release/flipside is not built")


def test_the_games_of_a_run_that_is_continued_come_first(program, tmp_path):
    options = ["train", "--config", pathlib.Path(__file__).parents[2] / "tests" / "miniature.toml", "--generations", "1", "--run"]
    old, new = tmp_path / "old", tmp_path / "new"
    subprocess.run([program, *options, old], check=True, capture_output=True)
    subprocess.run([program, *options, new, "--continue", old], check=True, capture_output=True)
    games, own = (sorted(run.glob("games/*.fsg")) for run in (old, new))
    assert flipside.games(new).files == games + own
    assert (whole(new) == whole(games + own)).all() and (whole([old, new]) == whole(new)).all()
    old.rename(tmp_path / "elsewhere")
    with pytest.warns(RuntimeWarning, match="new` continues `.*old`, which is not there"):
        assert flipside.games(new).files == own


def test_bad_files_are_exceptions(kept, games_file, tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        flipside.games(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match="no kept games"):
        flipside.games(tmp_path)
    good = games_file.read_bytes()
    bad = tmp_path / "bad.fsg"
    bad.write_bytes(good[:5000] + bytes([good[5000] ^ 1]) + good[5001:])
    with pytest.raises(ValueError, match="bad.fsg.*damaged"):
        flipside.games(bad)
    bad.write_bytes(good[:-3])
    with pytest.warns(RuntimeWarning, match="bad.fsg.*ends within a frame"):
        cut = whole(bad)
    assert set(cut["game"]) == set(range(64))
    bad.write_bytes(bytes(range(100)))
    with pytest.raises(ValueError, match="bad.fsg"):
        flipside.games(bad)
    # A crash at the beginning of a generation leaves no games.
    for nothing in (b"", good[:20], good[:40]):
        bad.write_bytes(nothing)
        with pytest.raises(FileNotFoundError, match="bad.fsg: there is no kept game"):
            flipside.games(bad)
    wrong = [
        dict(label="best"),
        dict(lambda_=1.5),
        dict(lambda_=float("nan")),
        dict(batch=0),
        dict(batch=2**40),
        dict(part="some"),
        dict(shard=(2, 2)),
        dict(shard=(-1, 2)),
    ]
    for arguments in wrong:
        with pytest.raises(ValueError):
            flipside.games(games_file, **arguments)
    with pytest.raises(TypeError):
        flipside.games(7)


def test_damage_that_comes_later_is_an_exception_and_not_the_end(games_file, tmp_path):
    copy = tmp_path / "copy.fsg"
    shutil.copy(games_file, copy)
    batches = iter(flipside.games(copy, batch=100))
    copy.write_bytes(copy.read_bytes()[:3000])
    for _ in range(2):
        with pytest.raises(ValueError, match="copy.fsg"):
            next(batches)
    shutil.copy(games_file, copy)
    assert (np.concatenate(list(batches)) == whole(games_file)).all()


@pytest.mark.parametrize("name", ["classic", "edax", "night"])
def test_weights_at_the_features_add_up_to_the_value(name, tmp_path):
    chosen = flipside.PatternSet(name)
    boards = np.concatenate([some_boards(empties, 4) for empties in (50, 33, 20, 9)])
    slots = flipside.features(boards, name)
    assert slots.dtype == np.int32 and slots.shape == (len(boards), chosen.features)
    assert (chosen.canonical[slots] == slots).all() and slots.min() >= 0 and slots.max() < chosen.slots
    stages = np.array([(60 - empties) // 20 for empties in range(60)] + [0], np.uint8)
    stages = np.array([0 if empties > 30 else 1 for empties in range(61)], np.uint8)
    chance = np.random.default_rng(1)
    table = chance.integers(-128, 129, (2, chosen.slots)).astype(np.float32) / 128
    path = tmp_path / "mine.fsw"
    flipside.save(path, chosen, table, stages)
    weights = flipside.load(path)
    empties = [64 - bin(int(own) | int(other)).count("1") for own, other in boards]
    sums = table[stages[empties][:, None], slots].sum(1)
    assert weights.evaluate(boards).tolist() == np.clip(sums, -64, 64).tolist()
    # And back: the table of the weights has every slot.
    assert (weights.table() == table[:, chosen.canonical]).all()
    assert (weights.stage_of_empties == stages).all() and weights.pattern_set.tables == chosen.tables
    again = tmp_path / "again.fsw"
    flipside.save(again, pickle.loads(pickle.dumps(weights.pattern_set)), weights.table(), weights.stage_of_empties)
    assert flipside.load(again).hash == weights.hash


def test_tables_are_those_of_an_exported_archive(program, tmp_path):
    path, archive = tmp_path / "mine.fsw", tmp_path / "mine.npz"
    chosen = flipside.PatternSet("classic")
    table = np.random.default_rng(2).integers(-128, 129, (1, chosen.slots)).astype(np.float32) / 128
    flipside.save(path, chosen, table, np.zeros(61, np.uint8))
    subprocess.run([program, "export", path, "--to", "npz", "-o", archive], check=True, capture_output=True)
    arrays = np.load(archive)
    joined = np.concatenate([arrays[f"{name}.weights"] for name, _, _ in chosen.tables], 1) / arrays["scale"]
    boards = some_boards(30, 10)
    assert joined.shape == (1, chosen.slots)
    sums = joined[0, flipside.features(boards, chosen)].sum(1)
    assert flipside.load(path).evaluate(boards).tolist() == np.clip(sums, -64, 64).tolist()


def test_weights_that_cannot_be_are_exceptions(tmp_path):
    chosen, stages = flipside.PatternSet("classic"), np.zeros(61, np.uint8)
    table = np.zeros((1, chosen.slots), np.float32)
    path = tmp_path / "mine.fsw"
    for value in (np.nan, np.inf, 300, -300):
        table[0, 5] = value
        with pytest.raises(ValueError, match="slot 5"):
            flipside.save(path, chosen, table, stages)
    table[0, 5] = 0
    with pytest.raises(ValueError, match="shape"):
        flipside.save(path, chosen, table[:, 1:], stages)
    with pytest.raises(ValueError, match="stages"):
        flipside.save(path, chosen, table, stages[1:])
    with pytest.raises(TypeError, match="float32"):
        flipside.save(path, chosen, table.astype(int), stages)
    with pytest.raises(OSError, match="nowhere"):
        flipside.save(tmp_path / "nowhere" / "mine.fsw", chosen, table, stages)
    assert not path.exists()
    with pytest.raises(ValueError, match="classic"):
        flipside.features(some_boards(30), "clasic")
    with pytest.raises(TypeError, match="PatternSet"):
        flipside.PatternSet(7)
