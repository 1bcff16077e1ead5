"""Columns of the data by domain: to colour the map by, and why a domain lies where it does."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import is_classifier

from domindex.arrays import Floats, Ints
from domindex.errors import InputError
from domindex.geometry.distances import distances_to_sources, nearest_domains
from domindex.inputs.messages import did_you_mean, preview
from domindex.inputs.names import is_missing
from domindex.inputs.profiles import ColumnProfile, max_profiles
from domindex.reporting.canvas import map_and_sources
from domindex.reporting.report_data import (
    ColumnRecord,
    DifferenceRecord,
    MissingRecord,
    Value,
    most_columns,
)

Columns = dict[str, tuple[Value, ...]]
Explanations = tuple[
    tuple[ColumnRecord, ...], list[tuple[DifferenceRecord, ...]], list[tuple[MissingRecord, ...]]
]


def report_columns(
    model: Any,
    X: Any,
    names: Sequence[Hashable],
    row_domains: Ints,
    extra: Any,
    notes: list[str],
    max_inputs: int = 60,
) -> Columns:
    """One value per domain of the user's `extra` columns, of predictions, and of the inputs."""
    n_domains = len(model.domain_index_.domains)
    given = {} if extra is None else aggregate_columns(extra, row_domains, n_domains)
    inputs = model._read_rows(X)
    left_out = 0
    if inputs.ndim > 2:
        shown = {"mean of the inputs": inputs.reshape(len(inputs), -1).mean(axis=1)}
    else:
        left_out = max(0, inputs.shape[1] - max_inputs)
        shown = dict(zip(input_names(model, inputs.shape[1]), inputs.T[:max_inputs]))
    ours = aggregate_columns(_predictions(model, X, names) | shown, row_domains, n_domains)
    every = given | {name: values for name, values in ours.items() if name not in given}
    most = most_columns(n_domains)
    left_out += max(0, len(every) - most)
    if left_out:
        notes.append(f"{left_out} of the columns are not offered for colouring the map.")
    return dict(list(every.items())[:most])


def input_names(model: Any, n_inputs: int) -> list[str]:
    """As the model knows them, or by number."""
    return model._input_names() or [f"input {number + 1}" for number in range(n_inputs)]


def _predictions(
    model: Any, X: Any, names: Sequence[Hashable], max_shown: int = 8
) -> dict[str, Any]:
    """What the model predicts, a value per row; of many classes or outputs the first few."""
    if not model.source_domains_:  # a map predicts nothing
        return {}
    if is_classifier(model):
        chances = model.predict_proba(X, sample_domain=names)
        likeliest = chances.argmax(axis=1)
        shown = range(1, 2) if len(model.classes_) == 2 else range(len(model.classes_))[:max_shown]
        shares = {f"predicted share of class {model.classes_[n]}": likeliest == n for n in shown}
        return shares | {"mean confidence": chances.max(axis=1)}
    values = np.asarray(model.predict(X, sample_domain=names)).reshape(len(names), -1)
    if values.shape[1] == 1:
        return {"mean prediction": values[:, 0]}
    outputs = enumerate(values.T[:max_shown], start=1)
    return {f"mean prediction, output {number}": column for number, column in outputs}


def aggregate_columns(columns: Any, row_domains: Ints, n_domains: int) -> Columns:
    """Per domain the mean of each column of numbers, the commonest value of any other.

    Nothing is shown of a single row: a mean needs three values, and a text must be in five rows.
    """
    found: Columns = {}
    for label, values in _columns_by_name(columns, "columns", len(row_domains)):
        frame = pd.DataFrame({"domain": row_domains, "value": values})
        is_text = values.dtype == object
        known = [not is_missing(one) for one in values] if is_text else np.isfinite(values)
        frame = frame[known]
        if is_text:
            frame = frame.assign(value=frame["value"].map(str))
            frame = frame[frame.groupby("value")["value"].transform("size") >= 5]
            by_domain = frame.groupby("domain", sort=False)["value"].agg(_commonest)
        else:
            by_domain = frame.groupby("domain")["value"].agg(["mean", "size"])
            by_domain = by_domain.loc[by_domain["size"] >= 3, "mean"]
        found[label] = tuple(by_domain.get(number) for number in range(n_domains))
    return found


def _commonest(texts: pd.Series) -> str:
    """The one that comes first, of those that are equally common."""
    return str(texts.value_counts(sort=False).idxmax())


def profile_table(
    table: Any, row_domains: Ints, n_domains: int, seed: int = 0
) -> tuple[ColumnProfile, ...]:
    """A profile for each column of a data frame or a mapping; what is no number counts as text."""
    # at most 500 rows of every domain, enough for eight bins, in their order
    mixed = np.random.default_rng(seed).permutation(len(row_domains))
    rows = np.sort(pd.Series(mixed).groupby(row_domains[mixed]).head(500).to_numpy())
    numbers = row_domains[rows]
    found = []
    for name, values in _columns_by_name(table, "table", len(row_domains))[
        : max_profiles(n_domains)
    ]:
        if values.dtype.kind == "f":
            found.append(ColumnProfile.of_numbers(name, values[rows], numbers, n_domains))
            continue
        texts = [None if is_missing(one) else str(one) for one in values[rows]]
        found.append(ColumnProfile.of_texts(name, texts, numbers, n_domains))
    return tuple(found)


def _columns_by_name(columns: Any, argument: str, n_rows: int) -> list[tuple[str, NDArray]]:
    """The columns of a data frame or a mapping: floats, NaN where missing, or objects."""
    if not isinstance(columns, Mapping):
        frame = nw.from_native(columns, eager_only=True, pass_through=True)
        if not isinstance(frame, nw.DataFrame):
            raise InputError(
                f"{argument} is a {type(columns).__name__}. Pass a data frame, or a mapping of "
                "names to one value per row."
            )
        columns = {label: frame[label].to_list() for label in frame.columns}
    found = [(str(label), _array(values)) for label, values in columns.items()]
    for label, values in found:
        if len(values) != n_rows:
            raise InputError(
                f"{argument} has {len(values)} values in {label!r}, but there are {n_rows} rows. "
                "Pass one value per row."
            )
    return found


def _array(values: Any) -> NDArray:
    """Numbers as floats, anything else as objects."""
    array = np.asarray(values)
    if array.dtype.kind in "biuf":
        return array.astype(np.float64).ravel()
    objects = np.empty(len(values), dtype=object)
    objects[:] = list(values)
    if all(is_missing(one) or isinstance(one, int | float) for one in objects):
        return np.array([np.nan if is_missing(one) else float(one) for one in objects])
    return objects


@dataclass(frozen=True, eq=False)
class Comparison:
    """One column of all domains beside their neighbours and the sources."""

    profile: ColumnProfile
    sources: Floats  # (bins,) shares of the sources, each counting alike
    neighbours: Floats  # (domains, bins) shares of each domain's neighbours
    # (domains, 3) from neighbours, from sources, 0 to 1, and by chance, were there no reason
    distances: Floats
    missing: Floats  # (domains,) share of missing values

    @classmethod
    def of(cls, profile: ColumnProfile, nearest: Ints, is_source: NDArray[np.bool_]) -> Comparison:
        """Domains that the profile does not hold, such as added ones, have no counts."""
        more = len(nearest) - len(profile.counts)
        counts = np.pad(profile.counts, ((0, more), (0, 0)))
        profile = replace(profile, counts=counts, missing=np.pad(profile.missing, (0, more)))
        shares, known = profile.shares, profile.counts.sum(axis=1)
        there = (known > 0).astype(np.float64)
        around = there[nearest].sum(axis=1)
        neighbours = shares[nearest].sum(axis=1) / np.maximum(around, 1.0)[:, None]
        sources = profile.pooled(is_source)
        distances = [
            profile.distance(shares, neighbours) * there * (around > 0),
            profile.distance(shares, sources[None]) * there * bool(sources.any()),
            _chance(profile, neighbours, np.maximum(known, 1.0)),
        ]
        lacking = profile.missing / np.maximum(known + profile.missing, 1.0)
        return cls(profile, sources, neighbours, np.stack(distances, axis=1), lacking)

    @property
    def strength(self) -> Floats:
        """(domains,) by which columns are ordered: the mean of both distances beyond chance."""
        near, away, chance = self.distances.T
        return (near + away) / 2.0 - chance


def compare(model: Any, profiles: Sequence[ColumnProfile]) -> list[Comparison]:
    """Every column, over all domains of the model's map."""
    index, is_source = map_and_sources(model)
    return [Comparison.of(one, nearest_domains(index), is_source) for one in profiles]


def explain(model: Any, profiles: Sequence[ColumnProfile], most: int = 5) -> Explanations:
    """The columns, and for every domain those in which it differs, and those that it lacks.

    At most `most` of each, the largest first; less than half a percent lacking is not mentioned.
    """
    _, is_source = map_and_sources(model)
    compared = compare(model, profiles)
    if not compared:
        return (), [()] * len(is_source), [()] * len(is_source)
    strength = np.stack([one.strength for one in compared], axis=1)
    lacking = np.stack([one.missing for one in compared], axis=1)
    shares = [one.profile.shares for one in compared]

    def difference(n: int, domain: int) -> DifferenceRecord:
        near, away, chance = compared[n].distances[domain].tolist()
        parts = _rounded(shares[n][domain]), _rounded(compared[n].neighbours[domain])
        return DifferenceRecord(n, near, away, chance, *parts)

    return (
        tuple(
            ColumnRecord(
                one.profile.name,
                one.profile.bin_names,
                not one.profile.levels,
                _rounded(one.sources),
                float(missing[is_source].mean()) if is_source.any() else 0.0,
            )
            for one, missing in zip(compared, lacking.T)
        ),
        [
            tuple(difference(n, domain) for n in columns if strength[domain, n] > 0)
            for domain, columns in enumerate(_largest(strength, most))
        ],
        [
            tuple(MissingRecord(n, float(values[n])) for n in columns if values[n] >= 0.005)
            for values, columns in zip(lacking, _largest(lacking, most))
        ],
    )


def map_table(model: Any) -> pd.DataFrame:
    """A row a domain: domain, role, index_1, …, std_1, …, distance, and angle where it closes."""
    index, is_source = map_and_sources(model)
    columns: dict[str, Any] = {
        "domain": pd.Series(list(index.domains), dtype=object),
        "role": np.where(is_source, "source", "target").tolist(),
    }
    columns |= {f"index_{n}": axis for n, axis in enumerate(index.coordinates.T, start=1)}
    columns |= {f"std_{n}": axis for n, axis in enumerate(model.domain_index_std_.T, start=1)}
    columns["distance"] = distances_to_sources(index, model.source_domains_)
    if index.angles is not None:
        columns["angle"] = index.angles
    return pd.DataFrame(columns)


def explain_domain(model: Any, name: Hashable) -> pd.DataFrame:
    """A row a column, the largest difference first; see `CrossDomainModel.explain_domain`."""
    domains = model.domain_index_.domains
    if is_missing(name) or name not in domains:
        raise InputError(
            f"{name!r} is none of the model's domains ({preview(domains)}). "
            f"{did_you_mean(str(name), map(str, domains)) or 'Spell it as in sample_domain.'}"
        )
    number = domains.index(name)
    compared = compare(model, () if model._record is None else model._record.profiles)
    known = [one for one in compared if one.profile.counts[number].any()]
    rows = []
    for one in sorted(known, key=lambda one: -one.strength[number]):
        shares = one.profile.shares[number], one.neighbours[number], one.sources
        level = None
        if one.profile.levels:
            level = int(np.abs(2.0 * shares[0] - shares[1] - shares[2]).argmax())
        typical = [_typical(one.profile, part, level) for part in shares]
        rows.append([one.profile.name, *one.distances[number].tolist(), *typical])
    names = ["column", "from_neighbours", "from_sources", "chance"]
    typical_names = ["typical", "neighbours_typical", "sources_typical"]
    return pd.DataFrame(rows, columns=names + typical_names)


def _typical(profile: ColumnProfile, shares: Floats, level: int | None) -> str | None:
    """The range that holds the median, or the share of a category; None where nothing is known."""
    if not shares.any():
        return None
    if level is not None:
        return f"{profile.bin_names[level]} {shares[level]:.0%}"
    half = shares.sum() / 2.0
    return profile.bin_names[int((np.cumsum(shares) >= half - 1e-9).argmax())]


def _chance(profile: ColumnProfile, shares: Floats, rows: Floats) -> Floats:
    """(domains,) expected distance of so many rows, drawn from shares (domains, bins), to these."""
    if profile.levels or not len(profile.edges):
        spread = np.sqrt(2.0 * shares * (1.0 - shares) / np.pi).sum(axis=1) / 2.0
    else:
        below = np.clip(np.cumsum(shares, axis=1)[:, :-1], 0.0, 1.0)
        spread = np.sqrt(2.0 * below * (1.0 - below) / np.pi).mean(axis=1)
    return spread / np.sqrt(rows)


def _largest(values: Floats, most: int) -> list[list[int]]:
    """Of each row the numbers of its largest values, the largest first."""
    return np.argsort(-values, axis=1, kind="stable")[:, :most].tolist()


def _rounded(shares: Floats) -> tuple[float, ...]:
    """To whole percents: a bar shows no more, and no single row can be recognised."""
    return tuple(np.round(shares, 2).tolist())
