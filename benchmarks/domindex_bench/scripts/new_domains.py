"""New domains: added after the fit against trained with, and domains that do not belong.

Some targets are left out of `fit` and added; their scores and
places are held against those of a model that was trained with them (their labels score, nothing
else). Then domains of the same family, and of others, are held against the flag for domains off
the map, and 100 new domains of 100 rows are placed and added, in seconds of CPU.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import orthogonal_procrustes
from scipy.spatial.distance import cdist

from domindex import CrossDomainClassifier, CrossDomainRegressor, Training, load_dataset
from domindex.datasets import DomainDataset, make_circle, make_domain_graph, make_drift
from domindex.errors import OffMapWarning
from domindex.geometry import DomainIndex
from domindex.geometry.domain_geometry import DomainGeometry
from domindex.inputs import check_domain_data
from domindex.representations.map_rows import rows_for_map
from domindex_bench.measuring import Found, Measurement

LEFT_OUT = {"dg-60": 10, "tpt-48-w-e": 6, "tpt-48-n-s": 6}
N_SPLITS = 3
N_FOREIGN, N_FAMILY, N_KNOWN = 60, 300, 50
SHORT = {"candidates": [("raw", "linear")], "training": Training(index_steps=2)}

Floats = NDArray[np.float64]
Clouds = list[Floats]


def fitted(dataset: DomainDataset, names: list[Any], **settings: Any) -> Any:
    """A model of some of the domains."""
    kind = CrossDomainClassifier if dataset.task == "classification" else CrossDomainRegressor
    rows = np.isin(dataset.sample_domain, names)
    sources = [name for name in dataset.source_domains if name in set(names)]
    return kind(random_state=0, **settings).fit(
        dataset.X[rows],
        dataset.y[rows],
        sample_domain=dataset.sample_domain[rows],
        source_domains=sources,
    )


def score(model: Any, dataset: DomainDataset, names: list[Any]) -> float:
    """Accuracy in %, or mean squared error, over rows of some domains."""
    rows = np.isin(dataset.sample_domain, names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OffMapWarning)
        found = model.predict(dataset.X[rows], sample_domain=dataset.sample_domain[rows])
    if dataset.task == "classification":
        return 100.0 * float((found == dataset.y[rows]).mean())
    return float(((found - dataset.y[rows]) ** 2).mean())


def place_gaps(with_all: Any, grown: Any, names: list[Any]) -> dict[str, float]:
    """How far added domains lie from where training with them puts them; see `map_gaps`."""
    found, deviations = map_gaps(with_all.domain_index_, grown.domain_index_, names)
    numbers = [grown.domains_.index(name) for name in names]
    units = np.sqrt((grown.domain_index_std_[numbers] ** 2).mean(axis=1))
    return found | {"median_gap_in_deviations": float(np.median(deviations / units))}


def map_gaps(
    with_all: DomainIndex, grown: DomainIndex, names: list[Any]
) -> tuple[dict[str, float], Floats]:
    """How far added domains lie from where a map drawn with them has them.

    In median spacings of the map; beside it, (names,) in units of the map. The two maps are turned
    onto each other by the domains of both fits, which do not agree perfectly either: how far these
    are off is given for comparison. A map's unit is the spread of the domains it was drawn from, so
    two maps differ in scale as well: `scaled` are the same gaps after one was also scaled onto the
    other.
    """
    order = {name: number for number, name in enumerate(with_all.domains)}
    reference = with_all.coordinates
    is_new = np.isin(np.arange(len(grown.domains)), [grown.domains.index(one) for one in names])
    known, added = grown.coordinates[~is_new], grown.coordinates[is_new]
    here = [order[name] for name in grown.domains]
    goal, places = reference[here][~is_new], reference[here][is_new]
    apart = cdist(reference, reference) + np.diag(np.full(len(reference), np.inf))
    spacing = float(np.median(apart.min(axis=1)))
    found: dict[str, float] = {"median_spacing": spacing}
    turned = np.linalg.norm(_onto(known, goal, False)(added) - places, axis=1)
    for scaled in (False, True):
        onto, end = _onto(known, goal, scaled), "_scaled" if scaled else ""
        gaps = np.linalg.norm(onto(added) - places, axis=1)
        off = np.linalg.norm(onto(known) - goal, axis=1)
        found |= {
            f"median_gap{end}": float(np.median(gaps)) / spacing,
            f"largest_gap{end}": float(gaps.max()) / spacing,
            f"median_gap_of_fitted{end}": float(np.median(off)) / spacing,
        }
    return found, turned


def compare_places(name: str) -> Found:
    """Of maps alone, in closed form: targets left out and placed, against a map drawn with them."""
    dataset = load_dataset(name)
    targets = [one for one in dataset.domains if one not in set(dataset.source_domains)]

    def geometry_of(names: list[Any]) -> DomainGeometry:
        rows = np.isin(dataset.sample_domain, names)
        sources = [one for one in dataset.source_domains if one in set(names)]
        given = (dataset.X[rows], dataset.y[rows], dataset.sample_domain[rows], sources)
        data = check_domain_data(*given, task=dataset.task)
        return DomainGeometry.fit(data, map_rows=rows_for_map(data))

    with_all, splits = geometry_of(dataset.domains).domain_map.index, []
    for seed in range(N_SPLITS):
        chosen = np.random.default_rng(seed).permutation(len(targets))[: LEFT_OUT[name]]
        out = [targets[number] for number in sorted(chosen)]
        part = geometry_of([one for one in dataset.domains if one not in set(out)])
        local = [
            part.scaler.apply_flat(dataset.X[dataset.sample_domain == one]) @ part.projection.matrix
            for one in out
        ]
        grown = part.domain_map.with_domains(out, local).index
        splits.append(map_gaps(with_all, grown, out)[0])
    return {"splits": splits}


def _onto(points: Floats, goal: Floats, scaled: bool) -> Callable[[Floats], Floats]:
    """The turn and shift, and scale where asked for, that brings points nearest to a goal."""
    centre, aim = points.mean(axis=0), goal.mean(axis=0)
    turn, stretch = orthogonal_procrustes(points - centre, goal - aim)
    scale = stretch / ((points - centre) ** 2).sum() if scaled else 1.0
    return lambda places: (places - centre) @ turn * scale + aim


def compare(name: str) -> Found:
    """Left out and added, against trained with.

    Beside it `others`, the targets that both models were trained with: how much two fits differ
    there has nothing to do with adding.
    """
    dataset = load_dataset(name)
    targets = [one for one in dataset.domains if one not in set(dataset.source_domains)]
    with_all = fitted(dataset, dataset.domains)
    splits = []
    for seed in range(N_SPLITS):
        chosen = np.random.default_rng(seed).permutation(len(targets))[: LEFT_OUT[name]]
        out = [targets[number] for number in sorted(chosen)]
        part = fitted(dataset, [one for one in dataset.domains if one not in set(out)])
        rows = np.isin(dataset.sample_domain, out)
        new = (dataset.X[rows], dataset.sample_domain[rows])
        placed = part.place_domains(new[0], sample_domain=new[1], forecast=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OffMapWarning)
            grown = part.add_domains(new[0], sample_domain=new[1])
        others = [one for one in targets if one not in set(out)]
        splits.append(
            {
                "left_out": [str(one) for one in out],
                "trained_with": score(with_all, dataset, out),
                "added": score(grown, dataset, out),
                "others": {
                    "with_the_left_out": score(with_all, dataset, others),
                    "without": score(part, dataset, others),
                },
                "place": place_gaps(with_all, grown, out),
                "false_alarms": int(placed["off_map"].sum()),
                "foreign_flagged": flagged_shares(part, foreign_clouds(dataset, seed)),
            }
        )
        print(name, json.dumps(splits[-1]), flush=True)
    return {"score": "accuracy" if dataset.task == "classification" else "mse", "splits": splits}


def foreign_clouds(dataset: DomainDataset, seed: int) -> dict[str, Clouds]:
    """Domains of other generators, brought to the mean and deviation of every feature."""
    rng = np.random.default_rng(seed)
    X, width = dataset.X, dataset.X.shape[1]
    sizes = np.bincount(np.unique(dataset.sample_domain, return_inverse=True)[1])
    n_rows, mean, deviation = int(np.median(sizes)), X.mean(axis=0), X.std(axis=0)
    root = np.linalg.cholesky(np.cov(X.T) + 1e-9 * np.eye(width))
    size: dict[str, Any] = {"n_domains": N_FOREIGN, "samples_per_domain": n_rows}
    size["random_state"] = seed + 100
    makers: dict[str, Callable[[], DomainDataset]] = {
        "circle": lambda: make_circle(**size),
        "graph": lambda: make_domain_graph(**size),
        "drift": lambda: make_drift(n_features=width, **size),
    }
    found = {
        name: _like(_widened(make(), width, rng), mean, deviation)
        for name, make in makers.items()
        if name != dataset.name.removeprefix("make-").replace("domain-", "")
    }
    found["uniform"] = [
        mean + deviation * rng.uniform(-1.73, 1.73, (n_rows, width)) for _ in range(N_FOREIGN)
    ]
    found["normal, all moments right"] = [
        mean + rng.normal(size=(n_rows, width)) @ root.T for _ in range(N_FOREIGN)
    ]
    return found


def _widened(dataset: DomainDataset, width: int, rng: np.random.Generator) -> DomainDataset:
    """Normal features beside those of the generator, and everything turned at random."""
    more = width - dataset.X.shape[1]
    if not more:
        return dataset
    wide = np.column_stack([dataset.X, rng.normal(size=(len(dataset.X), more))])
    turn = np.linalg.qr(rng.normal(size=(width, width)))[0]
    return replace(dataset, X=wide @ turn)


def _like(dataset: DomainDataset, mean: Floats, deviation: Floats) -> Clouds:
    scaled = (dataset.X - dataset.X.mean(axis=0)) / dataset.X.std(axis=0) * deviation + mean
    return [scaled[dataset.sample_domain == name] for name in dataset.domains]


def flagged_shares(model: Any, clouds: dict[str, Clouds]) -> dict[str, float]:
    """The share of domains off the map in every group."""
    shares = {}
    for name, group in clouds.items():
        names = np.repeat([f"foreign {k}" for k in range(len(group))], [len(c) for c in group])
        table = model.place_domains(np.concatenate(group), sample_domain=names, forecast=False)
        shares[name] = float(table["off_map"].mean())
    return shares


def flag_families() -> Found:
    """False alarms and hits on generated families, of which there are as many domains as wanted."""
    n_domains = N_KNOWN + N_FAMILY
    families: dict[str, Callable[[int], DomainDataset]] = {
        "graph": lambda seed: make_domain_graph(n_domains=n_domains, random_state=seed),
        "circle": lambda seed: make_circle(n_domains=n_domains, random_state=seed),
        "drift, 6 features": lambda seed: make_drift(
            n_domains=n_domains, n_features=6, random_state=seed
        ),
        "drift, 6 features, plane": lambda seed: make_drift(
            n_domains=n_domains, n_features=6, index_dim=2, random_state=seed
        ),
    }
    found: dict[str, Any] = {}
    for name, make in families.items():
        alarms, hits = [], []
        for seed in range(N_SPLITS):
            dataset = make(seed)
            order = np.random.default_rng(seed).permutation(n_domains).tolist()
            known, new = order[:N_KNOWN], order[N_KNOWN:]
            part = replace(dataset, source_domains=known[: N_KNOWN // 2])
            model = fitted(part, known, **SHORT)
            family = {"family": [dataset.X[dataset.sample_domain == one] for one in new]}
            alarms.append(flagged_shares(model, family)["family"])
            hits.append(flagged_shares(model, foreign_clouds(dataset, seed)))
        found[name] = {
            "false_alarms": float(np.mean(alarms)),
            "flagged": {key: float(np.mean([one[key] for one in hits])) for key in hits[0]},
        }
        print(name, json.dumps(found[name]), flush=True)
    return {"families": found}


def time_hundred() -> dict[str, float]:
    """100 new domains of 100 rows on a map of 60: seconds of CPU."""
    known = make_domain_graph(n_domains=60, random_state=0)
    model = fitted(known, known.domains, effort="quick")
    new = make_domain_graph(n_domains=100, random_state=1)
    names = [f"new {one}" for one in new.sample_domain]
    seconds = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OffMapWarning)
        for what, act in (("placed", model.place_domains), ("added", model.add_domains)):
            start = time.process_time()
            act(new.X, sample_domain=names)
            seconds[what] = time.process_time() - start
    return {"cpu_seconds_of_100_domains": seconds}


MEASUREMENT = Measurement(
    parts={
        "time": time_hundred,
        "flag": flag_families,
        **{f"places {name}": partial(compare_places, name) for name in LEFT_OUT},
        **{name: partial(compare, name) for name in LEFT_OUT},
    }
)
