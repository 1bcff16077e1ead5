"""Figures that the paper printed (Xu, Hao, He and Wang, ICLR 2023), each with its place there."""

from __future__ import annotations

from dataclasses import dataclass

PAPERS_METHODS = (
    "source-only",
    "dann",
    "adda",
    "cdann",
    "mdd",
    "sentry",
    "domain2vec",
    "vdi",
)
"""The columns of the paper's tables, in its order."""


@dataclass(frozen=True)
class Published:
    """A printed figure and where it stands."""

    value: float
    source: str


def published(dataset: str, method: str, figure: str) -> Published | None:
    """What the paper printed for this cell, None where it printed nothing."""
    return _FIGURES.get((dataset, method, figure))


_TABLE_1 = {
    "circle": (55.5, 53.4, 56.2, 54.9, 53.4, 59.5, 60.1, 94.3),
    "dg-15": (39.7, 43.4, 33.5, 38.8, 37.2, 42.6, 79.9, 94.7),
    "dg-60": (55.0, 66.3, 60.8, 65.3, 54.6, 51.3, 82.1, 95.9),
}
_TABLE_2 = {
    ("tpt-48-w-e", "error_level_1"): (1.184, 1.984, 5.448, 6.168, 5.544, 2.512, None, 2.160),
    ("tpt-48-w-e", "error_level_2"): (3.128, 5.112, 7.624, 7.016, 7.912, 5.136, None, 3.000),
    ("tpt-48-w-e", "error_level_3"): (5.272, 5.880, 7.256, 6.968, 8.008, 5.872, None, 2.448),
    ("tpt-48-w-e", "error"): (4.576, 5.400, 7.136, 6.896, 7.76, 5.456, None, 2.496),
    ("tpt-48-n-s", "error_level_1"): (1.648, 1.832, 5.872, 1.832, 2.736, 3.976, None, 1.536),
    ("tpt-48-n-s", "error_level_2"): (3.128, 3.296, 6.888, 2.856, 6.144, 3.760, None, 2.584),
    ("tpt-48-n-s", "error_level_3"): (9.280, 6.744, 7.088, 7.688, 10.608, 3.672, None, 5.624),
    ("tpt-48-n-s", "error"): (4.560, 3.840, 6.528, 4.040, 6.216, 3.816, None, 3.160),
}
_TABLE_3 = {"compcars": (39.1, 38.9, 42.8, 41.8, 41.4, 41.8, 40.7, 43.9)}


def _by_cell() -> dict[tuple[str, str, str], Published]:
    rows: list[tuple[str, str, tuple[float | None, ...], str]] = [
        *((name, "accuracy", row, "Table 1") for name, row in _TABLE_1.items()),
        *((name, figure, row, "Table 2") for (name, figure), row in _TABLE_2.items()),
        *((name, "accuracy", row, "Table 3") for name, row in _TABLE_3.items()),
    ]
    return {
        (name, method, figure): Published(value, source)
        for name, figure, row, source in rows
        for method, value in zip(PAPERS_METHODS, row, strict=True)
        if value is not None
    }


_FIGURES = {
    **_by_cell(),
    ("dg-15", "vdi", "index_auc"): Published(0.83, "Section 5.3"),
    ("dg-60", "vdi", "index_auc"): Published(0.91, "Section 5.3"),
    ("circle", "vdi", "index_correlation"): Published(0.97, "Appendix C"),
}
