"""From a fitted model, and its data where it is at hand, to the content of a report."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from domindex.errors import InputError
from domindex.estimators.fit_record import profile_features
from domindex.estimators.fitted_rows import as_fitted
from domindex.estimators.vdi import BaseVDI
from domindex.evaluation import IndexAudit
from domindex.geometry import DomainIndex
from domindex.inputs import DomainData, check_domain_data, check_domain_names, check_inputs
from domindex.inputs.domain_data import Task
from domindex.inputs.profiles import ColumnProfile
from domindex.progress import Progress
from domindex.reporting.audit_words import audit_record
from domindex.reporting.auditing import audit_within, budget_of
from domindex.reporting.coloring import report_columns
from domindex.reporting.diagnostics import diagnose
from domindex.reporting.distances import distances_to_sources, nearest_domains
from domindex.reporting.explaining import Explanations, compare, explain
from domindex.reporting.held_out import held_out_quality
from domindex.reporting.model_facts import ModelFacts, model_facts
from domindex.reporting.montage import (
    MOST_PICTURES,
    are_pictures,
    domain_pictures,
    picture_uri,
    spread_out,
)
from domindex.reporting.profiling import profile_table
from domindex.reporting.records import DomainRecord, HeldOutQuality, Value
from domindex.reporting.report_data import ReportData
from domindex.versions import versions

N_NEIGHBOURS = 4


@dataclass(frozen=True, eq=False)
class GivenRows:
    """The data of a fit as a report reads it.

    Attributes
    ----------
    data : checked; labels in source domains only
    X, y : as they were given
    names : the domain of every row
    table : columns of the inputs as the user knows them; None takes those of X
    columns : more columns to colour the map by
    """

    data: DomainData
    X: Any
    y: Any
    names: list[Hashable]
    table: Any
    columns: Any


def report_data(
    model: Any,
    X: Any = None,
    y: Any = None,
    sample_domain: Any = None,
    *,
    table: Any = None,
    columns: Any = None,
    title: str | None = None,
    seconds: float | None = None,
    budget: float | None = None,
    random_state: int = 0,
    progress: Progress | None = None,
    preparation: Sequence[str] = (),
) -> ReportData:
    """Gather what a report shows of a fitted model.

    Parameters
    ----------
    model : a fitted `VDIClassifier` or `VDIRegressor`
    X : what it was fitted on. Without it the report lacks the audit, predictions by domain and
        pictures
    y : labels, read in source domains only
    sample_domain : a domain name per row
    table : the inputs as their user knows them, before they were made numbers: a data frame or a
        mapping of names to one value per row. Domains are compared in these columns; None takes X
    columns : more columns to colour the map by, of the same kind; numbers are averaged over a
        domain, of anything else the commonest value counts
    title : heading of the report
    seconds : how long the fit took, where it is known; else what `timings_` says
    budget : seconds that gathering may take; None for a quarter of the fit's time
    random_state : seed of the audit and of the rows that are looked at
    progress : where to show what is being done; None shows it where the model is verbose
    preparation : sentences on what was done to the table before the fit, for its reader

    Examples
    --------
    >>> from domindex import Training, VDIClassifier
    >>> from domindex.datasets import make_circle
    >>> data = make_circle(n_domains=5, n_sources=3, samples_per_domain=20)
    >>> model = VDIClassifier(
    ...     candidates=[("raw", "linear")], training=Training(index_steps=5), random_state=0
    ... )
    >>> names = data.sample_domain
    >>> model = model.fit(data.X, data.y, sample_domain=names, source_domains=[0, 1, 2])
    >>> from domindex.reporting import report_data
    >>> report_data(model, title="Circle").facts["domains"]
    5
    """
    _check_fitted(model)
    model, X, y, sample_domain, table = as_fitted(model, X, y, sample_domain, table)
    shown = progress or Progress(model.verbose > 0)
    limit = budget_of(model, seconds, budget)
    given = _given_rows(model, X, y, sample_domain, table, columns)
    content = _gathered(model, given, title, seconds, limit, random_state, shown)
    return replace(content, preparation=tuple(preparation))


def _gathered(
    model: Any,
    given: GivenRows | None,
    title: str | None,
    seconds: float | None,
    limit: float,
    seed: int,
    progress: Progress,
) -> ReportData:
    notes: list[str] = []
    chosen = model_facts(model)
    quality = _quality(model, chosen, notes)
    progress.say("Report: comparing the domains …")
    why = _explanations(model, chosen, given, seed)
    audit, unaudited = None, list[str]()
    if given is None:
        unaudited.append("The report was written without the data: there is no audit.")
    else:
        progress.say("Report: auditing the index …")
        audit = audit_within(limit, model, given.X, given.y, given.names, seed, unaudited)
    records = _domain_records(model, chosen, given, quality, why, notes)
    return ReportData(
        title=title or f"Map of {len(records)} domains",
        task="classification" if is_classifier(model) else "regression",
        estimator=type(model).__name__,
        facts=_facts(model, chosen, given, records, seconds),
        domains=records,
        columns=_columns(model, given, [record.name for record in records], notes),
        held_out=quality,
        audit=None if audit is None else audit_record(audit),
        history=chosen.history,
        trials=chosen.members,
        warnings=_warnings(model, records, audit, quality),
        notes=tuple(notes),
        configuration={name: repr(value) for name, value in sorted(model.get_params().items())},
        versions=versions(),
        summary=chosen.summary,
        profiles=why.columns,
        drivers=chosen.drivers,
        no_audit=" ".join(unaudited),
    )


def _check_fitted(model: Any) -> None:
    if not isinstance(model, BaseVDI) or not hasattr(model, "domain_index_"):
        raise InputError(
            f"model is {model!r}. A report needs a VDIClassifier or VDIRegressor after fit."
        )


def _given_rows(
    model: Any, X: Any, y: Any, sample_domain: Any, table: Any, columns: Any
) -> GivenRows | None:
    if X is None:
        if any(one is not None for one in (y, sample_domain, table, columns)):
            raise InputError(
                "y, sample_domain, table or columns are given without X. Pass X, y and "
                "sample_domain as they were fitted, or none of them."
            )
        return None
    names = check_domain_names(sample_domain, len(check_inputs(X)))
    task: Task = "classification" if is_classifier(model) else "regression"
    data = check_domain_data(X, y, names, model.source_domains_, task=task)
    if set(data.domains) != set(model.domains_):
        raise InputError(
            f"sample_domain names {data.n_domains} domains, and the model was fitted on "
            f"{len(model.domains_)} others or more. Pass the data that the model was fitted on."
        )
    return GivenRows(data, X, y, names, table, columns)


def _quality(model: Any, chosen: ModelFacts, notes: list[str]) -> HeldOutQuality | None:
    if chosen.record is None:
        notes.append(
            "Prediction quality on held-out source domains is not known: the model was saved by a "
            "version that did not keep it. Fit it again."
        )
        return None
    return held_out_quality(model, chosen.record.held_out)


def _explanations(
    model: Any, chosen: ModelFacts, given: GivenRows | None, seed: int
) -> Explanations:
    """Of the columns given, of the inputs, or of what the fit kept of them."""
    index = model.domain_index_
    nearest = nearest_domains(index, N_NEIGHBOURS)
    sources = set(model.source_domains_)
    is_source = np.array([name in sources for name in index.domains], dtype=bool)
    profiles: tuple[ColumnProfile, ...] = ()
    if given is not None and (given.table is not None or given.data.inputs.ndim == 2):
        profiles = _profiles(model, given, seed)
    elif given is None and chosen.record is not None:
        profiles = chosen.record.profiles
    return explain(compare(profiles, nearest, is_source), is_source)


def _profiles(model: Any, given: GivenRows, seed: int) -> tuple[ColumnProfile, ...]:
    data = given.data
    numbers = {name: number for number, name in enumerate(model.domain_index_.domains)}
    order = np.array([numbers[name] for name in data.domains])
    row_domains = order[data.row_domains]
    if given.table is not None:
        return profile_table(given.table, row_domains, len(order), seed)
    labels = getattr(model, "feature_names_in_", None)
    if labels is None:
        labels = [f"input {number + 1}" for number in range(data.inputs.shape[1])]
    texts = [str(label) for label in labels]
    return profile_features(data.inputs, texts, row_domains, len(order))


def _facts(
    model: Any,
    chosen: ModelFacts,
    given: GivenRows | None,
    records: tuple[DomainRecord, ...],
    seconds: float | None,
) -> dict[str, Value]:
    n_sources = len(model.source_domains_)
    facts: dict[str, Value] = {
        "rows": sum(record.rows for record in records),
        "features": int(model.n_features_in_),
        "domains": len(records),
        "sources": n_sources,
        "targets": len(records) - n_sources,
    }
    if given is not None:
        facts["features"] = int(np.prod(given.data.inputs.shape[1:]))
        if given.data.classes is None:
            facts["outputs"] = given.data.labels.shape[1]
    if is_classifier(model):
        facts["classes"] = len(model.classes_)
    facts["representation"] = chosen.representation
    if chosen.flow is not None:
        facts["flow"] = chosen.flow
    if model.domain_index_.angles is not None:
        facts["map"] = "closes"
    if seconds is not None:
        facts["seconds to fit"] = float(seconds)
    facts["seed"] = None if model.random_state is None else str(model.random_state)
    return facts


def _pictures(index: DomainIndex, data: DomainData, notes: list[str]) -> dict[Hashable, str]:
    """By domain, the picture that stands for it; none where rows are no pictures."""
    if not are_pictures(data.inputs.shape[1:]):
        return {}
    shown = [index.domains[number] for number in spread_out(index.coordinates, MOST_PICTURES)]
    if len(shown) < len(index.domains):
        notes.append(
            f"{len(shown)} of the {len(index.domains)} domains have a picture, spread over the map."
        )
    names = [data.domains[number] for number in data.row_domains]
    pictures = domain_pictures(data.inputs, names, shown)
    return {name: picture_uri(picture) for name, picture in zip(shown, pictures)}


def _rows_by_domain(model: Any, chosen: ModelFacts, given: GivenRows | None) -> dict[Hashable, int]:
    """How many rows each domain has: of the data, or as the fit and the forecasts remember."""
    if given is not None:
        return dict(zip(given.data.domains, given.data.domain_sizes.tolist()))
    known = dict(zip(model.forecast_["domain"], model.forecast_["rows"].astype(int)))
    if chosen.record is not None:
        known |= dict(zip(model.domains_, chosen.record.rows.tolist()))
    return known


def _domain_records(
    model: Any,
    chosen: ModelFacts,
    given: GivenRows | None,
    quality: HeldOutQuality | None,
    why: Explanations,
    notes: list[str],
) -> tuple[DomainRecord, ...]:
    index: DomainIndex = model.domain_index_
    pictures = {} if given is None else _pictures(index, given.data, notes)
    away = distances_to_sources(index, model.source_domains_)
    nearest: NDArray[np.int64] = nearest_domains(index, N_NEIGHBOURS)
    sizes, sources = _rows_by_domain(model, chosen, given), set(model.source_domains_)
    scores = {} if quality is None else {one.name: one.score for one in quality.scores}
    return tuple(
        DomainRecord(
            name=str(name),
            role="source" if name in sources else "target",
            rows=int(sizes.get(name, 0)),
            coordinates=tuple(index.coordinates[number].tolist()),
            deviations=tuple(model.domain_index_std_[number].tolist()),
            neighbours=tuple(str(index.domains[other]) for other in nearest[number]),
            distance_to_source=float(away[number]),
            held_out_score=scores.get(str(name)),
            forecast=chosen.forecasts.get(str(name)),
            angle=None if index.angles is None else float(index.angles[number]),
            picture=pictures.get(name),
            differences=why.differences[number],
            missing=why.missing[number],
        )
        for number, name in enumerate(index.domains)
    )


def _columns(
    model: Any, given: GivenRows | None, domains: list[str], notes: list[str]
) -> dict[str, tuple[Value, ...]]:
    if given is None:
        return {}
    return report_columns(model, given.X, given.names, given.columns, domains, notes)


def _warnings(
    model: Any,
    records: tuple[DomainRecord, ...],
    audit: IndexAudit | None,
    quality: HeldOutQuality | None,
) -> tuple[str, ...]:
    off_map = [str(name) for name in getattr(model, "off_map_domains_", ())]
    return diagnose(model.domain_index_, records, audit, quality, off_map)
