"""Text: live input, units, segments and languages."""

from simulmt.text.events import Break, End, Event, LineEnd, Pause, Word
from simulmt.text.languages import Language, parse, same
from simulmt.text.reader import Counts, LiveReader, open_source
from simulmt.text.segmenter import Segmenter
from simulmt.text.units import count, join_units, split_units

__all__ = [
    "Break",
    "Counts",
    "End",
    "Event",
    "Language",
    "LineEnd",
    "LiveReader",
    "Pause",
    "Segmenter",
    "Word",
    "count",
    "join_units",
    "open_source",
    "parse",
    "same",
    "split_units",
]
