"""The command `domindex-bench`: measure suites, render their tables, list what there is."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from domindex.cli import one_line_errors

if TYPE_CHECKING:
    from domindex_bench.running import BenchmarkRun

app = typer.Typer(
    help="Methods measured on datasets, beside the paper's figures.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

DatasetNames = Annotated[
    list[str] | None,
    typer.Argument(help="Names of datasets, by spaces or commas.  [default: all of the suite]"),
]
SuiteNames = Annotated[str, typer.Option(help="Names of suites, by commas; all for every one.")]
MethodNames = Annotated[
    str | None, typer.Option(help="Names of methods, by commas.  [default: all of the suite]")
]
Seeds = Annotated[
    int | None, typer.Option(help="How many seeds: 0, 1, …  [default: the suite's]", min=1)
]
Out = Annotated[Path, typer.Option(help="Folder of the record and the tables.")]
DataHome = Annotated[
    Path | None,
    typer.Option(help="Folder of the datasets' files.  [default: $DOMINDEX_DATA, else a cache]"),
]
Keep = Annotated[
    bool, typer.Option("--keep", help="Do not measure rows again that are of another source tree.")
]


@app.command()
def run(
    datasets: DatasetNames = None,
    suite: SuiteNames = "paper",
    methods: MethodNames = None,
    seeds: Seeds = None,
    jobs: Annotated[int, typer.Option(help="Cells at a time; -1 for one per core.")] = -1,
    out: Out = Path("benchmark-results"),
    dask: Annotated[str | None, typer.Option(help="Address of a Dask scheduler.")] = None,
    keep: Keep = False,
    data_home: DataHome = None,
) -> None:
    """Measure suites of methods on datasets.

    Every finished cell is written to OUT/record.jsonl at once; run the same command again after
    a stop, and it goes on from there.

    \b
    Example:
      domindex-bench run circle dg-15 --methods cross-domain,ridge --seeds 2
      domindex-bench run --suite ablation,regression --out results
    """
    with one_line_errors():
        from domindex_bench.running import run_benchmark

        run = run_benchmark(
            _names(datasets),
            None if methods is None else _names([methods]) or [],
            suite=_suites(suite),
            seeds=seeds,
            out=out,
            jobs=jobs,
            dask=dask,
            data_home=data_home,
            keep=keep,
            progress=True,
        )
        _show(run)


@app.command()
def render(
    suite: SuiteNames = "all",
    out: Out = Path("benchmark-results"),
    readme: Annotated[
        Path | None, typer.Option(help="File that the short table is written into.")
    ] = None,
) -> None:
    """Write the tables of OUT's record; measure nothing.

    \b
    Example:
      domindex-bench render --out benchmarks/results
    """
    with one_line_errors():
        from domindex_bench import write_documents

        for path in write_documents(out, suites=_suites(suite), readme=readme):
            typer.echo(path)


@app.command()
def figures(
    dataset: Annotated[str, typer.Argument(help="Name of a dataset of the suite.")],
    suite: Annotated[str, typer.Option(help="Name of a suite.")] = "compcars",
    methods: Annotated[
        str | None,
        typer.Option(help="Names of methods, by commas.  [default: the paper's model and ours]"),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the data and of the fits.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder of the figures.")] = Path("figures"),
    data_home: DataHome = None,
) -> None:
    """Draw the paper's figures of a dataset, methods side by side.

    \b
    Example:
      domindex-bench figures compcars-generated
      domindex-bench figures dg-15 --suite paper --methods vdi,vdi-options
    """
    with one_line_errors():
        from domindex_bench.rendering import write_figures

        wanted = None if methods is None else _names([methods]) or []
        for path in write_figures(
            dataset, wanted, suite=suite, seed=seed, out=out, data_home=data_home
        ):
            typer.echo(path)


@app.command()
def suites() -> None:
    """List the suites."""
    from domindex_bench import find_suite, list_suites

    width = max(map(len, list_suites()))
    for suite in map(find_suite, list_suites()):
        size = f"{len(suite.methods)} methods, {len(suite.datasets)} datasets"
        typer.echo(f"{suite.name:{width}}  {suite.title} [{size}]")


@app.command()
def methods(suite: Annotated[str, typer.Option(help="Name of a suite.")] = "paper") -> None:
    """List the methods of a suite."""
    with one_line_errors():
        from domindex_bench import find_suite

        known = find_suite(suite).methods
        width = max(map(len, known))
        for method in known.values():
            typer.echo(f"{method.name:{width}}  {method.title} [{method.group}]")


@app.command()
def measure(
    name: Annotated[str, typer.Argument(help="Of a module of domindex_bench.scripts.")],
    parts: Annotated[list[str] | None, typer.Argument(help="[default: all]")] = None,
    page: Annotated[bool, typer.Option("--page", help="Only write the tables again.")] = False,
) -> None:
    """Measure what is no suite, into benchmarks/results/NAME.json and the docs.

    \b
    Example:
      domindex-bench measure speed dg-15 "classes quick"
      domindex-bench measure loops --page
    """
    with one_line_errors():
        from domindex_bench.measuring import measure_parts

        typer.echo(measure_parts(name, parts, page_only=page))


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def golden(context: typer.Context) -> None:
    """Predictions of the default on sixteen datasets: write FOLDER, or compare OLD NEW.

    \b
    Example:
      domindex-bench golden write before --efforts quick
      domindex-bench golden compare before after
    """
    from domindex_bench.golden import main

    raise typer.Exit(main(context.args))


@app.command()
def house(
    source: Annotated[Path | None, typer.Argument(help="Folder that holds domindex/.")] = None,
) -> None:
    """Lines, files and constants of the package, and what a default fit goes through."""
    script = Path(__file__).with_name("house.py")  # in a process that imports nothing else first
    command = [sys.executable, str(script), *([] if source is None else [str(source)])]
    raise typer.Exit(subprocess.run(command, check=False).returncode)


def _show(run: BenchmarkRun) -> None:
    """Tables on standard output, remarks on standard error; code 1 if cells failed."""
    typer.echo(run.tables())
    typer.echo(f"Results are in {run.path}", err=True)
    for result in run.failed:
        typer.echo(f"failed: {result.cell}: {result.note}", err=True)
    if run.failed:
        raise typer.Exit(1)


def _suites(text: str) -> list[str]:
    from domindex_bench import list_suites

    return list_suites() if text.strip() == "all" else _names([text]) or []


def _names(texts: list[str] | None) -> list[str] | None:
    """Names out of texts that may hold several, by commas; None where nothing was said."""
    if not texts:
        return None
    rows = csv.reader(texts, skipinitialspace=True)
    return [name.strip() for row in rows for name in row if name.strip()]


def main() -> None:
    app()
