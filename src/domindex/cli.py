"""The command line: each command parses, calls one function of the library and prints.

Libraries are imported inside the commands, so that asking for help is quick.
"""

from __future__ import annotations

import csv
import json
import math
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from domindex.errors import DatasetError, DomindexError, InputError

if TYPE_CHECKING:
    import pandas as pd

STANDARD_OUTPUT = "-"

app = typer.Typer(
    help="A map of your data's domains, and predictions in the ones without labels.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help takes half the time to draw
)


@contextmanager
def one_line_errors(run: Path | None = None) -> Iterator[None]:
    """Errors that the library raises on purpose, and a stop by the user, as one line and a code.

    2 where the input is wrong, 1 where the work failed, 130 after Ctrl-C, as shells have it. `run`
    names the run that a fit was to write: the line says how to go on with it.
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


def command(work: Callable[..., None]) -> Callable[..., None]:
    """A function as a command of its name, with its errors as one line."""

    @wraps(work)
    def run(**given: Any) -> None:
        fits = (given["resume"] or given["out"]) if "resume" in given else None
        with one_line_errors(fits):
            work(**given)

    return app.command()(run)


def _print_version(wanted: bool) -> None:
    if wanted:
        from domindex._version import __version__

        typer.echo(f"domindex {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Say which it is."),
    ] = False,
) -> None:
    """A map of your data's domains, and predictions in the ones without labels."""


Text = str | None
File = Path | None
Option, Argument = typer.Option, typer.Argument

DataHome = Annotated[
    File, Option(help="Folder of the datasets' files.  [default: $DOMINDEX_DATA, else a cache]")
]
Config = Annotated[File, Option(help="TOML file with settings of the model: index_dim = 2")]
Delimiter = Annotated[
    Text,
    Option(
        "--sep", "--delimiter", help="Between the columns of a text file.  [default: as it looks]"
    ),
]
Decimal = Annotated[Text, Option(help="Before decimals: . or ,  [default: as it looks]")]
Encoding = Annotated[Text, Option(help="Of a text file, such as cp1252.  [default: utf-8]")]
WithReport = Annotated[bool, Option("--report/--no-report", help="Write a report as well.")]
Force = Annotated[bool, Option("--force", help="Replace what is there.")]
AsJson = Annotated[bool, Option("--json", help="Print JSON for a script.")]
RunFolder = Annotated[Path, Argument(help="Folder that `domindex fit` wrote.", metavar="RUN")]
TableOut = Annotated[str, Option(help="CSV or Parquet to write; - for standard output.")]


@command
def fit(
    data: Annotated[
        File, Argument(help="CSV, Parquet or .xlsx; or a folder of Parquet files.")
    ] = None,
    target: Annotated[Text, Option(help="Column to predict, or several by commas.")] = None,
    domain: Annotated[Text, Option(help="Column that names the domain of a row.")] = None,
    domain_by: Annotated[
        Text, Option(help="month or year of dates, or the width of bands of numbers.")
    ] = None,
    sources: Annotated[
        Text, Option(help="Labelled domains, by commas.  [default: those with any label]")
    ] = None,
    features: Annotated[
        Text, Option(help="Columns that are inputs, by commas.  [default: all others]")
    ] = None,
    exclude: Annotated[Text, Option(help="Columns that are not inputs, by commas.")] = None,
    key: Annotated[
        Text, Option("--id", help="Column that names rows; kept in predictions.")
    ] = None,
    categorical: Annotated[
        Text, Option(help="Columns of categories that look like numbers, by commas.")
    ] = None,
    keep_columns: Annotated[
        Text,
        Option("--keep-column", help="Columns to use although they seem to name rows or domains."),
    ] = None,
    dates: Annotated[
        bool, Option("--dates", help="Use year, month, weekday and hour of dates.")
    ] = False,
    task: Annotated[str, Option(help="auto, classification or regression.")] = "auto",
    spelling: Annotated[str, Option(help="Classes Yes and yes: ask, merge or exact.")] = "ask",
    missing: Annotated[str, Option(help="Missing inputs: impute or error.")] = "impute",
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    na: Annotated[Text, Option(help="Values that stand for missing ones, by commas: -200")] = None,
    out: Annotated[Path, Option(help="Folder of the run.")] = Path("run"),
    seed: Annotated[int, Option(help="The same seed gives the same model.", min=0)] = 0,
    config: Config = None,
    report: WithReport = True,
    dask: Annotated[
        Text, Option(help="Address of a Dask scheduler to spread the work over.")
    ] = None,
    share: Annotated[
        bool, Option("--share", help="Hide counts below 5: the run is for others.")
    ] = False,
    force: Force = False,
    resume: Annotated[
        File, Option(help="Go on with the fit of this run, as it was asked for.", metavar="RUN")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Map the domains of a table, and learn to predict where there are no labels.

    Rows with an empty target are what is to be predicted; or name the labelled domains. What is
    finished is kept beside the run until it is complete.

    \b
    Example:
      domindex fit patients.csv --target outcome --domain hospital --out run
      domindex fit weather.parquet --target t7,t8 --domain state --sources WA,OR
      domindex fit --resume run
    """
    given = dict(locals())
    from domindex.tables import FitRequest, fit_table, read_settings, resume_table

    if resume is not None:
        if (data or target or domain) is not None:
            raise InputError("--resume RUN goes on as the run was asked for. Leave out the rest.")
        run = resume_table(resume, progress=True, dask=dask)
    elif data is None or target is None or domain is None:
        raise InputError("Give DATA, --target and --domain, or --resume RUN.")
    else:
        asked = _options(FitRequest, given)
        asked["settings"] = None if config is None else read_settings(config)
        how: dict[str, Any] = {"out": out, "report": report, "dask": dask, "force": force}
        run = fit_table(**asked, **how, progress=True, checkpoint=True)
    written = "" if run.report is None else f"\nReport: {run.report}"
    about = {"run": run.folder, "report": run.report, **run.about}
    _answer(as_json, about, f"Run: {run.folder}{written}")


@command
def predict(
    run: RunFolder,
    data: Annotated[Path, Argument(help="CSV, Parquet or .xlsx; or a folder of Parquet files.")],
    out: TableOut = "predictions.csv",
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    keep: Annotated[Text, Option(help="Columns to stand beside predictions, by commas.")] = None,
    escape: Annotated[
        bool,
        Option(
            "--escape-formulas", help="Put ' before texts that a spreadsheet would run: = + - @."
        ),
    ] = False,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Predict every row of a table; domains never seen are placed on the map first.

    Writes the domain, the class and probabilities or values and deviations, how far the domain
    lies from the nearest source, in units of the map's median spacing, and whether it is off the
    map: further from all known domains than these are from each other.

    \b
    Example:
      domindex predict run patients.csv --out predictions.parquet
    """
    given = dict(locals())
    from domindex.tables import TextFormat, predict_table

    form, kept = _options(TextFormat, given), _names(keep or "")
    how: dict[str, Any] = {"force": force, "progress": True, "escape": escape}
    result = predict_table(run, data, out=_file(out), **form, keep=kept, **how)
    if result.table is not None:
        _print_table(result.table, out)
    if as_json and out != STANDARD_OUTPUT:
        about = {name: getattr(result, name) for name in ("new_domains", "off_map", "notes")}
        _print_json({"out": out, "rows": result.n_rows, **about})
    else:
        typer.echo(f"Predictions: {_where(out)} ({result.summary()})", err=True)


@command
def score(
    run: RunFolder,
    data: Annotated[Path, Argument(help="Table with labels that turned up later.")],
    out: TableOut = STANDARD_OUTPUT,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Compare predictions with labels, by domain, beside what was forecast.

    \b
    Example:
      domindex score run followup.csv
    """
    given = dict(locals())
    from domindex.tables import TextFormat, score_table

    form = _options(TextFormat, given)
    result = score_table(run, data, out=_file(out), **form, force=force, progress=True)
    if as_json:
        _print_json({"overall": result.overall, "domains": result.table.to_dict("records")})
        return
    _print_table(result.table, out)
    typer.echo(f"Scores: {result.summary()}", err=True)


@command
def index(
    run: RunFolder,
    data: Annotated[File, Argument(help="Table whose new domains are placed as well.")] = None,
    out: TableOut = "index.csv",
    graph: Annotated[
        File, Option(help="GraphML to write: each domain joined to its nearest.")
    ] = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write the map: coordinates, uncertainty and nearest neighbours of every domain.

    With --json the map is printed instead.

    \b
    Example:
      domindex index run --out map.csv --graph map.graphml
    """
    given = dict(locals())
    from domindex.tables import TextFormat, index_table

    form, file = _options(TextFormat, given), None if as_json else _file(out)
    result = index_table(run, data, out=file, graph=graph, **form, force=force, progress=True)
    if graph is not None:
        typer.echo(f"Graph: {graph}", err=True)
    if as_json:
        _print_json({"domains": result.table.to_dict("records")})
        return
    _print_table(result.table, out)
    typer.echo(f"Map: {_where(out)} ({len(result.table)} domains)", err=True)


@command
def add(
    run: RunFolder,
    data: Annotated[Path, Argument(help="CSV or Parquet with rows of new domains.")],
    out: Annotated[
        File, Option(help="Folder of the new run.  [default: RUN, with --force]")
    ] = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Add the new domains of a table to a run, without fitting it again.

    They get a place on the map, their nearest known domains, a forecast, and a flag if they lie
    off the map. Rows of known domains are left out.

    \b
    Example:
      domindex add run today.csv --out run-today
      domindex add run today.csv --force
    """
    given = dict(locals())
    from domindex.tables import TextFormat, add_table

    form = _options(TextFormat, given)
    result = add_table(run, data, out=out, **form, force=force, progress=True)
    folder, plural = result.run.folder, "" if len(result.table) == 1 else "s"
    about = {"run": folder, "domains": result.table.to_dict("records"), "off_map": result.off_map}
    _answer(as_json, about, f"Run: {folder} ({len(result.table)} domain{plural} added)")


@command
def report(run: RunFolder, as_json: AsJson = False) -> None:
    """Write the report of a run again.

    \b
    Example:
      domindex report run
    """
    from domindex.tables import draw_report

    written = draw_report(run)
    _answer(as_json, {"report": written}, f"Report: {written}")


@command
def serve(
    run: RunFolder,
    host: Annotated[
        str, Option(help="Address to listen at; others than loopback are open to all.")
    ] = "127.0.0.1",
    port: Annotated[int, Option(help="Port to listen at; 0 takes a free one.")] = 8700,
    max_upload: Annotated[float, Option(help="Largest table that is taken, in MB.")] = 50.0,
    allow_host: Annotated[
        list[str] | None, Option(help="Another name by which browsers reach the page.")
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


@command
def demo(
    out: Annotated[Path, Option(help="Folder of everything it writes.")] = Path("demo"),
    seed: Annotated[int, Option(help="Of the data and the model.", min=0)] = 0,
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


@command
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


@command
def figures(
    dataset: Annotated[str, Argument(help="A dataset of the paper.")],
    out: Annotated[Path, Option(help="Folder of the figures.")] = Path("figures"),
    seed: Annotated[int, Option(help="Seed of the fit.", min=0)] = 0,
    data_home: DataHome = None,
) -> None:
    """Fit a dataset of the paper and draw the paper's figures of it.

    \b
    Example:
      domindex figures dg-15 --out figures
    """
    from domindex.reporting.paper_figures import paper_figures

    for path in paper_figures(dataset, out, data_home, seed):
        typer.echo(path)


def _options(kind: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The options that are fields of a request; of names by commas, a list."""
    found = {}
    for one in fields(kind):
        if (value := given.get(one.name)) is not None:
            found[one.name] = _names(value) if one.metadata.get("by_commas") else value
    return found


def _names(text: str) -> list[str]:
    """Names by commas; in quotes they may hold commas."""
    rows = csv.reader([text], skipinitialspace=True)
    return [name.strip() for row in rows for name in row if name.strip()]


def _print_json(content: dict[str, Any]) -> None:
    typer.echo(json.dumps(_known(content), indent=1, default=str, allow_nan=False))


def _answer(as_json: bool, content: dict[str, Any], text: str) -> None:
    """What a command found: JSON for a script, or a text."""
    if as_json:
        _print_json(content)
    else:
        typer.echo(text)


def _known(value: Any) -> Any:
    """None for what JSON has no number for, such as the AUC of a domain with one class."""
    if isinstance(value, dict):
        return {name: _known(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_known(one) for one in value]
    unknown = isinstance(value, float) and not math.isfinite(value)
    return None if unknown or type(value).__name__ == "NAType" else value


def _file(out: str) -> Path | None:
    """Where a table is written; None where it is printed."""
    return None if out == STANDARD_OUTPUT else Path(out)


def _where(out: str) -> str:
    return "standard output" if out == STANDARD_OUTPUT else out


def _print_table(table: pd.DataFrame, out: str) -> None:
    if out == STANDARD_OUTPUT:
        typer.echo(table.to_csv(index=False), nl=False)


def main() -> None:
    """What the command `domindex` runs."""
    app(prog_name="domindex")


if __name__ == "__main__":
    main()
