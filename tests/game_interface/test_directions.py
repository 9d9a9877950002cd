"""Tests of directions in a story that knows diagonals only as "ne", "nw", "se" and "sw"."""

import pytest

from game_interface.core.grammar import word_addresses
from game_interface.core.jericho_interface import JerichoInterface
from game_interface.core.zmachine import ZMachine
from game_interface.models import spelled_direction
from tests.fixtures import own_stories
from zorkgpt.action_check import check_action
from zorkgpt.offline.nouns import Nouns

_CHECKSUM, _HEADER_BYTES = 28, 64


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    """Start a story in whose dictionary "northeast" is misspelled "northeasz"."""
    data = bytearray(own_stories.compiled("menu").read_bytes())
    (address,) = (at for at, word in word_addresses(ZMachine(bytes(data))).items() if word == "northeast")
    data[address + 4 : address + 6] = b"\x9b\x1f"
    length = int.from_bytes(data[26:28], "big") * 4
    data[_CHECKSUM : _CHECKSUM + 2] = (sum(data[_HEADER_BYTES:length]) & 0xFFFF).to_bytes(2, "big")
    path = tmp_path_factory.mktemp("story") / "short.z5"
    path.write_bytes(data)
    with JerichoInterface(path) as game:
        yield game


@pytest.fixture
def game(started):
    started.reset()
    return started


@pytest.mark.parametrize("action", ["northeast", "ne", "go northeast", "Northeast"])
def test_direction_is_spelled_as_in_the_dictionary(game, action):
    assert "northeast" not in game.language.words
    assert game.act(action).after.location.name == "Loft"


def test_misspelled_exit_is_offered_and_accepted(game):
    nouns = Nouns(game.language.words, game.language)
    assert nouns.known(spelled_direction("northeast", nouns.known))
    assert check_action("northeast", game.language, game.scene()).valid


@pytest.mark.parametrize(
    ("words", "word", "spelled"),
    [
        ({"ne"}, "northeast", "ne"),
        ({"northe"}, "northeast", "northeast"),
        ({"northe"}, "ne", "northeast"),
        (set(), "northeast", "northeast"),
        ({"lamp"}, "lamp", "lamp"),
    ],
)
def test_spelling_in_a_dictionary_of_six_letters(words, word, spelled):
    assert spelled_direction(word, lambda each: each[:6] in words) == spelled
