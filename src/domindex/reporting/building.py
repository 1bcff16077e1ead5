"""From a fitted model and its data to the content of a report."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from domindex.data import DomainData, check_domain_data, check_domain_names, check_inputs
from domindex.data.domain_data import Task
from domindex.errors import DomindexError, InputError
from domindex.estimators.vdi import BaseVDI
from domindex.evaluation import IndexAudit, audit_index
from domindex.reporting.aggregates import Columns, aggregate_columns, aggregate_inputs
from domindex.reporting.audit_words import audit_record
from domindex.reporting.diagnostics import diagnose
from domindex.reporting.distances import distances_to_sources
from domindex.reporting.held_out import held_out_quality
from domindex.reporting.model_facts import ModelFacts, model_facts
from domindex.reporting.report_data import DomainRecord, HeldOutQuality, ReportData, Value
from domindex.versions import versions

N_NEIGHBOURS = 4
MAX_CLASSES = 8
"""Classes and outputs whose predictions become columns to colour by."""


def report_data(
    model: Any,
    X: Any,
    y: Any,
    sample_domain: Any,
    *,
    columns: Any = None,
    title: str | None = None,
    held_out: int = 3,
    seconds: float | None = None,
    random_state: int = 0,
) -> ReportData:
    """Gather what a report shows of a fitted model; takes about as long as a short fit.

    Parameters
    ----------
    model : a fitted `VDIClassifier` or `VDIRegressor`
    X, y, sample_domain : what it was fitted on; labels are read in its source domains only
    columns : more columns to colour the map by, a data frame or a mapping of names to one value
        per row; numbers are averaged over a domain, of anything else the commonest value counts
    title : heading of the report
    held_out : refits at most for the quality on held-out source domains; 0 for none
    seconds : how long the fit took, where it is known
    random_state : seed of the audit and of the rows used in refits
    """
    _check_fitted(model)
    names = check_domain_names(sample_domain, len(check_inputs(X)))
    task: Task = "classification" if is_classifier(model) else "regression"
    data = check_domain_data(X, y, names, model.source_domains_, task=task)
    _check_same_domains(model, data)
    notes: list[str] = []
    quality = _quality(model, data, held_out, random_state, notes)
    audit = _audit(model, X, y, names, random_state, notes)
    chosen = model_facts(model)
    records = _domain_records(model, chosen, data, quality)
    return ReportData(
        title=title or f"Map of {data.n_domains} domains",
        task=data.task,
        estimator=type(model).__name__,
        facts=_facts(model, chosen, data, seconds),
        domains=records,
        columns=_columns(model, X, names, columns, [record.name for record in records], notes),
        held_out=quality,
        audit=None if audit is None else audit_record(audit),
        history=chosen.history,
        trials=chosen.members,
        warnings=diagnose(
            model.domain_index_,
            records,
            audit,
            quality,
            [str(name) for name in getattr(model, "off_map_domains_", ())],
        ),
        notes=tuple(notes),
        configuration={name: repr(value) for name, value in sorted(model.get_params().items())},
        versions=versions(),
        summary=chosen.summary,
    )


def _check_fitted(model: Any) -> None:
    if not isinstance(model, BaseVDI) or not hasattr(model, "domain_index_"):
        raise InputError(
            f"model is {model!r}. A report needs a VDIClassifier or VDIRegressor after fit."
        )


def _check_same_domains(model: Any, data: DomainData) -> None:
    if set(data.domains) != set(model.domains_):
        raise InputError(
            f"sample_domain names {data.n_domains} domains, and the model was fitted on "
            f"{len(model.domains_)} others or more. Pass the data that the model was fitted on."
        )


def _facts(
    model: Any, chosen: ModelFacts, data: DomainData, seconds: float | None
) -> dict[str, Value]:
    facts: dict[str, Value] = {
        "rows": data.n_rows,
        "features": int(np.prod(data.inputs.shape[1:])),
        "domains": data.n_domains,
        "sources": len(data.source_domains),
        "targets": len(data.target_domains),
    }
    if data.classes is not None:
        facts["classes"] = len(data.classes)
    else:
        facts["outputs"] = data.labels.shape[1]
    facts["representation"] = chosen.representation
    if chosen.flow is not None:
        facts["flow"] = chosen.flow
    if seconds is not None:
        facts["seconds to fit"] = float(seconds)
    facts["seed"] = None if model.random_state is None else str(model.random_state)
    return facts


def _domain_records(
    model: Any, chosen: ModelFacts, data: DomainData, quality: HeldOutQuality | None
) -> tuple[DomainRecord, ...]:
    index = model.domain_index_
    apart = np.array(index.map_distances)
    np.fill_diagonal(apart, np.inf)
    away = distances_to_sources(index, model.source_domains_)
    sizes = dict(zip(data.domains, data.domain_sizes))
    scores = {} if quality is None else {one.name: one.score for one in quality.scores}
    nearest = np.argsort(apart, axis=1, kind="stable")[:, : min(N_NEIGHBOURS, len(apart) - 1)]
    return tuple(
        DomainRecord(
            name=str(name),
            role="source" if name in model.source_domains_ else "target",
            rows=int(sizes[name]),
            coordinates=tuple(index.coordinates[number].tolist()),
            deviations=tuple(model.domain_index_std_[number].tolist()),
            neighbours=tuple(str(index.domains[other]) for other in nearest[number]),
            distance_to_source=float(away[number]),
            held_out_score=scores.get(str(name)),
            forecast=chosen.forecasts.get(str(name)),
        )
        for number, name in enumerate(index.domains)
    )


def _columns(
    model: Any,
    X: Any,
    names: Sequence[Hashable],
    extra: Any,
    domains: list[str],
    notes: list[str],
) -> Columns:
    """The user's columns, what the model predicts, and the inputs."""
    given = {} if extra is None else aggregate_columns(extra, names, domains)
    predicted = aggregate_columns(_predictions(model, X, names), names, domains)
    labels = getattr(model, "feature_names_in_", None)
    inputs, left_out = aggregate_inputs(X, names, domains, None if labels is None else list(labels))
    if left_out:
        notes.append(f"{left_out} of the input columns are not offered for colouring the map.")
    ours = predicted | inputs
    return given | {name: values for name, values in ours.items() if name not in given}


def _predictions(model: Any, X: Any, names: Sequence[Hashable]) -> dict[str, Any]:
    if is_classifier(model):
        chances = model.predict_proba(X, sample_domain=names)
        likeliest = chances.argmax(axis=1)
        shown = range(len(model.classes_))[:MAX_CLASSES]
        if len(model.classes_) == 2:
            shown = range(1, 2)
        shares = {
            f"predicted share of class {model.classes_[number]}": likeliest == number
            for number in shown
        }
        return shares | {"mean confidence": chances.max(axis=1)}
    values = np.asarray(model.predict(X, sample_domain=names)).reshape(len(names), -1)
    if values.shape[1] == 1:
        return {"mean prediction": values[:, 0]}
    return {
        f"mean prediction, output {number + 1}": column
        for number, column in enumerate(values.T[:MAX_CLASSES])
    }


def _quality(
    model: Any, data: DomainData, folds: int, random_state: int, notes: list[str]
) -> HeldOutQuality | None:
    if folds < 2:
        notes.append("Prediction quality on held-out source domains was not asked for.")
        return None
    try:
        quality = held_out_quality(model, data, folds=folds, random_state=random_state)
    except DomindexError as error:
        notes.append(f"Prediction quality on held-out source domains is not known: {error}")
        return None
    if quality is None:
        notes.append(
            "Prediction quality on held-out source domains is not known: that takes two source "
            "domains or more, with labels of two classes left when one is hidden."
        )
    return quality


def _audit(
    model: Any, X: Any, y: Any, names: list[Hashable], random_state: int, notes: list[str]
) -> IndexAudit | None:
    try:
        return audit_index(model, X, y, names, random_state=random_state)
    except InputError as error:
        notes.append(f"The audit of the index could not be made: {error}")
        return None
