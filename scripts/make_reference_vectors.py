"""Write the vectors of sentence-transformers for 200 texts, as reference values for tests.

Needs sentence-transformers:

    python scripts/make_reference_vectors.py tests/data/embedding_vectors.npz
"""

import json
import random
import sys
from pathlib import Path

import numpy as np

from zorkgpt.embeddings.provider import DEFAULT_MODEL
from zorkgpt.embeddings.weights import REVISION

ODD = [
    "a",
    "?",
    "...",
    "!!!",
    "7",
    "-",
    "\t.\n",
    "I",
    "é",
    "中",
    "🙂",
    "🙂🙂🙂",
    "\u200b",
    "\u200b.",
    "&nbsp;",
    "<br>",
    "__init__",
    "~~x~~",
    "**[NOTE - CORE] x** *(Ep1, T2, +0)*",
    "## Location 5: Living Room",
    "ｆｕｌｌｗｉｄｔｈ",
    "ÄÖÜ äöü ß",
    "naïve café",
    "cafe\u0301",
    "東の扉は鍵がかかっている。",
    "门是锁着的。",
    "дверь на север закрыта",
    "الباب مغلق",
    "दरवाज़ा बंद है",
    "דלת נעולה",
    "문이 잠겨 있다",
    "ประตูล็อกอยู่",
    "Tür nach Norden 🚪 ist zu",
    "supercalifragilisticexpialidocious" * 4,
    "x" * 300,
    "http://localhost:8000/a?b=c&d=%20",
    "3.14159e-10",
    "N\u00a0S",
    "a\u0000b",
    "line one\nline two\r\nline three",
    "   spaced   out   ",
    "ALL CAPS SHOUTING",
    "mIxEd CaSe",
    "don't can't won't it's",
    "“quoted” — with dashes – and…",
    "½ cup of water",
    "№ 5",
    "x² + y² = z²",
    "tab\tseparated",
    "emoji 👩‍👩‍👧 family",
]
THINGS = [
    "brass lantern",
    "rope",
    "wooden door",
    "marble statue",
    "old map",
    "iron gate",
    "parrot",
    "ladder",
    "well",
    "copper coin",
]
PLACES = ["the cellar", "the north bank", "a long corridor", "the observatory", "the market square", "the greenhouse"]
FORMS = [
    "The {} is in {}.",
    "Taking the {} in {} makes a loud noise, and the guard comes after 3 turns.",
    "You can't carry the {} out of {} unless you leave everything else behind.",
    "Examining the {} from {} shows a small inscription that can only be read in daylight.",
]


def texts() -> list[str]:
    """Return 50 unusual texts, 138 sentences, and 12 longer texts up to the model's window."""
    chance = random.Random(7)
    plain = [form.format(thing, place) for thing in THINGS for place in PLACES for form in FORMS]
    sentences = chance.sample(plain, 138)
    long = [" ".join(chance.sample(plain, count)) for count in range(2, 10)]
    return [*ODD, *sentences, *long, *("word " * count for count in (100, 200, 239, 240))]


def main(target: Path) -> None:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(DEFAULT_MODEL, device="cpu", revision=REVISION)
    vectors = model.encode(texts(), batch_size=16, normalize_embeddings=True, convert_to_numpy=True)
    np.savez_compressed(target, texts=np.array(json.dumps(texts())), vectors=vectors.astype(np.float32))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
