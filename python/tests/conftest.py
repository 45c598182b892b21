import random

import pytest

from othello import Kept, write_games


@pytest.fixture(scope="session")
def kept():
    """Games as flipside keeps them."""
    chance = random.Random(58)
    return [Kept(chance) for _ in range(90)]


@pytest.fixture(scope="session")
def games_file(kept, tmp_path_factory):
    """A file with these games."""
    path = tmp_path_factory.mktemp("games") / "00000007.fsg"
    write_games(path, kept, generation=7)
    return path
