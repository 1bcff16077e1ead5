"""A coordinate that runs along a ring of domains from the sources on, in both directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from domindex.geometry.winding import TURN, wrap_angle

Floats = NDArray[np.float64]

LEAST_CHANCE = 0.1
"""From which the other way round is in question: an interval of 80 % leaves out as much a side."""


@dataclass(frozen=True)
class RingCoordinate:
    """Angles told from the middle of the sources, with the cut opposite.

    Domains at the cut can be reached both ways: at t, and at t minus a full turn.

    Attributes
    ----------
    middle : angle halfway along the arc that holds all sources
    half_width : of that arc; sources have coordinates within ± half_width

    Examples
    --------
    With sources at 0 and 60 degrees the coordinate runs to ± 180 from 30:

    >>> import numpy as np
    >>> from domindex.geometry.ring_coordinate import RingCoordinate
    >>> angles = np.deg2rad([0, 60, 120, 180, -120, -60])
    >>> ring = RingCoordinate.opposite(angles, np.array([True, True, False, False, False, False]))
    >>> np.rad2deg(ring.of(angles)).round().astype(int).tolist()
    [-30, 30, 90, 150, -150, -90]
    >>> np.rad2deg(ring.of(angles, other_way=True)).round().astype(int).tolist()
    [330, -330, -270, -210, 210, 270]
    >>> ring.in_question(angles).tolist()
    [False, False, True, True, True, True]
    """

    middle: float
    half_width: float

    @classmethod
    def opposite(cls, angles: Floats, is_source: NDArray[np.bool_]) -> RingCoordinate:
        """Cut in the middle of the widest arc without a source; (domains,) each."""
        sources = np.sort(angles[is_source])
        gaps = np.diff(np.append(sources, sources[0] + TURN))
        widest = int(np.argmax(gaps))
        cut = sources[widest] + gaps[widest] / 2
        return cls(float(wrap_angle(cut - np.pi)), float((TURN - gaps[widest]) / 2))

    def of(self, angles: ArrayLike, other_way: bool = False) -> Floats:
        """The coordinate in (−π, π], or the same place reached the other way round."""
        along = wrap_angle(np.asarray(angles, dtype=np.float64) - self.middle)
        return along - np.where(along > 0, TURN, -TURN) if other_way else along

    def chance_of_other_way(self, angles: ArrayLike) -> Floats:
        """That the long way round is the right one, if something breaks along the way.

        A rule that is carried once around and does not come back as it was must break somewhere
        among the domains without labels. With nothing known of where, the long way is right with
        the share of that arc which the short way takes: ½ opposite to the sources, 0 among them.
        """
        away = np.abs(self.of(angles))
        short = np.maximum(away - self.half_width, 0.0)
        return short / (TURN - 2.0 * self.half_width)

    def in_question(self, angles: ArrayLike) -> NDArray[np.bool_]:
        """Where that chance is too large to be left out of an interval of 80 %."""
        return self.chance_of_other_way(angles) >= LEAST_CHANCE

    def state(self) -> dict[str, Any]:
        return {"middle": float(self.middle), "half_width": float(self.half_width)}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> RingCoordinate:
        middle, half_width = float(state["middle"]), float(state["half_width"])
        if not (abs(middle) <= np.pi and 0.0 <= half_width <= np.pi):
            raise ValueError("the coordinate along the ring is no angle")
        return cls(middle, half_width)
