"""Tests of the library sentence-transformers, if installed, and of the error if not."""

import importlib.util

import numpy as np
import pytest

from zorkgpt.embeddings.onnx_provider import OnnxProvider
from zorkgpt.embeddings.sentence_transformers_provider import SentenceTransformerProvider
from zorkgpt.errors import EmbeddingError

installed = importlib.util.find_spec("sentence_transformers") is not None


@pytest.mark.skipif(installed, reason="sentence-transformers is installed")
def test_error_names_the_extra_if_not_installed():
    with pytest.raises(EmbeddingError, match="--extra embeddings-torch"):
        SentenceTransformerProvider().embed("a")


@pytest.mark.slow
@pytest.mark.skipif(not installed, reason="sentence-transformers is not installed")
def test_vectors_match_the_provider_without_pytorch():
    texts = ["", "A door.", "word " * 1000, "東の扉", "🙂", "\ud800 half a pair"]
    ours, theirs = OnnxProvider().embed_batch(texts), SentenceTransformerProvider().embed_batch(texts)
    assert theirs.dtype == np.float32
    assert np.abs(ours - theirs).max() < 1e-5
