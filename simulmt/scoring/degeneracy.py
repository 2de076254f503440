"""Does a system really translate simultaneously, or does it wait for the end of most sources?

The test compares two shares. SWF: how many units came before their source had ended. EFSW: how many should have, if the
lag were the same all along (a system that is YAAL behind can use all but the last YAAL of a source). A large
difference means that most output came in one piece. Source: OmniSTEval, https://github.com/pe-trik/OmniSTEval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum

from simulmt.scoring.latency import yet_another_average_lagging
from simulmt.scoring.timeline import Timeline, Unavailable

DEGENERATE_ABOVE = 20.0


@dataclass(frozen=True, slots=True)
class Degeneracy:
    """The two shares, in per cent.

    Attributes:
        swf: 100 · units written before the end of their source / all units.
        efsw: 100 · Σ max(0, S − YAAL) / Σ S over the segments that have a YAAL; None when none has.
    """

    swf: float
    efsw: float | None

    @property
    def dsptv(self) -> float:
        """EFSW − SWF.

        Raises:
            Unavailable: there is no EFSW.
        """
        if self.efsw is None:
            raise Unavailable("no unit was written before its source ended")
        return self.efsw - self.swf

    @property
    def degenerate(self) -> bool:
        """True when the shares differ by more than 20 points either way; raises as `dsptv` does."""
        return abs(self.dsptv) > DEGENERATE_ABOVE


def degeneracy(timelines: Sequence[Timeline]) -> Degeneracy:
    """Return the degeneracy test over all segments that have output.

    Raises:
        Unavailable: no segment has output.
    """
    written = sum(timeline.hypothesis_length for timeline in timelines)
    if not written:
        raise Unavailable("nothing was written")
    early = sum(time < timeline.source_length for timeline in timelines for time in timeline.times)
    lagging = [timeline for timeline in timelines if timeline.before_end]
    lengths = fsum(timeline.source_length for timeline in lagging)
    usable = fsum(max(0.0, t.source_length - yet_another_average_lagging(t)) for t in lagging)
    return Degeneracy(100 * early / written, 100 * usable / lengths if lagging else None)
