"""The command line: each command parses, calls one function of the library and prints.

Libraries are imported inside the commands, so that asking for help is quick.
"""

from __future__ import annotations

import csv
import inspect
import json
import math
import shlex
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from domindex.errors import DatasetError, DomindexError, InputError

if TYPE_CHECKING:
    import pandas as pd

STANDARD_OUTPUT = "-"
Work = TypeVar("Work", bound=Callable[..., None])

app = typer.Typer(
    help="A map of your data's domains, and predictions in the ones without labels.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help takes half the time to draw
)


@contextmanager
def one_line_errors(run: Path | None = None) -> Iterator[None]:
    """Errors of the library as one line, with code 2 if the input is wrong and 1 otherwise.

    130 after Ctrl-C, as shells have it; the line says how to go on with the fit of `run`.
    """
    try:
        yield
    except KeyboardInterrupt:
        how = "" if run is None else f"; go on with: domindex fit --resume {shlex.quote(str(run))}"
        typer.echo(f"stopped; what was finished is kept{how}", err=True)
        raise typer.Exit(130) from None
    except DomindexError as error:
        typer.echo(f"error: {' '.join(str(error).split())}", err=True)
        raise typer.Exit(2 if isinstance(error, InputError | DatasetError) else 1) from None
    except MemoryError:
        typer.echo("error: there is not enough memory. Pass fewer rows or columns.", err=True)
        raise typer.Exit(1) from None


def command(*shared: Callable[..., None]) -> Callable[[Work], Work]:
    """A function as a command of its name, which takes the options of `shared` as well, with its
    errors as one line."""

    def register(work: Work) -> Work:
        @wraps(work)
        def run(**given: Any) -> None:
            fits = (given["resume"] or given["out"]) if "resume" in given else None
            with one_line_errors(fits), _reading(given.get("untrusted", False)):
                work(**given)

        named: tuple[Callable[..., None], ...] = (work, *shared)
        every = [inspect.signature(one, eval_str=True).parameters for one in named]
        asked = [one for part in every for one in part.values() if one.kind is not one.VAR_KEYWORD]
        run.__signature__ = inspect.Signature(asked)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in asked}
        app.command()(run)
        return work

    return register


def _reading(untrusted: bool) -> AbstractContextManager[None]:
    """Tables as usual, or by a process with limits."""
    if not untrusted:
        return nullcontext()
    from domindex.tables import untrusted_tables

    return untrusted_tables()


def _print_version(wanted: bool) -> None:
    if wanted:
        from domindex._version import __version__

        typer.echo(f"domindex {__version__}")
        raise typer.Exit


Text = str | None
Names = list[str] | None
File = Path | None
Argument = typer.Argument


def option(text: str, *names: str, **more: Any) -> Any:
    """An option with its help."""
    return typer.Option(*names, help=text, **more)


DataHome = Annotated[
    File, option("Folder of the datasets' files.  [default: $DOMINDEX_DATA, else a cache]")
]
Config = Annotated[File, option("TOML file with settings of the model: index_dim = 2")]
Method = Annotated[str, option("cross-domain, or vdi: the paper's model.")]
Sep = option("Between columns of a text file.  [default: as it looks]", "--sep", "--delimiter")
Delimiter = Annotated[Text, Sep]
Decimal = Annotated[Text, option("Before decimals: . or ,  [default: as it looks]")]
Encoding = Annotated[Text, option("Of a text file, such as cp1252.  [default: utf-8]")]
WithReport = Annotated[bool, option("Write a report as well.", "--report/--no-report")]
Force = Annotated[bool, option("Replace what is there.", "--force")]
DomainColumn = Annotated[Text, option("Column that names the domain of a row.", "--domain")]
DomainBy = Annotated[Text, option("month or year of dates, or width of number bands.")]
Order = Annotated[Text, option("Column of times or numbers to make domains of, without --domain.")]
Features = Annotated[Names, option("Inputs, by commas.  [default: all others]")]
Exclude = Annotated[Names, option("Columns that are not inputs; by commas, or again and again.")]
Key = Annotated[Text, option("Column that names rows; kept in predictions.", "--id")]
Categorical = Annotated[Names, option("Categories that look like numbers, by commas.")]
KeepColumns = Annotated[
    Names, option("Columns to use although they seem to name rows or domains.", "--keep-column")
]
Dates = Annotated[bool, option("Use year, month, weekday, hour of dates.", "--dates")]
Missing = Annotated[str, option("Missing inputs: impute or error.")]
Na = Annotated[Names, option("Values that stand for missing ones, by commas: -200")]
RunOut = Annotated[Path, option("Folder of the run.")]
Share = Annotated[bool, option("Hide counts below 5: the run is for others.", "--share")]
Untrusted = Annotated[
    bool, option("Read a stranger's file in a process of bounded memory and time.", "--untrusted")
]
AsJson = Annotated[bool, option("Print JSON for a script.", "--json")]
Seed = Annotated[int, option("The same seed gives the same result.", min=0)]
RunFolder = Annotated[Path, Argument(help="Folder that `domindex fit` wrote.", metavar="RUN")]
DATA = Argument(help="CSV, Parquet or .xlsx; or a folder of Parquet files.")
TableOut = Annotated[str, option("CSV or Parquet to write; - for standard output.")]

Version = option("Say which it is.", "--version", callback=_print_version, is_eager=True)


@app.callback()
def options(version: Annotated[bool, Version] = False) -> None:
    """A map of your data's domains, and predictions in the ones without labels."""


def text_options(
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    untrusted: Untrusted = False,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Of every command that reads a table."""


def fit_options(
    domain: DomainColumn = None,
    domain_by: DomainBy = None,
    order: Order = None,
    features: Features = None,
    exclude: Exclude = None,
    key: Key = None,
    categorical: Categorical = None,
    keep_columns: KeepColumns = None,
    dates: Dates = False,
    missing: Missing = "impute",
    na: Na = None,
    seed: Seed = 0,
    config: Config = None,
    report: WithReport = True,
    share: Share = False,
) -> None:
    """Of the commands that fit a table."""


@command(fit_options, text_options)
def fit(
    data: Annotated[File, DATA] = None,
    target: Annotated[Names, option("Column to predict, or several by commas.")] = None,
    sources: Annotated[
        Names, option("Labelled domains.  [default: with labels in half of rows]")
    ] = None,
    task: Annotated[str, option("auto, classification or regression.")] = "auto",
    spelling: Annotated[str, option("Classes Yes and yes: ask, merge or exact.")] = "ask",
    out: RunOut = Path("run"),
    effort: Annotated[Text, option("quick or full.  [default: full]")] = None,
    method: Method = "cross-domain",
    dask: Annotated[Text, option("Address of a Dask scheduler to work on.")] = None,
    resume: Annotated[File, option("Go on with the fit of this run.", metavar="RUN")] = None,
    **given: Any,
) -> None:
    """Map the domains of a table, and learn to predict where there are no labels.

    Rows with an empty target are what is to be predicted; or name the labelled domains. What is
    finished is kept beside the run until it is complete.

    \b
    Example:
      domindex fit patients.csv --target outcome --domain hospital --out run
      domindex fit weather.parquet --target t7,t8 --domain state --sources WA,OR
      domindex fit patients.csv --target outcome --domain hospital --method vdi
      domindex fit readings.csv --target fault --order time
      domindex fit --resume run
    """
    own = {"data": data, "target": target, "sources": sources, "task": task, "spelling": spelling}
    own |= {"effort": effort, "method": method}
    from domindex.tables import fit_table, resume_table

    named = given["domain"] or given["order"]
    if resume is not None:
        if data is not None or target or named:
            raise InputError("--resume RUN goes on as the run was asked for. Leave out the rest.")
        run = resume_table(resume, progress=True, dask=dask)
    elif data is None or not target or not named:
        raise InputError("Give DATA, --target and --domain or --order, or --resume RUN.")
    else:
        run = fit_table(**_fit_request(given | own), out=out, dask=dask, checkpoint=True)
    _answer_run(run, given["as_json"])


@command(fit_options, text_options)
def map(data: Annotated[Path, DATA], out: RunOut = Path("map"), **given: Any) -> None:
    """Map the domains of a table without labels; nothing is predicted.

    Columns that hold labels are inputs too, unless you leave them out (--exclude). `domindex
    index`, `add` and `report` take the folder that is written.

    \b
    Example:
      domindex map readings.csv --domain station --exclude alarm --out map
      domindex index map --out map.csv
    """
    from domindex.tables import fit_table

    run = fit_table(**_fit_request(given | {"data": data, "method": "map"}), out=out)
    _answer_run(run, given["as_json"])


@command(text_options)
def predict(
    run: RunFolder,
    data: Annotated[Path, DATA],
    out: TableOut = "predictions.csv",
    keep: Annotated[Names, option("Columns to stand beside predictions, by commas.")] = None,
    cost: Annotated[
        Names, option("What it costs to miss a class, others 1: ill=5; by commas.")
    ] = None,
    escape: Annotated[
        bool, option("Put ' before texts that a spreadsheet would run.", "--escape-formulas")
    ] = False,
    **given: Any,
) -> None:
    """Predict every row of a table; domains never seen are placed on the map first.

    Writes the domain, the class and probabilities or values and deviations, how far the domain
    lies from the nearest source, in units of the map's median spacing, and whether it is off the
    map: further from all known domains than these are from each other.

    \b
    Example:
      domindex predict run patients.csv --out predictions.parquet
    """
    from domindex.tables import predict_table

    how = _text_request(given, _file(out)) | {"escape": escape, "keep": _names(keep or [])}
    how["costs"] = dict(_cost(one) for one in _names(cost or []))
    result = predict_table(run, data, **how)
    as_json, table = given["as_json"], result.table
    about = {name: getattr(result, name) for name in ("new_domains", "off_map", "notes")}
    about = {"out": out, "rows": result.n_rows, **about}
    if table is not None and out == STANDARD_OUTPUT:
        about["predictions"] = table.to_dict("records")
    where = out if as_json or table is None else _print_table(table, out)
    _answer(as_json, about, f"Predictions: {where} ({result.summary()})", err=True)


@command(text_options)
def score(
    run: RunFolder,
    data: Annotated[Path, Argument(help="Table with labels that turned up later.")],
    out: TableOut = STANDARD_OUTPUT,
    by: Annotated[str | None, option("Column whose groups of rows are compared instead.")] = None,
    **given: Any,
) -> None:
    """Compare predictions with labels, by domain, beside what was forecast.

    With --by, by the groups of a column, in domains that are no sources.

    \b
    Example:
      domindex score run followup.csv
      domindex score run followup.csv --by sex
    """
    from domindex.tables import score_table

    result = score_table(run, data, by=by, **_text_request(given, _file(out)))
    if not given["as_json"]:
        _print_table(result.table.round(4), out)
    rows = "domains" if by is None else "groups"
    about = {"overall": result.overall, rows: result.table.to_dict("records")}
    _answer(given["as_json"], about, f"Scores: {result.summary()}", err=True)


@command(text_options)
def label(
    run: RunFolder,
    data: Annotated[Path, DATA],
    n: Annotated[int, option("How many rows.", "--n", min=1)] = 20,
    out: TableOut = "to-label.csv",
    **given: Any,
) -> None:
    """Write a table to fill in: rows of targets whose labels would say most about the others.

    Copy the labels back into the target column of the table, where `row` says, and fit again.

    \b
    Example:
      domindex label run patients.csv --n 20 --out to-label.csv
    """
    from domindex.tables import label_table

    asked = label_table(run, data, n=n, **_text_request(given, _file(out)))
    as_json = given["as_json"]
    where = out if as_json else _print_table(asked, out)
    about = {"out": out, "rows": asked[["row", "reason"]].to_dict("records")}
    _answer(as_json, about, f"To label: {where} ({len(asked)} rows)", err=True)


@command(text_options)
def index(
    run: RunFolder,
    data: Annotated[File, Argument(help="Table whose new domains are placed as well.")] = None,
    out: TableOut = "index.csv",
    graph: Annotated[File, option("GraphML to write: domains joined to their nearest.")] = None,
    **given: Any,
) -> None:
    """Write the map: coordinates, uncertainty and nearest neighbours of every domain.

    With --json the map is printed instead.

    \b
    Example:
      domindex index run --out map.csv --graph map.graphml
    """
    from domindex.tables import index_table

    as_json = given["as_json"]
    how = _text_request(given, None if as_json else _file(out))
    result = index_table(run, data, graph=graph, **how)
    if graph is not None:
        typer.echo(f"Graph: {graph}", err=True)
    where = "" if as_json else _print_table(result.table, out)
    about = {"domains": result.table.to_dict("records")}
    _answer(as_json, about, f"Map: {where} ({len(result.table)} domains)", err=True)


@command(text_options)
def add(
    run: RunFolder,
    data: Annotated[Path, Argument(help="CSV or Parquet with rows of new domains.")],
    out: Annotated[File, option("Folder of the new run.  [default: RUN, with --force]")] = None,
    **given: Any,
) -> None:
    """Add the new domains of a table to a run, without fitting it again.

    They get a place on the map, their nearest known domains, a forecast, and a flag if they lie
    off the map. Rows of known domains are left out.

    \b
    Example:
      domindex add run today.csv --out run-today
      domindex add run today.csv --force
    """
    from domindex.tables import add_table

    result = add_table(run, data, **_text_request(given, out))
    folder, plural = result.run.folder, "" if len(result.table) == 1 else "s"
    about = {"run": folder, "domains": result.table.to_dict("records"), "off_map": result.off_map}
    _answer(given["as_json"], about, f"Run: {folder} ({len(result.table)} domain{plural} added)")


@command()
def report(run: RunFolder, as_json: AsJson = False) -> None:
    """Write the report of a run again.

    \b
    Example:
      domindex report run
    """
    from domindex.tables import draw_report

    written = draw_report(run)
    _answer(as_json, {"report": written}, f"Report: {written}")


@command()
def serve(
    run: RunFolder,
    host: Annotated[str, option("Address; others than loopback are open to all.")] = "127.0.0.1",
    port: Annotated[int, option("Port to listen at; 0 takes a free one.")] = 8700,
    max_upload: Annotated[float, option("Largest table that is taken, in MB.")] = 50.0,
    allow_host: Annotated[
        list[str] | None, option("Another name by which browsers reach the page.")
    ] = None,
) -> None:
    """Serve a run as a local web page: upload a table, get predictions, see the map.

    Nothing of an upload is kept. Ctrl-C ends it.

    \b
    Example:
      domindex serve run
      domindex serve run --port 9000 --max-upload 100
    """
    from domindex.serving import serve_run

    names = tuple(allow_host or ())
    serve_run(run, host=host, port=port, max_upload=max_upload, allow_hosts=names)


@command()
def demo(
    out: Annotated[Path, option("Folder of everything it writes.")] = Path("demo"),
    seed: Seed = 0,
    config: Config = None,
    with_report: WithReport = True,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Make a family of domains, and fit, predict and map it as your own table would be.

    \b
    Example:
      domindex demo
    """
    from domindex.tables import read_settings, run_demo

    settings = None if config is None else read_settings(config)
    how: dict[str, Any] = {"report": with_report, "force": force, "progress": True}
    result = run_demo(out, seed=seed, settings=settings, **how)
    drawn = result.run.report
    where = f"Everything is in {out}" + ("" if drawn is None else f"; read {drawn}")
    about = {"folder": out, "report": drawn, **result.figures}
    _answer(as_json, about, f"{result.summary()}\n{where}")


@command()
def datasets(
    name: Annotated[Text, Argument(help="One to load and describe.")] = None,
    data_home: DataHome = None,
    as_json: AsJson = False,
) -> None:
    """List the datasets, or describe one.

    \b
    Example:
      domindex datasets rotating-digits
    """
    from domindex.datasets import list_datasets, load_dataset

    if name is None:
        names = list_datasets()
        _answer(as_json, {"datasets": names}, "\n".join(names))
        return
    dataset = load_dataset(name, data_home)
    about: dict[str, Any] = {"name": name, "task": dataset.task, "shape": dataset.X.shape}
    about |= {"domains": len(dataset.domains), "text": dataset.description}
    _answer(as_json, about, f"{dataset!r}\n{dataset.description}")


@command()
def figures(
    dataset: Annotated[str, Argument(help="A dataset of the paper.")],
    out: Annotated[Path, option("Folder of the figures.")] = Path("figures"),
    seed: Seed = 0,
    method: Method = "cross-domain",
    data_home: DataHome = None,
    as_json: AsJson = False,
) -> None:
    """Fit a dataset of the paper and draw the paper's figures of it.

    \b
    Example:
      domindex figures dg-15 --out figures
      domindex figures dg-15 --method vdi,cross-domain
    """
    from domindex.reporting.paper_figures import paper_figures

    drawn = list(paper_figures(dataset, out, data_home, seed, method=_names([method])))
    _answer(as_json, {"figures": drawn}, "\n".join(str(one) for one in drawn))


def _options(kind: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The options that are fields of a request; of names by commas, a list."""
    found = {}
    for one in fields(kind):
        value = given.get(one.name)
        if value is not None and value != []:
            found[one.name] = _names(value) if one.metadata.get("by_commas") else value
    return found


def _names(texts: list[str]) -> list[str]:
    """Names by commas, of an option given once or more; in quotes they may hold commas."""
    rows = csv.reader(texts, skipinitialspace=True)
    return [name.strip() for row in rows for name in row if name.strip()]


def _cost(text: str) -> tuple[str, float]:
    """The class and the number of CLASS=NUMBER."""
    name, _, number = text.rpartition("=")
    try:
        return name.strip(), float(number)
    except ValueError:
        raise InputError(f"--cost is {text!r}. Write CLASS=NUMBER, such as ill=5.") from None


def _answer(as_json: bool, content: dict[str, Any], text: str, *, err: bool = False) -> None:
    """What a command found: JSON for a script, or a text."""
    if as_json:
        typer.echo(json.dumps(_known(content), indent=1, default=str, allow_nan=False))
    else:
        typer.echo(text, err=err)


def _known(value: Any) -> Any:
    """None for what JSON has no number for, such as the AUC of a domain with one class."""
    if isinstance(value, dict):
        return {name: _known(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_known(one) for one in value]
    unknown = isinstance(value, float) and not math.isfinite(value)
    return None if unknown or type(value).__name__ == "NAType" else value


def _fit_request(given: dict[str, Any]) -> dict[str, Any]:
    """What `fit_table` is asked for; where an order makes the domains, it is asked for alone."""
    from domindex.tables import FitRequest, read_settings

    asked = _options(FitRequest, given)
    if given["order"] is not None:
        if given["domain"] is not None or given["domain_by"] is not None:
            raise InputError(
                "--order makes the domains itself, and --domain or --domain-by is given too. "
                "Give one."
            )
        asked |= {"domain": given["order"], "domain_by": "order"}
    elif given["domain"] is None:
        raise InputError("Give --domain, or --order to make domains of times or numbers.")
    if given["config"] is not None:
        asked["settings"] = read_settings(given["config"])
    return asked | {"report": given["report"], "force": given["force"], "progress": True}


def _text_request(given: dict[str, Any], out: Path | None) -> dict[str, Any]:
    """What a function that reads a table is asked for, and where it writes."""
    from domindex.tables import TextFormat

    return _options(TextFormat, given) | {"out": out, "force": given["force"], "progress": True}


def _answer_run(run: Any, as_json: bool) -> None:
    """What was written, and where."""
    drawn = "" if run.report is None else f"\nReport: {run.report}"
    about = {"run": run.folder, "report": run.report, **run.about}
    _answer(as_json, about, f"Run: {run.folder}{drawn}")


def _file(out: str) -> Path | None:
    """Where a table is written; None where it is printed."""
    return None if out == STANDARD_OUTPUT else Path(out)


def _print_table(table: pd.DataFrame, out: str) -> str:
    """Where the table stands, which is printed if it is not in a file."""
    if out != STANDARD_OUTPUT:
        return out
    typer.echo(table.to_csv(index=False), nl=False)
    return "standard output"


def main() -> None:
    """What the command `domindex` runs."""
    app(prog_name="domindex")


if __name__ == "__main__":
    main()
