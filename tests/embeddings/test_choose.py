"""Tests of choosing a provider, and of fallbacks."""

import logging
import threading
from importlib.util import find_spec
from types import SimpleNamespace

import pytest

from tests.fixtures.hashing import HashingEmbeddings
from zorkgpt.embeddings.choose import FirstThatWorks, choose_provider
from zorkgpt.embeddings.weights import local_model
from zorkgpt.errors import EmbeddingError
from zorkgpt.memory.manager import SimpleMemoryManager


class Failing(HashingEmbeddings):
    """A provider that works only while `working` is set."""

    def __init__(self, working=False):
        super().__init__()
        self.model = "failing"
        self.working = working

    def embed(self, text):
        if not self.working:
            raise EmbeddingError("out of order")
        return super().embed(text)


class Slow(HashingEmbeddings):
    """A provider that loads until it is released."""

    def __init__(self):
        super().__init__()
        self.release = threading.Event()

    def embed(self, text):
        self.release.wait(30)
        return super().embed(text)


@pytest.mark.parametrize(
    ("choice", "settings", "models"),
    [
        ("auto", {}, ["all-MiniLM-L6-v2"]),
        ("auto", {"llm_client": object()}, ["all-MiniLM-L6-v2", "text-embedding-3-small"]),
        ("auto", {"sentence_transformer_model": "other"}, []),
        ("auto", {"sentence_transformer_model": "sentence-transformers/all-MiniLM-L6-v2"}, ["all-MiniLM-L6-v2"]),
        ("onnx", {"llm_client": object()}, ["all-MiniLM-L6-v2"]),
        ("sentence-transformers", {"sentence_transformer_model": "other"}, []),
        ("llm", {"llm_client": object(), "llm_embedding_model": "small"}, ["small"]),
        ("llm", {}, []),
    ],
)
@pytest.mark.skipif(find_spec("sentence_transformers") is not None, reason="sentence-transformers is installed")
def test_setting_determines_the_order_of_providers(choice, settings, models):
    chosen = choose_provider(choice, **settings).providers
    assert [provider.model.removesuffix("-int8") for provider in chosen] == models


@pytest.mark.skipif(find_spec("sentence_transformers") is not None, reason="sentence-transformers is installed")
def test_onnx_model_is_used_without_pytorch(tmp_path, caplog):
    config = SimpleNamespace(enable_semantic_deduplication=True, embedding_provider="sentence-transformers")
    with SimpleMemoryManager.open(tmp_path / "Memories.md", config=config) as memory:
        memory.remember(5, "The rug hides a trap door.", title="Rug")
        [found] = memory.search("a hatch in the floor")
        assert (found.method, memory.parts.vectors) == ("words and meaning", local_model().model)
    assert "Using the ONNX copy of all-MiniLM-L6-v2." in caplog.text


@pytest.mark.skipif(find_spec("sentence_transformers") is not None, reason="sentence-transformers is installed")
def test_model_that_needs_pytorch_is_reported_as_missing(tmp_path, caplog):
    config = SimpleNamespace(
        enable_semantic_deduplication=True,
        embedding_provider="sentence-transformers",
        sentence_transformer_model="another-model",
    )
    with SimpleMemoryManager.open(tmp_path / "Memories.md", config=config) as memory:
        assert memory.parts.vectors == ""
    assert "uv sync --inexact --extra embeddings-torch" in caplog.text


def test_none_is_no_provider():
    assert choose_provider("none") is None


def test_fallback_is_logged_once(caplog):
    chosen = FirstThatWorks([Failing(), HashingEmbeddings()])
    assert chosen.model == "failing"
    with caplog.at_level(logging.WARNING, "zorkgpt"):
        chosen.embed_batch(["a"])
        chosen.embed("b")
    assert (chosen.model, chosen.available) == ("hashing-256", True)
    assert [record.message for record in caplog.records] == ["embedding provider replaced"]


def test_failure_of_all_providers_is_logged_once(caplog):
    chosen = FirstThatWorks([Failing(), Failing()])
    with caplog.at_level(logging.WARNING, "zorkgpt"):
        for _ in range(3):
            with pytest.raises(EmbeddingError, match=r"No embeddings: Failing: out of order; Failing: out of order"):
                chosen.embed("a")
    assert not chosen.available
    messages = [record.message for record in caplog.records]
    assert messages == ["no embeddings, comparing memories only by words"]


def test_provider_is_kept_after_one_failure():
    stumbling = Failing(working=True)
    chosen = FirstThatWorks([stumbling, HashingEmbeddings()])
    chosen.embed("a")
    stumbling.working = False
    with pytest.raises(EmbeddingError, match="out of order"):
        chosen.embed("b")
    stumbling.working = True
    chosen.embed("c")
    assert chosen.model == "failing"


def test_provider_is_replaced_after_three_failures():
    broken = Failing(working=True)
    chosen = FirstThatWorks([broken, HashingEmbeddings()])
    chosen.embed("a")
    broken.working = False
    for _ in range(2):
        with pytest.raises(EmbeddingError):
            chosen.embed("b")
    chosen.embed("b")
    assert chosen.model == "hashing-256"


def test_waiting_for_a_loading_model_ends():
    slow = Slow()
    chosen = FirstThatWorks([slow], load_timeout_s=0.05)
    thread = threading.Thread(target=chosen.embed, args=("warm up",))
    thread.start()
    with pytest.raises(EmbeddingError, match=r"still loading after 0\.05 s"):
        chosen.embed("a")
    slow.release.set()
    thread.join(10)
    assert chosen.embed("a").shape == (256,)
