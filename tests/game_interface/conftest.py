"""Zork I in an interpreter that the tests of a module share."""

import pytest

from game_interface.core.jericho_interface import JerichoInterface
from tests.fixtures.walkthrough import ZORK1_SEED


@pytest.fixture(scope="module")
def started_zork(zork1):
    with JerichoInterface(zork1, seed=ZORK1_SEED) as game:
        yield game


@pytest.fixture
def zork(started_zork):
    started_zork.reset()
    return started_zork
