"""Tests of vectors from hashed letters."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fixtures.hashing import HashingEmbeddings
from zorkgpt.embeddings.provider import EmbeddingProvider

ANY_TEXT = st.text(st.characters(codec=None))


def test_provider_protocol_is_implemented():
    provider = HashingEmbeddings(64)
    assert isinstance(provider, EmbeddingProvider)
    assert (provider.model, provider.get_dimension()) == ("hashing-64", 64)
    assert provider.embed_batch([]).shape == (0, 64)


@given(st.lists(ANY_TEXT, max_size=5))
def test_vectors_are_float32_with_unit_length(texts):
    vectors = HashingEmbeddings().embed_batch(texts)
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(texts), 256)
    lengths = np.linalg.norm(vectors, axis=1) if texts else np.zeros(0)
    # Features may cancel each other out. Then the vector is all zeros, as for a blank text.
    assert all(length == pytest.approx(1, abs=1e-5) or length == 0 for length in lengths)


def test_every_process_computes_the_same_vectors():
    code = "from tests.fixtures.hashing import HashingEmbeddings as H; print(H(8).embed('A brass door.').tolist())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(HashingEmbeddings(8).embed("A brass door.").tolist())


def test_texts_with_shared_words_are_nearer():
    door, doors, rain = HashingEmbeddings().embed_batch(
        ["The brass door is locked.", "The brass doors are locked!", "It rains on Tuesdays."]
    )
    assert door @ doors > 0.55 > door @ rain


def test_blank_text_is_similar_to_nothing():
    assert not HashingEmbeddings().embed(" \n").any()
