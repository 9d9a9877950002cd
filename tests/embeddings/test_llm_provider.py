"""Tests of embeddings from a server, over HTTP on localhost."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import openai
import pytest

from zorkgpt.embeddings.llm_provider import LLMEmbeddingProvider
from zorkgpt.errors import EmbeddingError


class Server:
    """Answers `/embeddings` with the result of `answer` for the texts."""

    def __init__(self):
        self.answer = lambda texts: [[3.0, 4.0 + len(text)] for text in texts]
        self.asked: list[list[str]] = []

    def start(self):
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.asked.append(request["input"])
                rows = outer.answer(request["input"])
                data = [{"object": "embedding", "index": place, "embedding": row} for place, row in enumerate(rows)]
                body = json.dumps({"object": "list", "model": "m", "data": data[::-1], "usage": {}}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        return openai.OpenAI(
            api_key="none", base_url=f"http://127.0.0.1:{self.http.server_address[1]}/v1", max_retries=0
        )


@pytest.fixture
def server():
    server = Server()
    server.client = server.start()
    yield server
    server.http.shutdown()
    server.http.server_close()


def test_vectors_are_in_order_with_unit_length(server):
    provider = LLMEmbeddingProvider(server.client, "m", batch_size=2)
    vectors = provider.embed_batch(["", "a", "bbbbbbbb"])
    assert vectors.dtype == np.float32
    assert vectors.tolist() == [
        [0, 0],
        pytest.approx([3 / 34**0.5, 5 / 34**0.5]),
        pytest.approx([3 / 153**0.5, 12 / 153**0.5]),
    ]
    assert provider.get_dimension() == 2


def test_blank_text_is_never_sent(server):
    LLMEmbeddingProvider(server.client, "m").embed_batch(["a", " ", ""])
    assert server.asked == [["dimension"], ["a"]]


def test_texts_are_sent_in_batches(server):
    LLMEmbeddingProvider(server.client, "m", batch_size=2).embed_batch(["a", "b", "c", "d", "e"])
    assert server.asked == [["dimension"], ["a", "b"], ["c", "d"], ["e"]]


def test_long_text_is_sent_in_parts(server):
    text = "word " * 5000
    LLMEmbeddingProvider(server.client, "m").embed(text)
    assert "".join(piece for request in server.asked[1:] for piece in request) == text
    assert max(len(piece) for request in server.asked for piece in request) <= 5000


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda texts: [[float("nan"), 1.0] for _ in texts], "not finite"),
        (lambda texts: [[0.0, 0.0] for _ in texts], "all zeros"),
        (lambda texts: [], "answered 1 texts with 0 vectors"),
        (lambda texts: [[1.0], [1.0]], "answered 1 texts with 2 vectors"),
        (lambda texts: [["x", "y"] for _ in texts], "not a number"),
        (lambda texts: [None for _ in texts], "returned no embeddings|lengths"),
    ],
)
def test_invalid_response_is_an_error(server, answer, message):
    server.answer = answer
    with pytest.raises(EmbeddingError, match=message):
        LLMEmbeddingProvider(server.client, "m").embed("a")


def test_changed_dimension_is_an_error(server):
    provider = LLMEmbeddingProvider(server.client, "m")
    provider.embed("a")
    server.answer = lambda texts: [[1.0, 2.0, 3.0] for _ in texts]
    with pytest.raises(EmbeddingError, match="vectors of 3 numbers, before with 2"):
        provider.embed("b")


def test_unreachable_server_is_an_error():
    client = openai.OpenAI(api_key="none", base_url="http://127.0.0.1:1/v1", max_retries=0)
    with pytest.raises(EmbeddingError, match="The server returned no embeddings of 'm'"):
        LLMEmbeddingProvider(client, "m").embed("a")
