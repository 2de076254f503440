"""Pairs that tests train on: 32 short sentences, each half of which is translated word for word or nearly so."""

from __future__ import annotations

from pathlib import Path

HALVES = [
    ("the cat sleeps", "die Katze schläft"),
    ("a dog runs fast", "ein Hund rennt schnell"),
    ("we read books", "wir lesen Bücher"),
    ("she drinks cold water", "sie trinkt kaltes Wasser"),
    ("he writes letters", "er schreibt Briefe"),
    ("it rains today", "es regnet heute"),
    ("my house is old", "mein Haus ist alt"),
    ("the sun shines", "die Sonne scheint"),
]
PAIRS = [
    (f"{HALVES[i][0]} and {HALVES[j % 8][0]}.", f"{HALVES[i][1]} und {HALVES[j % 8][1]}.")
    for i in range(8)
    for j in (i + 1, i + 2, i + 3, i + 5)
]
TEXT = "".join(f"{source}\t{target}\n" for source, target in PAIRS)
SENTENCES = tuple(side for pair in PAIRS for side in pair)


def write_pairs(folder: Path) -> Path:
    """Write PAIRS as TSV."""
    path = folder / "pairs.tsv"
    path.write_text(TEXT, encoding="utf-8")
    return path
