"""Fits without targets, without labels and without names: what they cost and how good they are.

Two moons turn by 18° from each of ten domains to the next, the protocol of temporal domain
generalisation: nine are fitted with all their labels, the last is predicted. Domains of known data
are thinned to 100 rows and fitted by name, and by an order in which names are never given.
"""

from __future__ import annotations

import time
from functools import partial

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_moons
from sklearn.ensemble import ExtraTreesClassifier

from domindex import CrossDomainClassifier, CrossDomainRegressor, DomainIndexer
from domindex.datasets import load_dataset, make_domain_graph
from domindex.evaluation import index_correlation
from domindex.inputs.windows import OrderWindows
from domindex_bench.data.real import list_real_datasets, load_real_dataset
from domindex_bench.measuring import Found, Measurement, origin_line

SEEDS = range(5)
ORDERED = ("circle", "dg-15", "dg-60", "gapminder", "elec2")
RANKED = ("ordered", "shuffled")


def rotating_moons(seed: int) -> tuple[NDArray, NDArray, NDArray]:
    """Rows, classes and domains: ten of 200 rows, 18° apart."""
    rows, classes = [], []
    for domain in range(10):
        X, y = make_moons(200, noise=0.1, random_state=100 * seed + domain)
        angle = np.deg2rad(18.0 * domain)
        turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
        rows.append(X @ turn)
        classes.append(y)
    return np.concatenate(rows), np.concatenate(classes), np.repeat(np.arange(10), 200)


def moons(seed: int) -> Found:
    """Errors in the last domain, in percent."""
    X, y, domains = rotating_moons(seed)
    known = domains < 9
    start = time.perf_counter()
    model = CrossDomainClassifier(effort="quick", random_state=seed)
    model.fit(X[known], y[known], sample_domain=domains[known])
    seconds = time.perf_counter() - start
    trend = np.polyfit(np.arange(9), model.domain_indices_, 1)
    place = trend[0] * 9 + trend[1]  # where a line through the nine goes on: no row is read
    plain = ExtraTreesClassifier(200, random_state=seed).fit(X[known], y[known])
    last, truth = X[~known], y[~known]
    predicted = {
        "with the domain's rows": model.predict(last, sample_domain=domains[~known]),
        "each row alone": model.predict(last, at=place),
        "trees on all nine": plain.predict(last),
    }
    errors = {
        name: round(100 * float((said != truth).mean()), 2) for name, said in predicted.items()
    }
    return {"errors": errors, "seconds": round(seconds, 1)}


def map_of_a_thousand() -> Found:
    family = make_domain_graph(n_domains=1000, samples_per_domain=20, random_state=0)
    start = time.perf_counter()
    DomainIndexer(effort="quick", random_state=0).fit(family.X, sample_domain=family.sample_domain)
    return {
        "domains": 1000,
        "rows": len(family.X),
        "seconds": round(time.perf_counter() - start, 1),
    }


def windows_of_many_rows() -> Found:
    rng, along = np.random.default_rng(0), np.linspace(0.0, 6.0, 100_000)
    rows = rng.normal(size=(100_000, 10))
    rows[:, 0] += 3.0 * np.sin(along)
    start = time.perf_counter()
    windows = OrderWindows.fit(rows, along)
    seconds = round(time.perf_counter() - start, 1)
    return {"rows": len(rows), "windows": len(windows.names), "seconds": seconds}


def by_order(name: str, seed: int) -> Found:
    """Targets with names, by an order along the index, and with domains shuffled: accuracy, or the
    share of variance that is missed."""
    load = load_real_dataset if name in list_real_datasets() else load_dataset
    data, rng = load(name), np.random.default_rng(seed)
    kind = CrossDomainClassifier if data.task == "classification" else CrossDomainRegressor
    index = np.asarray(data.true_index).reshape(len(data.domains), -1)[:, 0]
    numbers = {domain: number for number, domain in enumerate(data.domains)}
    domains = np.array([numbers[domain] for domain in data.sample_domain])
    kept = [rng.permutation(np.flatnonzero(domains == n))[:100] for n in range(len(index))]
    rows = np.concatenate(kept)
    of, is_source = domains[rows], data.is_source[rows]
    X, truth = data.X[rows], data.y[rows].reshape(len(rows))
    labels = np.where(is_source, truth.astype(object), None)

    def score(said: NDArray) -> float:
        asked, known = said.reshape(len(said))[~is_source], truth[~is_source]
        if data.task == "classification":
            return float((asked == known).mean())
        return float(((asked - known) ** 2).mean() / known.var())

    start = time.process_time()
    named = kind(effort="quick", random_state=seed)
    named.fit(
        X, labels, sample_domain=of.tolist(), source_domains=np.unique(of[is_source]).tolist()
    )
    found: Found = {"task": data.task}
    found["names"] = score(named.predict(X, sample_domain=of.tolist()))
    ranks = np.argsort(np.argsort(index)), rng.permutation(len(index))
    for how, rank in zip(RANKED, ranks):
        times = np.argsort(np.lexsort((rng.random(len(of)), rank[of])))
        model = kind(effort="quick", random_state=seed)
        model.fit(X, labels, order=times)
        found[how] = score(model.predict(X, sample_domain=model.name_domains(times)))
        correlation = index_correlation(model.row_index_, index[of])
        found[f"{how}, index"] = round(float(correlation), 4)
        found[f"{how}, windows"] = len(model.domains_)
    return found | {"domains": len(index), "cpu_seconds": round(time.process_time() - start, 1)}


def order_table(content: Found) -> list[str]:
    seeds = [(name, f"order, {name}, seed {seed}") for name in ORDERED for seed in SEEDS]
    measured = [(name, part, content[part]) for name, part in seeds if part in content]
    lines = [
        "| dataset, domains, seed | names | order | windows | correlation | shuffled |",
        "|---|---|---|---|---|---|",
    ]
    for name, part, found in measured:
        form = ".1%" if found["task"] == "classification" else ".4f"
        names, ordered, shuffled = (f"{found[one]:{form}}" for one in ("names", *RANKED))
        known = f"{found['ordered, windows']} | {found['ordered, index']:.3f}"
        title = f"{name}, {found['domains']}, {part.rpartition(' ')[2]}"
        lines.append(f"| {title} | {names} | {ordered} | {known} | {shuffled} |")
    return [*lines, "", origin_line("any_labels", measured[0][2])]


MEASUREMENT = Measurement(
    page="labels.md",
    tables={"orders": order_table},
    parts={
        "map of 1,000 domains": map_of_a_thousand,
        "windows of 100,000 rows": windows_of_many_rows,
        **{f"moons, seed {seed}": partial(moons, seed) for seed in SEEDS},
        **{
            f"order, {name}, seed {seed}": partial(by_order, name, seed)
            for name in ORDERED
            for seed in SEEDS
        },
    },
)
