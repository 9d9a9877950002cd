"""Tests that only things named in printed text count as seen."""

from collections.abc import Iterator

import pytest

from game_interface.core.jericho_interface import JerichoInterface
from game_interface.core.names import NamedThings
from game_interface.models import Language
from tests.fixtures.stories import build

_STORY = """
Constant Story "CELL";
Constant Headline "^A test.^";
Include "Parser";
Include "VerbLib";
Object cell "Cell" with description "A cell with a desk. A vase stands by the wall.", n_to yard, has light;
Object -> desk "desk" with name 'desk', description "It has two wooden drawers.", has scenery;
Object -> drawer "drawer" with name 'drawer', has scenery;
Object -> pen "pen" with name 'pen', initial "Something lies in a corner.";
Object -> lever "lever" with name 'lever', before [; Pull: "Click."; ], has scenery;
Object -> shelf "shelf" with name 'shelf', has scenery supporter;
Object -> -> vase "vase" with name 'vase';
Object yard "Yard" with description "A yard with a drawer of its own.", s_to cell, has light;
[ Initialise; location = cell; "Welcome."; ];
Include "Grammar";
"""


@pytest.fixture(scope="module")
def started_cell(inform: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JerichoInterface]:
    with JerichoInterface(build(inform, tmp_path_factory.mktemp("story"), _STORY, 5)) as game:
        yield game


@pytest.fixture
def cell(started_cell: JerichoInterface) -> JerichoInterface:
    started_cell.reset()
    return started_cell


def _seen(game: JerichoInterface) -> set[str]:
    seen = {item.name for item in game.observe().visible or ()}
    assert seen == {thing.name for thing in game.things() if not thing.carried}
    return seen


def test_scenery_is_seen_once_the_text_names_it(cell: JerichoInterface) -> None:
    # A holder is seen with its named contents.
    assert _seen(cell) == {"desk", "vase", "shelf"}
    step = cell.act("examine desk")
    assert {item.name for item in step.before.visible or ()} == {"desk", "vase", "shelf"}
    assert {item.name for item in step.after.visible or ()} == _seen(cell) == {"desk", "vase", "shelf", "drawer"}


def test_unnamed_thing_is_not_seen(cell: JerichoInterface) -> None:
    cell.act("pull lever")
    assert "lever" not in _seen(cell)
    # The parser still knows it.
    scene = cell.scene()
    assert scene is not None
    assert cell.language.names["lever"] <= scene.in_scope


def test_name_printed_elsewhere_reveals_nothing(cell: JerichoInterface) -> None:
    cell.act("north")
    cell.act("south")
    assert "drawer" not in _seen(cell)


def test_carried_thing_is_revealed(cell: JerichoInterface) -> None:
    assert "pen" not in _seen(cell)
    cell.act("get pen")
    cell.act("drop pen")
    assert "pen" in _seen(cell)


def test_saved_state_keeps_revealed_things(cell: JerichoInterface) -> None:
    cell.act("examine desk")
    saved = cell.save_state()
    cell.reset()
    assert "drawer" not in _seen(cell)
    with JerichoInterface(cell.story.path) as other:
        other.restore_state(saved)
        assert "drawer" in _seen(other)
        assert other.save_state() == saved


@pytest.mark.parametrize("text", ["a nut-brown box", "many BOXS", "the box's lid", "a chandelier hangs", "five pins"])
def test_text_names_things_in_several_forms(text: str) -> None:
    names = {"box": frozenset({1}), "box's": frozenset({1}), "chandelie": frozenset({1})}
    language = Language(word_length=9, words=frozenset(names), verbs={}, names=names)
    assert NamedThings(language, {1: "pin", 2: "pin"}).in_text(text) == ({2} if "pins" in text else {1})
