"""From a fitted model, and its data where it is at hand, to the content of a report."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Hashable, Sequence
from functools import wraps
from itertools import starmap
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import is_classifier

from domindex.arrays import Ints
from domindex.committee.record import HeldOutRecord, profile_features
from domindex.committee.words import candidate_label
from domindex.errors import InputError, OffMapWarning
from domindex.estimators.fitted import MappedEstimator
from domindex.estimators.frames import FitArguments, fitted_rows, pandas_frame
from domindex.evaluation import IndexAudit
from domindex.geometry.distances import distances_to_sources, nearest_domains
from domindex.inputs import DomainData, check_domain_data, check_domain_names
from domindex.inputs.domain_data import Task
from domindex.inputs.names import number_names
from domindex.inputs.profiles import ColumnProfile
from domindex.progress import Progress
from domindex.reporting.audit import audit_record, audit_within
from domindex.reporting.columns import (
    Explanations,
    explain,
    input_names,
    profile_table,
    report_columns,
)
from domindex.reporting.diagnostics import diagnose
from domindex.reporting.montage import are_pictures, domain_pictures, picture_uri, spread_out
from domindex.reporting.report_data import (
    DomainRecord,
    DriverRecord,
    ForecastRecord,
    HeldOutQuality,
    HeldOutScore,
    History,
    ReportData,
    Value,
)
from domindex.versions import versions

METHOD = (
    "While the model was fitted, source domains were left out in turn, some together with their "
    "neighbours, and predicted by candidates that had not seen their labels. The scores are those "
    "of the committee, the weighted mean of these predictions. Its weights were chosen on the same "
    "rows, so the scores are a little too good. No label of a target was used."
)

METHOD_OF_ROWS = (
    "There is a single source, so rows of it were left out in turn. That shows how well its own "
    "rows are predicted, and nothing about other domains."
)


def _without_off_map_warnings(gather: Callable[..., ReportData]) -> Callable[..., ReportData]:
    """A report says itself where not to trust predictions."""

    @wraps(gather)
    def quietly(*given: Any, **more: Any) -> ReportData:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OffMapWarning)
            return gather(*given, **more)

    return quietly


class GivenRows(NamedTuple):
    """The data of a fit as a report reads it."""

    data: DomainData  # checked; labels in source domains only
    names: list[Hashable]  # the domain of every row
    row_domains: Ints  # the number of every row's domain on the map


@_without_off_map_warnings
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
    model : a fitted `CrossDomainClassifier` or `CrossDomainRegressor`, one of the paper's model, or
        a `DomainIndexer`
    X : what it was fitted on; without it there are no audit, predictions by domain and pictures
    y : labels, read in source domains only
    sample_domain : a domain name per row
    table : a data frame, or name to values: the columns in which domains are compared; None takes X
    columns : more columns to colour the map by: means of numbers, of others the commonest value
    title : heading of the report
    seconds : how long the fit took; None takes what `timings_` says
    budget : seconds that gathering may take; None for a quarter of the fit's time
    random_state : seed of the audit and of the rows that are looked at
    progress : where to show what is being done; None shows it where the model is verbose
    preparation : sentences on what was done to the table before the fit

    Examples
    --------
    >>> report_data(model, title="Circle").facts["domains"]
    5
    """
    if not isinstance(model, MappedEstimator) or not hasattr(model, "domain_index_"):
        raise InputError(
            f"model is {model!r}. A report needs a CrossDomainClassifier, CrossDomainRegressor, "
            "VDIClassifier, VDIRegressor or DomainIndexer after fit."
        )
    rows = fitted_rows(model, FitArguments(X, y, sample_domain, None, None))
    X, y, sample_domain = rows.X, rows.y, rows.sample_domain
    if table is None and X is not None and model._preparation is not None:
        table = pandas_frame(X)[model._preparation.names]
    progress = progress or Progress(model.verbose > 0)
    if budget is not None and not budget >= 0:
        raise InputError(f"budget is {budget!r}. Give seconds, 0 or more, or None.")
    given = _given_rows(model, X, y, sample_domain, (table, columns))
    notes: list[str] = []
    quality = _quality(model, notes)
    progress.say("Report: comparing the domains …")
    why = explain(model, _profiles(model, given, table, random_state))
    audit: IndexAudit | str = "The report was written without the data: there is no audit."
    if not model.source_domains_:
        audit = "No domain has labels, so there is nothing to audit the index by."
    elif given is not None:
        progress.say("Report: auditing the index …")
        taken = model.timings_["seconds"].sum() if seconds is None else seconds
        limit = 0.25 * float(taken) if budget is None else budget
        audit = audit_within(limit, model, X, y, given.names, random_state)
    importance = pd.DataFrame() if model._record is None else model._record.importance
    records = _domain_records(model, given, quality, why, notes)
    off_map = [str(name) for name in model.off_map_domains_]
    found = audit if isinstance(audit, IndexAudit) else None
    offered = {} if given is None else report_columns(model, X, *given[1:], columns, notes)
    return ReportData(
        title=title or f"Map of {len(records)} domains",
        task="classification" if is_classifier(model) else "regression",
        estimator=type(model).__name__,
        facts=_facts(model, given, records, seconds),
        domains=records,
        columns=offered,
        held_out=quality,
        audit=None if found is None else audit_record(found),
        history=history_record(model.history_),
        trials=member_records(getattr(model, "candidates_", None)),
        warnings=diagnose(model.domain_index_, records, found, quality, off_map),
        notes=tuple(notes),
        configuration={name: repr(value) for name, value in sorted(model.get_params().items())},
        versions=versions(),
        summary=tuple(model.summary().splitlines()),
        profiles=why[0],
        drivers=tuple(starmap(DriverRecord, importance.itertuples(index=False))),
        preparation=tuple(preparation),
        no_audit=audit if isinstance(audit, str) else "",
    )


def _given_rows(
    model: Any, X: Any, y: Any, sample_domain: Any, more: tuple[Any, Any]
) -> GivenRows | None:
    if X is None:
        if any(one is not None for one in (y, sample_domain, *more)):
            raise InputError(
                "y, sample_domain, table or columns are given without X. Pass X, y and "
                "sample_domain as they were fitted, or none of them."
            )
        return None
    inputs = model._read_rows(X)
    names = check_domain_names(sample_domain, len(inputs))
    task: Task = "classification" if is_classifier(model) else "regression"
    sources = model.source_domains_
    if not sources:  # a map without labels
        y, sources = np.zeros(len(inputs)), model.domains_
    data = check_domain_data(inputs, y, names, sources, task=task)
    if set(data.domains) != set(model.domains_):
        raise InputError(
            f"sample_domain names {data.n_domains} domains, and the model was fitted on "
            f"{len(model.domains_)} others or more. Pass the data that the model was fitted on."
        )
    return GivenRows(data, names, number_names(names, model.domain_index_.domains))


def _quality(model: Any, notes: list[str]) -> HeldOutQuality | None:
    """How well source domains were predicted by what had not seen their labels."""
    if model._record is None:
        notes.append(
            "Prediction quality on held-out source domains is not known: the model was saved by a "
            "version that did not keep it. Fit it again."
        )
        return None
    record: HeldOutRecord | None = model._record.held_out
    if not model.source_domains_:  # a map predicts nothing
        return None
    if record is None:
        notes.append(
            f"{type(model).__name__} holds no source out while it is fitted: it has no scores on "
            "held-out sources, no forecasts and no importance of columns. CrossDomainClassifier "
            "and CrossDomainRegressor have them (--method cross-domain)."
        )
        return None
    classes = getattr(model, "classes_", None)
    names = [str(model.domains_[number]) for number in record.domains]
    scores = zip(names, record.scores.tolist(), record.plain_scores.tolist())
    baseline = "No plain model was among the candidates, so there is nothing to compare with."
    if record.plain:
        plain = record.plain.capitalize()
        baseline = f"{plain} inputs, the best of the plain candidates in the same folds."
    return HeldOutQuality(
        score_name="root mean squared error" if classes is None else "accuracy",
        higher_is_better=classes is not None,
        method=METHOD_OF_ROWS if record.by_rows else METHOD,
        baseline=baseline,
        scores=tuple(HeldOutScore(*one) for one in scores),
        figures=dict(record.figures),
        plain_figures=dict(record.plain_figures),
        classes=() if classes is None else tuple(str(one) for one in classes),
        **{
            name: tuple(map(tuple, getattr(record, name).tolist()))
            for name in ("calibration", "confusion", "residuals", "coverage")
        },
    )


def _profiles(
    model: Any, given: GivenRows | None, table: Any, seed: int
) -> tuple[ColumnProfile, ...]:
    """Of the columns given, of the inputs, or of what the fit left of them."""
    if given is None:
        return () if model._record is None else model._record.profiles
    n_domains = len(model.domain_index_.domains)
    if table is not None:
        return profile_table(table, given.row_domains, n_domains, seed)
    inputs = given.data.inputs
    if inputs.ndim != 2:
        return ()
    names = input_names(model, inputs.shape[1])
    return profile_features(inputs, names, given.row_domains, n_domains)


def _facts(
    model: Any, given: GivenRows | None, records: tuple[DomainRecord, ...], seconds: float | None
) -> dict[str, Value]:
    n_sources = len(model.source_domains_)
    facts: dict[str, Value] = {
        "rows": sum(record.rows for record in records),
        "features": int(model.n_features_in_),
        "domains": len(records),
        "sources": n_sources,
        "targets": len(records) - n_sources,
    }
    if not n_sources:  # a map alone
        del facts["sources"], facts["targets"]
    if given is not None:
        facts["features"] = int(np.prod(given.data.inputs.shape[1:]))
        if n_sources and given.data.classes is None:
            facts["outputs"] = given.data.labels.shape[1]
    if is_classifier(model):
        facts["classes"] = len(model.classes_)
    if hasattr(model, "representation_"):
        facts["representation"] = str(model.representation_)
        if model.flow_ and model.flow_.get("family") is not None:
            facts["flow"] = str(model.flow_["family"])
    if model.domain_index_.angles is not None:
        facts["map"] = "closes"
    if seconds is not None:
        facts["seconds to fit"] = float(seconds)
    facts["seed"] = None if model.random_state is None else str(model.random_state)
    return facts


def _domain_records(
    model: Any,
    given: GivenRows | None,
    quality: HeldOutQuality | None,
    why: Explanations,
    notes: list[str],
) -> tuple[DomainRecord, ...]:
    index, forecast = model.domain_index_, getattr(model, "forecast_", None)
    pictures = {} if given is None else _pictures(model, given, notes)
    away = distances_to_sources(index, model.source_domains_)
    nearest = nearest_domains(index)
    if given is not None:
        sizes = dict(zip(given.data.domains, given.data.domain_sizes.tolist()))
    else:  # as the fit and the forecasts remember
        sizes = (
            {} if forecast is None else dict(zip(forecast["domain"], forecast["rows"].astype(int)))
        )
        if model._record is not None:
            sizes |= dict(zip(model.domains_, model._record.rows.tolist()))
    sources = set(model.source_domains_)
    scores = {} if quality is None else {one.name: one.score for one in quality.scores}
    forecasts = {} if forecast is None else forecast_records(forecast)
    return tuple(
        DomainRecord(
            name=str(name),
            role="source" if name in sources else "target",
            rows=int(sizes.get(name, 0)),
            coordinates=tuple(index.coordinates[number].tolist()),
            deviations=tuple(model.domain_index_std_[number].tolist()),
            neighbours=tuple(str(index.domains[other]) for other in nearest[number]),
            distance_to_source=float(np.nan_to_num(away[number])),
            held_out_score=scores.get(str(name)),
            forecast=forecasts.get(str(name)),
            angle=None if index.angles is None else float(index.angles[number]),
            picture=pictures.get(name),
            differences=why[1][number],
            missing=why[2][number],
        )
        for number, name in enumerate(index.domains)
    )


def _pictures(model: Any, given: GivenRows, notes: list[str]) -> dict[Hashable, str]:
    index, inputs = model.domain_index_, given.data.inputs
    if not are_pictures(inputs.shape[1:]):
        return {}
    shown = [index.domains[number] for number in spread_out(index.coordinates)]
    if len(shown) < len(index.domains):
        some = f"{len(shown)} of the {len(index.domains)} domains"
        notes.append(f"{some} have a picture, spread over the map.")
    pictures = domain_pictures(inputs, given.names, shown)
    return {name: picture_uri(picture) for name, picture in zip(shown, pictures)}


def member_records(candidates: pd.DataFrame | None) -> tuple[dict[str, Any], ...]:
    """The candidates that predict, in the order of the table: weight, near and far loss."""
    if candidates is None:
        return ()
    names = {"weight": "weight", "near loss": "near_loss", "far loss": "far_loss"}
    return tuple(
        {"candidate": candidate_label(str(row["candidate"]), str(row["representation"]))}
        | {k: _number(row[v]) for k, v in names.items()}
        for row in candidates[candidates["weight"] > 0].to_dict("records")
    )


def forecast_records(table: pd.DataFrame) -> dict[str, ForecastRecord]:
    """What to expect in the targets, by the name of the domain."""
    column = "expected_accuracy" if "expected_accuracy" in table else "expected_error"
    if column not in table:
        return {}
    ways = table["two_ways"].tolist() if "two_ways" in table else [None] * len(table)
    reasons = table["reason"].tolist() if "reason" in table else [""] * len(table)
    figures = zip(*(table[name].astype(float) for name in (column, "low", "high")), ways, reasons)
    return {str(name): ForecastRecord(*one) for name, one in zip(table["domain"], figures)}


def history_record(table: pd.DataFrame, max_epochs: int = 400) -> History:
    """Terms of the training by epoch; of many epochs some, spread evenly."""
    if not len(table):
        return History()
    rows = np.unique(np.linspace(0, len(table) - 1, min(len(table), max_epochs)).astype(int))
    thinned = table.iloc[rows]
    terms = thinned.drop(columns=["phase", "step"], errors="ignore").items()
    return History(
        phases=tuple(map(str, thinned["phase"])),
        terms={str(name): tuple(map(_number, values)) for name, values in terms},
    )


def _number(value: Any) -> float | None:
    return float(value) if math.isfinite(value) else None
