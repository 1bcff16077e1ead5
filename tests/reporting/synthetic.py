"""Reports made up of numbers alone: as many domains as a test wants, without a fit."""

import numpy as np

from domindex.reporting import ReportData
from domindex.reporting.report_data import (
    ColumnRecord,
    DifferenceRecord,
    DomainRecord,
    DriverRecord,
    ForecastRecord,
    HeldOutQuality,
    HeldOutScore,
    History,
    MissingRecord,
)

BINS = tuple(f"{low} to {low + 1}" for low in range(8))
N_COLUMNS = 20


def made_up(n_domains: int, n_sources: int, seed: int = 0) -> ReportData:
    """A spiral of domains, sources at its inner end, with every part that a table has."""
    rng = np.random.default_rng(seed)
    along = np.sort(rng.uniform(0.1, 1.0, n_domains))
    turn = 7.0 * along
    places = (3 * along * np.stack([np.cos(turn), np.sin(turn)])).T
    places += rng.normal(scale=0.12, size=places.shape)
    names = [f"store {number:05d}" for number in range(n_domains)]
    sources = set(rng.permutation(n_domains // 2)[:n_sources].tolist())
    shares = rng.dirichlet(np.ones(8), size=n_domains).round(2)
    return ReportData(
        title=f"Made up: {n_domains} stores",
        task="classification",
        estimator="CrossDomainClassifier",
        facts={"rows": 100 * n_domains, "domains": n_domains, "sources": n_sources},
        domains=tuple(
            domain_record(k, names, places, k in sources, shares) for k in range(n_domains)
        ),
        columns={f"column {c}": tuple(rng.normal(size=n_domains).tolist()) for c in range(19)}
        | {"region": tuple(rng.choice(["north", "south", "east"], n_domains).tolist())},
        held_out=quality([names[k] for k in sorted(sources)], rng),
        audit=None,
        history=History(),
        trials=({"candidate": "linear on flow", "weight": 1.0},),
        warnings=("This report is made up.",),
        notes=(),
        configuration={"effort": "'full'"},
        versions={"python": "3"},
        summary=("Predictions: linear on flow 100 %.",),
        profiles=tuple(
            ColumnRecord(f"column {c}", BINS, True, (0.125,) * 8, 0.01) for c in range(N_COLUMNS)
        ),
        drivers=tuple(DriverRecord(f"column {c}", 0.2 / (c + 1), 0.01) for c in range(N_COLUMNS)),
    )


def domain_record(k, names, places, is_source, shares):
    """A domain whose neighbours are those beside it along the spiral."""
    near = [one for one in (k - 1, k + 1, k - 2, k + 2) if 0 <= one < len(names)]
    differs = tuple(
        DifferenceRecord(
            (k + c) % N_COLUMNS, 0.3, 0.4, 0.05, tuple(shares[k]), tuple(shares[k - 1])
        )
        for c in range(5)
    )
    expected = 0.6 + 0.3 * (k % 997) / 997
    return DomainRecord(
        name=names[k],
        role="source" if is_source else "target",
        rows=100,
        coordinates=tuple(places[k].tolist()),
        deviations=(0.0123456, 0.0234567),
        neighbours=tuple(names[one] for one in near),
        distance_to_source=0.0 if is_source else 1.2345678 * (1 + k % 50),
        held_out_score=0.9 if is_source else None,
        forecast=None if is_source else ForecastRecord(expected, expected - 0.1, expected + 0.05),
        differences=differs,
        missing=(MissingRecord(k % N_COLUMNS, 0.25),),
    )


def quality(names, rng):
    scores = rng.uniform(0.7, 1.0, size=(len(names), 2)).tolist()
    return HeldOutQuality(
        score_name="accuracy",
        higher_is_better=True,
        method="Made up.",
        baseline="Linear on raw inputs, the best plain candidate.",
        scores=tuple(HeldOutScore(name, *one) for name, one in zip(names, scores)),
        figures={"accuracy": 0.85, "auc": 0.9, "brier": 0.1, "log_loss": 0.3},
        plain_figures={"accuracy": 0.8, "auc": 0.85, "brier": 0.12, "log_loss": 0.4},
        calibration=((0.1, 0.12, 0.5), (0.5, 0.45, 0.2), (0.9, 0.88, 0.3)),
        confusion=((0.9, 0.1), (0.2, 0.8)),
        classes=("no", "yes"),
    )
