"""The import paths of the engines. docs/architecture.md lists them."""

# These names are promised by the specification: users rely on them, and no clean-up removes them.

import re
from importlib import import_module
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "architecture.md"
SECTION = PAGE.read_text("utf-8").partition("## Names of the specification")[2]
PATHS = re.findall(r"^\| [^|]+ \| `([\w.]+)` \| (.+) \|$", SECTION, re.MULTILINE)


@pytest.mark.parametrize(("module", "names"), PATHS)
def test_name_is_importable(module: str, names: str):
    found = import_module(module)
    wanted = re.findall(r"`(\w+)`", names)
    assert wanted
    assert [name for name in wanted if not hasattr(found, name)] == []


def test_page_lists_the_promised_engines():
    listed = {name for _, names in PATHS for name in re.findall(r"`(\w+)`", names)}
    assert listed >= {
        *("JerichoInterface", "Agent", "Critic", "ExtractionManager", "MapGraph", "Room", "EmbeddingProvider"),
        *("SentenceTransformerProvider", "LLMEmbeddingProvider", "BaseManager", "MapManager", "ContextManager"),
        *("StateManager", "KnowledgeManager", "ObjectiveManager", "EpisodeSynthesizer", "SimpleMemoryManager"),
        *("GameState", "GameConfiguration", "ZorkOrchestratorV2", "get_zork1_walkthrough", "replay_walkthrough"),
    }
