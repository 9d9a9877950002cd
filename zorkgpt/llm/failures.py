"""What went wrong between us and a model's server, in words that name the way out and no key."""

import socket
import ssl

from zorkgpt.errors import LLMError, LLMUnreachable

_LONGEST_MESSAGE = 500


def scrubbed(text: str, secrets: list[str]) -> str:
    """The text with every one of the secrets blotted out, and cut to a length that a person reads."""
    for secret in secrets:
        if len(secret) >= 4:
            text = text.replace(secret, "***")
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST_MESSAGE else text[:_LONGEST_MESSAGE] + " ..."


def as_llm_error(error: Exception, *, model: str, base_url: str, secrets: list[str]) -> LLMError:
    """The error of ours that says what this one of the SDK means.

    `LLMUnreachable` is what will not get better by itself: no server there, or one that refuses key or model.
    """
    said = scrubbed(str(error) or type(error).__name__, secrets)
    status = getattr(error, "status_code", None)
    if status in (401, 403):
        return LLMUnreachable(
            f"{base_url} refuses the key (HTTP {status}: {said}). "
            "Set OPENAI_API_KEY or client_api_key to one that it accepts."
        )
    if status == 404 or getattr(error, "code", None) == "model_not_found":
        return LLMUnreachable(
            f"{base_url} does not serve the model {model!r} (HTTP {status}: {said}). "
            "Correct the model's name, fetch the model, or correct the address: most end in /v1."
        )
    if status == 402 or getattr(error, "code", None) == "insufficient_quota":
        return LLMUnreachable(f"{base_url} wants to be paid before it answers (HTTP {status}: {said}).")
    if _is_absent(error):
        return LLMUnreachable(
            f"No server answers at {base_url} for the model {model!r} ({said}). Start it, or correct its address "
            "(OPENAI_BASE_URL, client_base_url or the role's own)."
        )
    kind = f"HTTP {status}" if status else type(error).__name__
    return LLMError(f"The model {model!r} at {base_url} gave no answer ({kind}: {said}).")


def _is_absent(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ConnectionRefusedError | socket.gaierror | ssl.SSLCertVerificationError):
            return True
        error = error.__cause__ or error.__context__
    return False
