"""The summary that a run leaves on stderr."""

from __future__ import annotations

from collections.abc import Mapping

from simulmt.output.statistics import Statistics

_STOPPED = {
    "length": "target cut off, it grew far longer than its source",
    "repeat": "target cut off, it repeated itself",
}


_ODD = {
    "invalid_bytes": "bytes that are not UTF-8, replaced by U+FFFD",
    "nul": "NUL character removed",
    "control": "control character removed",
    "zero_width": "invisible character removed",
    "bom": "byte order mark removed",
    "dropped": "word that waited when the run was interrupted, not translated",
    "cut_words": "word too long to keep whole, passed on in pieces",
}


def summary(
    statistics: Statistics, oddities: Mapping[str, int], pace: float | None = None, loading: float | None = None
) -> str:
    """Return the summary, a few lines without a final line break.

    Args:
        statistics: of the whole stream.
        oddities: what was counted on the way in, see `text.cleaning.Counts.odd`.
        pace: seconds from the first to the last word's arrival, None if they did not come over time.
        loading: seconds that loading the model took; they are in no other number.
    """
    lines = [
        f"{_many(statistics.segments, 'segment')}, {_many(statistics.read, 'word')} read, "
        f"{_many(statistics.written, 'word')} written"
    ]
    if statistics.lagging("AL") is not None:
        values = [f"{name} {statistics.lagging(name):.2f}" for name in ("AL", "LAAL", "DAL")]
        lines.append("lagging in source words, against the length written: " + ", ".join(values))
    speed = _speed(statistics, pace)
    if speed and loading is not None:
        speed[0] += f"; the model was loaded in {loading:.1f} s"
    lines += speed
    odd = [f"{count} × {_ODD.get(what, what)}" for what, count in oddities.items() if count]
    odd += [f"{count} × segment ended at its longest ({reason})" for reason, count in _forced(statistics)]
    odd += [f"{count} × {_STOPPED[reason]}" for reason, count in sorted(statistics.stopped.items())]
    if statistics.parted:
        odd.append(f"{statistics.parted} × line translated in parts")
    if statistics.truncated:
        odd.append(f"{statistics.truncated} × word of which the model was shown only the beginning")
    if statistics.empty:
        odd.append(f"{statistics.empty} × segment without a translation")
    if odd:
        lines.append("noticed: " + "; ".join(odd))
    return "\n".join(lines)


def _speed(statistics: Statistics, pace: float | None) -> list[str]:
    median, high = statistics.compute.at(0.5), statistics.compute.at(0.95)
    if median is None or high is None or statistics.last_emitted is None:
        return []
    span = max(1e-9, statistics.last_emitted)
    line = f"{median:.0f} ms a word (median; 95 % within {high:.0f}), {statistics.written / span:.1f} words a second"
    if pace is not None and pace >= 1:
        line += f", real-time factor {span / pace:.2f}"
    return [line]


def _forced(statistics: Statistics) -> list[tuple[str, int]]:
    return [
        (reason, statistics.reasons[reason])
        for reason in ("clause", "conjunction", "length")
        if statistics.reasons[reason]
    ]


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
