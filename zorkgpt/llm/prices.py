"""What models cost where nobody says otherwise: OpenAI's own, as price pages of third parties told it in 2025."""

from collections.abc import Mapping

from zorkgpt.llm.settings import Price

_LISTED = {
    "gpt-5.1": Price(1.25, 10.0),
    "gpt-5": Price(1.25, 10.0),
    "gpt-5-mini": Price(0.25, 2.0),
    "gpt-5-nano": Price(0.05, 0.4),
    "gpt-4.1": Price(2.0, 8.0),
    "gpt-4.1-mini": Price(0.4, 1.6),
    "gpt-4.1-nano": Price(0.1, 0.4),
    "gpt-4o": Price(2.5, 10.0),
    "gpt-4o-mini": Price(0.15, 0.6),
    "o3": Price(2.0, 8.0),
    "o3-mini": Price(1.1, 4.4),
    "o4-mini": Price(1.1, 4.4),
}
LIST_PRICES: Mapping[str, Price] = _LISTED | {f"{name}-20*": price for name, price in _LISTED.items()}
"""US dollars for a million tokens, by name and by name with a date. Those that are configured come first."""
