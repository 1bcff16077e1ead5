"""Ask a run about a table: predictions, places on the map, domains to add."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, TypeVar

import networkx as nx
import numpy as np
import pandas as pd
from joblib import cpu_count

from domindex.arrays import Floats
from domindex.errors import InputError, OffMapWarning
from domindex.estimators.streaming import StreamedTable, settled
from domindex.geometry.distances import distances_to_sources
from domindex.geometry.neighbors import nearest_points, point_graph
from domindex.inputs import group_rows, order_names
from domindex.inputs.columns import InputChanges, require_roles
from domindex.inputs.messages import preview
from domindex.inputs.names import look_alikes
from domindex.inputs.preparation import MIN_SHARED, PreparedInputs
from domindex.inputs.streams import Part, text_of
from domindex.persistence.atomic import check_free, check_free_file, new_file
from domindex.persistence.paths import read_bounded, usable_path
from domindex.progress import Progress, show_progress
from domindex.reporting.report import CONTENT_FILE, REPORT_FILE
from domindex.tables.labels import classes_as_spelled, join_names, read_labels
from domindex.tables.large import Data, is_large, name_of, open_stream
from domindex.tables.reading import (
    AnyPath,
    TextFormat,
    check_table_path,
    escape_formulas,
    read_with_notes,
    with_numbers,
    write_parts,
    write_table,
)
from domindex.tables.run import RUN, Run

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class TablePredictions:
    """A row of `table` for every row of the data.

    Attributes
    ----------
    n_rows : how many rows were predicted
    table : the domain; the class and the probability of each, or values and their deviations;
        `distance`, from the domain to the nearest source in units of the map's median spacing; and
        whether it lies off the map. None where data is read in parts: the file alone has the rows
    new_domains : names that were not on the map, and were placed
    off_map : names of those that lie off the map
    notes : what had to be guessed of the file, and what was done to the inputs

    Examples
    --------
    >>> predictions = predict_table(run, "patients.csv")
    >>> predictions.n_rows, predictions.new_domains
    (150, [])
    """

    n_rows: int
    table: pd.DataFrame | None
    new_domains: list[str]
    off_map: list[str]
    notes: tuple[str, ...]

    def summary(self) -> str:
        """How many rows, and which of their domains are new."""
        new = f"; new: {preview(self.new_domains)}" if self.new_domains else ""
        return f"{self.n_rows} rows{new}"


def predict_table(
    run: Run | AnyPath,
    data: Data,
    *,
    out: AnyPath | None = None,
    keep: Sequence[str] = (),
    costs: Mapping[str, float] | None = None,
    force: bool = False,
    progress: bool = False,
    escape: bool = False,
    **form: Any,
) -> TablePredictions:
    """Predict every row of the table in a file; domains never seen are placed on the map first.

    Parameters
    ----------
    run : a run, or its folder
    data : a CSV or Parquet file with the domain and the inputs; targets are not needed. What `fit`
        reads in parts is predicted in parts as well
    out : a CSV or Parquet file to write as well; it must be named where data is read in parts
    keep : columns of the data that stand beside the predictions, as they are. The `key` of the fit
        always does
    costs : what it costs to miss a class, such as {"ill": 5}; 1 for others. The class with the
        largest probability times cost is predicted; probabilities stay as they are
    force : replace a file that is there
    progress : draw bars on standard error
    escape : put an apostrophe before texts that a spreadsheet would take for formulas
    **form : what to say of a text file, see `TextFormat`; by default as in the fit

    Examples
    --------
    >>> predict_table(run, "patients.csv").table.columns.tolist()
    ['record', 'hospital', 'complication', 'p(no)', 'p(yes)', 'distance', 'off_map']
    """
    check_table_path(out, overwrite=force)
    run = Run.open(run)
    model, said, kept = (
        run.predictor(),
        TextFormat(**form).over(run.form),
        columns_to_keep(run, keep),
    )
    factors = cost_factors(model, costs or {})
    with show_progress(progress) as shown:
        if is_large(data):
            if out is None:
                raise InputError(
                    f"{name_of(data)} is read in parts, and its predictions have to go to a file. "
                    "Name one (out=, --out FILE)."
                )
            stream = open_stream(data, said, [run.domain])
            require_roles(stream.columns, _named(run, model, kept))
            rows = StreamedTable.of_model(model, stream, run.domain, spell=True, others=tuple(kept))
            how: dict[str, Any] = {"force": force, "escape": escape, "factors": factors}
            return _predict_parts(run, model, rows, out, shown, **how)
        table = read_rows(run, model, data, said, shown, kept)
        places = model.place_domains(table.inputs, sample_domain=table.domains, forecast=False)
        predicted = predict_rows(run, model, table, places, shown, factors)
        off_map = say_off_map(places, shown)
    known = set(model.domains_)
    new = [str(name) for name in order_names(table.domains) if name not in known]
    if out is not None:
        write_table(escape_formulas(predicted) if escape else predicted, out, overwrite=force)
    return TablePredictions(len(predicted), predicted, new, off_map, table.notes)


@dataclass(frozen=True, eq=False)
class TableRows:
    """Rows that were read: prepared inputs, the domain of each, and columns to keep as they are."""

    inputs: PreparedInputs
    domains: list[str]
    kept: pd.DataFrame
    notes: tuple[str, ...]  # what had to be guessed of the file, and what was done to the inputs

    @classmethod
    def of(
        cls, run: Run, model: Any, table: pd.DataFrame, kept: pd.DataFrame, notes: Sequence[str]
    ) -> TableRows:
        domains = run.rule.names(table[run.domain])
        inputs = model._preparation.apply(table)
        alike = look_alikes(domains, model.domains_)
        if alike:
            listed = preview((f"{new} for {known}" for new, known in alike.items()), 3)
            what = "1 domain counts" if len(alike) == 1 else f"{len(alike)} domains count"
            notes = [
                *notes,
                f"{what} as new and reads like a known one: {listed}. Spell it as in the "
                "fit, or name the encoding of the file (--encoding).",
            ]
        return cls(inputs, domains, kept, (*notes, *inputs.notes))

    def some(self, rows: Any) -> PreparedInputs:
        """The inputs of these rows."""
        return replace(self.inputs, values=self.inputs.values[rows])

    def of_new_domains(self, model: Any) -> tuple[PreparedInputs, list[str]]:
        """Inputs and domains of the rows whose domains a model does not know."""
        known = set(model.domains_)
        rows = [row for row, name in enumerate(self.domains) if name not in known]
        return self.some(rows), [self.domains[row] for row in rows]


def columns_to_keep(run: Run, keep: Sequence[str]) -> list[str]:
    """The key of the run, and what was asked for."""
    key = run.about.get("key")
    return list(dict.fromkeys([*([key] if key else []), *(name.strip() for name in keep)]))


def _named(run: Run, model: Any, kept: Sequence[str]) -> dict[str, Sequence[str]]:
    """The columns that a table must have, by what for."""
    return {"domain": [run.domain], "inputs": model._preparation.names, "columns to keep": kept}


def read_rows(
    run: Run,
    model: Any,
    data: AnyPath,
    form: TextFormat,
    progress: Progress,
    kept: Sequence[str] = (),
) -> TableRows:
    """The rows of a file, prepared, with notes said; columns to keep stay as they are spelled."""
    texts = columns_as_spelled(run, kept)
    table, read = read_with_notes(data, form, texts=texts, open_file=progress.open_file)
    rows = rows_of(run, model, table, read, form, kept)
    for note in rows.notes:
        progress.say(f"note: {note}")
    return rows


def columns_as_spelled(run: Run, kept: Sequence[str]) -> list[str]:
    """Columns that are read as texts; names of those to keep may hold commas."""
    return [run.domain, *kept, ",".join(kept), ", ".join(kept)]


def rows_of(
    run: Run,
    model: Any,
    table: pd.DataFrame,
    read: Sequence[str],
    form: TextFormat,
    kept: Sequence[str],
) -> TableRows:
    """The rows of a table that was read with these notes."""
    table, kept = as_fitted(table, model), join_names(kept, set(table.columns))
    require_roles(table.columns, _named(run, model, kept))
    not_inputs = {run.domain, *kept}.difference(model._preparation.names)
    numbers, _ = with_numbers(table, form.decimal, not_inputs)
    return TableRows.of(run, model, numbers, table[list(kept)], read)


def as_fitted(table: pd.DataFrame, model: Any) -> pd.DataFrame:
    """With blanks around names of columns where a fit of an earlier version saw them."""
    names = {name.strip(): name for name in model._preparation.names if name != name.strip()}
    return table.rename(columns=names) if names else table


def names_off_map(places: pd.DataFrame) -> list[str]:
    """The domains that lie off the map, of a table of places."""
    return [str(name) for name in places.loc[places["off_map"], "domain"]]


def say_off_map(places: pd.DataFrame, progress: Progress) -> list[str]:
    """The domains that lie off the map, which are also said."""
    names = names_off_map(places)
    if names:
        progress.say(
            f"note: {len(names)} of {len(places)} domains lie off the map ({preview(names)}): "
            "further from all known domains than these are from each other. Expect little there."
        )
    return names


def coordinates_of(places: pd.DataFrame) -> Floats:
    """(domains, index_dim) of a table of places."""
    return places.filter(regex=r"^index_\d+$").to_numpy(dtype=np.float64)


def predict_rows(
    run: Run,
    model: Any,
    rows: TableRows,
    places: pd.DataFrame,
    progress: Progress,
    factors: Floats | float = 1.0,
) -> pd.DataFrame:
    """Predictions domain by domain, in the order of the rows; `places` are those of the domains,
    and `factors` those of the classes, by what it costs to miss one."""
    groups, parts = list(group_rows(rows.domains, len(rows.domains))), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OffMapWarning)  # the column says it
        for name, members in progress.each("predicting", groups):
            domain = [name] * len(members)
            inputs = rows.some(members)
            parts.append(predicted_columns(model, inputs, domain, run.targets, factors))
    order = np.concatenate([members for _, members in groups])
    predicted = pd.concat(parts).iloc[np.argsort(order)].set_axis(rows.kept.index)
    ways = distances_to_sources(model.domain_index_, model.source_domains_, coordinates_of(places))
    on_map = {"distance": ways, "off_map": places["off_map"].to_numpy(bool)}
    of_domains = pd.DataFrame(on_map, index=places["domain"].tolist())
    return _beside(run.domain, rows.domains, predicted, of_domains, rows.kept)


def cost_factors(model: Any, costs: Mapping[str, float]) -> Floats | float:
    """(classes,) what it costs to miss each; 1 where nothing is said."""
    if not costs:
        return 1.0
    if model.task_ != "classification":
        raise InputError("Costs are of classes, and this run predicts values. Leave them out.")
    names = [text_of(one) for one in model.classes_.tolist()]
    unknown = [name for name in costs if name not in names]
    if unknown:
        raise InputError(f"Costs name {preview(unknown)}; the classes are {preview(names)}.")
    factors = np.array([float(costs.get(name, 1.0)) for name in names])
    if not (np.isfinite(factors).all() and (factors > 0).all()):
        raise InputError(f"Costs are {dict(costs)}. Give numbers above 0, such as ill=5.")
    return factors


def predicted_columns(
    model: Any,
    inputs: PreparedInputs,
    domain: Sequence[Any],
    targets: Sequence[str],
    factors: Floats | float = 1.0,
) -> pd.DataFrame:
    """The class and the probability of each, or values and their deviations."""
    if model.task_ == "classification":
        chances = model.predict_proba(inputs, sample_domain=domain)
        columns = {targets[0]: model.classes_[(chances * factors).argmax(axis=1)]}
        columns |= {f"p({name})": column for name, column in zip(model.classes_, chances.T)}
        return pd.DataFrame(columns)
    mean, deviation = model.predict(inputs, sample_domain=domain, return_std=True)
    mean, deviation = mean.reshape(len(domain), -1), deviation.reshape(len(domain), -1)
    columns = dict(zip(targets, mean.T))
    return pd.DataFrame(columns | {f"std({name})": s for name, s in zip(targets, deviation.T)})


def _beside(
    domain: str,
    names: Sequence[Any],
    predicted: pd.DataFrame,
    of_domains: pd.DataFrame,
    kept: pd.DataFrame,
) -> pd.DataFrame:
    """Columns that are kept, the domain, predictions, and what is known of each row's domain."""
    predicted.insert(0, domain, names)
    kept = kept.rename(columns=lambda name: f"{name} (given)" if name in predicted else name)
    table = pd.concat([kept.set_axis(predicted.index), predicted], axis=1)
    for name, values in of_domains.loc[names].items():
        while name in table:
            name = f"{name}_on_map"
        table[name] = values.to_numpy()
    return table


def label_table(
    run: Run | AnyPath,
    data: AnyPath,
    *,
    n: int = 20,
    out: AnyPath | None = None,
    force: bool = False,
    progress: bool = False,
    **form: Any,
) -> pd.DataFrame:
    """A table to fill in: the rows whose labels would say most, as `suggest_labels` has them.

    Columns: `row`, its number in the data from 1 on, the target, blank, `reason`, and all columns
    of the data as they are.

    Parameters
    ----------
    run : a run, or its folder
    data : a file with the domain and the inputs; rows that have a target are not asked for again
    n : how many rows
    out : a CSV or Parquet file to write as well
    force : replace a file that is there
    progress : draw bars on standard error
    **form : what to say of a text file, see `TextFormat`; by default as in the fit

    Examples
    --------
    >>> label_table(run, "patients.csv", n=3).columns[:4].tolist()
    ['row', 'complication', 'reason', 'record']
    """
    check_table_path(out, overwrite=force)
    run = Run.open(run)
    model, said = run.predictor(), TextFormat(**form).over(run.form)
    if not hasattr(model, "suggest_labels"):
        raise InputError(
            f"The run is of a {type(model).__name__}, which suggests no rows. Fit the table with "
            "--method cross-domain."
        )
    if is_large(data):
        raise InputError(
            f"{name_of(data)} is read in parts. Write some thousand rows of every target into a "
            "table, and ask about that."
        )
    with show_progress(progress) as shown:
        spelled = classes_as_spelled(run.targets, run.about["task"])
        how: dict[str, Any] = {"labels": spelled, "open_file": shown.open_file}
        texts = columns_as_spelled(run, columns_to_keep(run, ()))
        table, read = read_with_notes(data, said, texts=texts, **how)
        rows, y = rows_of(run, model, table, read, said, ()), None
        for note in rows.notes:
            shown.say(f"note: {note}")
        if set(run.targets) <= set(table.columns):
            known = read_labels(table, run.targets, run.about["task"]).known
            y = np.where(known, 0.0, np.nan)
        found = model.suggest_labels(rows.inputs, n, sample_domain=rows.domains, y=y)
    others = table.drop(columns=[name for name in run.targets if name in table])
    asked = pd.DataFrame({"row": found["row"].to_numpy() + 1})
    asked = asked.assign(**dict.fromkeys(run.targets), reason=found["reason"])
    beside = others.iloc[found["row"].to_numpy()].reset_index(drop=True)
    beside = beside.rename(columns=lambda name: f"{name} (given)" if name in asked else name)
    asked = pd.concat([asked, beside], axis=1)
    if out is not None:
        write_table(asked, out, overwrite=force)
    return asked


def _predict_parts(
    run: Run,
    model: Any,
    rows: StreamedTable,
    out: AnyPath,
    progress: Progress,
    *,
    force: bool,
    escape: bool,
    factors: Floats | float,
) -> TablePredictions:
    """Predict all rows of a stream into a file, which appears complete or not at all.

    New domains are first placed by a sample of their rows, so that it does not matter for a row
    which others stand beside it and how the table is divided.
    """
    present, known = rows.domains(), set(model.domains_)
    changes, n_rows = InputChanges(), 0
    with warnings.catch_warnings(), write_parts(out, overwrite=force) as write:
        warnings.simplefilter("ignore", OffMapWarning)  # a column says it
        fitted, model = model.domain_index_, settled(model, rows, present)
        index, off = model.domain_index_, set(model.off_map_domains_)
        gaps = distances_to_sources(fitted, model.source_domains_, index.coordinates)
        on_map = {"distance": gaps, "off_map": [name in off for name in index.domains]}
        of_domains = pd.DataFrame(on_map, index=list(index.domains))

        def predict(part: Part) -> tuple[pd.DataFrame, InputChanges]:
            frame, names, given = rows.read(part)
            inputs = model._preparation.apply(frame)
            predicted = predicted_columns(model, inputs, names, run.targets, factors)
            kept = {name: given.column(name).to_pandas() for name in rows.others}
            kept = pd.DataFrame(kept, index=predicted.index)
            return _beside(run.domain, names, predicted, of_domains, kept), inputs.changes

        for table, changed in _in_threads(predict, progress.each("predicting", rows.tables())):
            write(escape_formulas(table) if escape else table)
            changes, n_rows = changes + changed, n_rows + len(table)
    for note in changes.notes():
        progress.say(f"note: {note}")
    places = pd.DataFrame({"domain": present, "off_map": [name in off for name in present]})
    new = [str(name) for name in present if name not in known]
    off_map = say_off_map(places, progress)
    return TablePredictions(n_rows, None, new, off_map, changes.notes())


def _in_threads(task: Callable[[Part], Result], parts: Iterable[Part]) -> Iterator[Result]:
    """Results in the order of the parts, a few of which are in work at a time, on all cores."""
    n_threads, waiting = cpu_count(), deque[Future[Result]]()
    with ThreadPoolExecutor(n_threads) as pool:
        for part in parts:
            waiting.append(pool.submit(task, part))
            if len(waiting) > n_threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


@dataclass(frozen=True, eq=False)
class TableIndex:
    """The map: `table` has a row per domain, `graph` joins each to its nearest.

    Examples
    --------
    >>> found = TableIndex(pd.DataFrame({"domain": ["a", "b"]}), nx.path_graph(["a", "b"]))
    >>> list(found.graph.edges)
    [('a', 'b')]
    """

    table: pd.DataFrame
    graph: nx.Graph


def index_table(
    run: Run | AnyPath,
    data: AnyPath | None = None,
    *,
    out: AnyPath | None = None,
    graph: AnyPath | None = None,
    force: bool = False,
    progress: bool = False,
    **form: Any,
) -> TableIndex:
    """Where the domains of a run lie; with `data`, also those of its domains that are new.

    Columns: domain, role (source, target, added or new), x1, x2, …, std1, std2, …, distance to the
    nearest source in units of the map's median spacing, off_map, and the nearest domains. Where the
    map closes also angle, in radians around its ring.

    Parameters
    ----------
    run : a run, or its folder
    data : a CSV or Parquet file with the domain and the inputs
    out : a CSV or Parquet file to write as well
    graph : a GraphML file to write as well
    force : replace files that are there
    progress : draw bars on standard error
    **form : what to say of a text file, see `TextFormat`; by default as in the fit

    Examples
    --------
    >>> index_table(run).table[["domain", "role"]].to_numpy().tolist()[:4]
    [['Ahlen', 'source'], ['Bruck', 'source'], ['Celle', 'source'], ['Dornach', 'target']]
    """
    check_table_path(out, overwrite=force)
    if graph is not None:
        check_free_file(usable_path(graph), overwrite=force)
    run = Run.open(run)
    model, new = run.model(), None
    if data is not None:
        with show_progress(progress) as shown:
            rows = read_rows(run, model, data, TextFormat(**form).over(run.form), shown)
            inputs, names = rows.of_new_domains(model)
            if names:
                new = model.place_domains(inputs, sample_domain=names, forecast=False)
                say_off_map(new, shown)
    table, coordinates = map_table(model, new)
    names, n_joined = table["domain"].tolist(), min(3, len(table) - 1)
    joined = point_graph(coordinates, names, n_neighbors=n_joined)
    for name, facts in zip(names, table.loc[:, "role":"off_map"].to_dict("records")):
        joined.nodes[name].update(facts)
    if graph is not None:
        with new_file(graph, overwrite=force) as draft:
            nx.write_graphml(joined, draft)
    if out is not None:
        write_table(table, out, overwrite=force)
    return TableIndex(table, joined)


def map_table(model: Any, new: pd.DataFrame | None = None) -> tuple[pd.DataFrame, Floats]:
    """The map with `new` places, columns as in `index_table`, and its coordinates."""
    names = [str(name) for name in model.domains_]
    sources, added = set(model.source_domains_), set(model.added_domains_)
    roles = [
        "source" if name in sources else "added" if name in added else "target"
        for name in model.domains_
    ]
    coordinates, angles = model.domain_indices_, model.domain_angles_
    deviations = model.domain_index_std_
    off_map = set(map(str, model.off_map_domains_))
    if new is not None:
        off_map |= set(names_off_map(new))
        names += [str(name) for name in new["domain"]]
        roles += ["new"] * len(new)
        coordinates = np.vstack([coordinates, coordinates_of(new)])
        deviations = np.vstack([deviations, new.filter(regex=r"^std_\d+$")])
        angles = None if angles is None else [*angles, *new["angle"]]
    columns: dict[str, object] = {"domain": names, "role": roles}
    columns |= {f"x{n}": axis for n, axis in enumerate(coordinates.T, start=1)}
    if angles is not None:
        columns["angle"] = angles
    columns |= {f"std{n}": axis for n, axis in enumerate(deviations.T, start=1)}
    columns["distance"] = distances_to_sources(
        model.domain_index_, model.source_domains_, coordinates
    )
    columns["off_map"] = [name in off_map for name in names]
    nearest, _ = nearest_points(coordinates, min(3, len(names) - 1))
    for rank, column in enumerate(nearest.T, start=1):
        columns[f"nearest{rank}"] = [names[number] for number in column]
    return pd.DataFrame(columns), coordinates


@dataclass(frozen=True, eq=False)
class AddedDomains:
    """The run that knows the added domains, and a table with a row for each.

    Columns: place, uncertainty, nearest known domains, whether it lies off the map, and what to
    expect there.

    Examples
    --------
    >>> table = pd.DataFrame({"domain": ["Fürth", "Gmunden"], "off_map": [False, True]})
    >>> AddedDomains(run=None, table=table).off_map
    ['Gmunden']
    """

    run: Run
    table: pd.DataFrame

    @property
    def off_map(self) -> list[str]:
        """Names of those that lie off the map."""
        return names_off_map(self.table)


def add_table(
    run: Run | AnyPath,
    data: AnyPath,
    *,
    out: AnyPath | None = None,
    force: bool = False,
    progress: bool = False,
    **form: Any,
) -> AddedDomains:
    """Add the domains of the table in a file that a run does not know.

    Rows of known domains are left out, with a note. The report of the run, which shows the domains
    of the fit, goes along as it is.

    Parameters
    ----------
    run : a run, or its folder
    data : a CSV or Parquet file with the domain and the inputs; targets are not needed
    out : the folder of the new run; None replaces the run itself, which needs `force`
    force : replace a run that is there
    progress : speak on standard error
    **form : what to say of a text file, see `TextFormat`; by default as in the fit

    Examples
    --------
    >>> add_table(run, "new.csv", out="run-with-new").table["domain"].tolist()
    ['Fürth']
    """
    run = Run.open(run)
    folder = run.folder if out is None else usable_path(out)
    if out is None and not force:
        raise InputError(
            f"Adding domains would replace the run in {run.folder}. Name another folder (--out), "
            "or allow it (--force)."
        )
    check_free(folder, marker=RUN, overwrite=force)
    model = run.model()
    with show_progress(progress) as shown:
        rows = read_rows(run, model, data, TextFormat(**form).over(run.form), shown)
        inputs, names = rows.of_new_domains(model)
        known, n_left_out = set(rows.domains) - set(names), len(rows.domains) - len(names)
        if not names:
            raise InputError(
                f"{data} holds no new domain: the run knows {preview(sorted(known))} already. "
                "Pass a table with other domains, or fit anew to learn from these rows."
            )
        if known:
            left_out = f"Left out {n_left_out} rows of domains that the run knows"
            shown.say(f"note: {left_out}: {preview(sorted(known))}.")
        table = model.place_domains(inputs, sample_domain=names)
        say_off_map(table, shown)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OffMapWarning)  # it is said above
            grown = model.add_domains(inputs, sample_domain=names)
        added = {
            "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            "file": Path(data).name,
            "rows": None if run.is_shared and len(names) < MIN_SHARED else len(names),
            "domains": [str(name) for name in order_names(names)],
        }
        about = run.about | {
            "added": [*run.about.get("added", []), added],
            "summary": grown.summary().splitlines(),
        }
        paths = [run.folder / name for name in (CONTENT_FILE, REPORT_FILE)]
        reports = {path.name: read_bounded(path) for path in paths if path.is_file()}
        written = Run.write(folder, grown, about, overwrite=force)  # may replace the run itself
        for name, content in reports.items():
            with new_file(written.folder / name, overwrite=True) as draft:
                draft.write_bytes(content)
    return AddedDomains(written, table)
