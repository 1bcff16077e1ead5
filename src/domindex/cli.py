"""The command line: each command parses, calls one function of the library and prints.

Libraries are imported inside the commands, so that asking for help is quick.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from domindex.errors import DatasetError, DomindexError, InputError

WRONG_INPUT = 2
"""Exit code where what was asked for cannot be done as it is."""
FAILED = 1
"""Exit code where something was done, and did not all succeed."""
STOPPED = 130
"""Exit code after Ctrl-C, as shells have it."""

app = typer.Typer(
    help="A map of your data's domains, and predictions in the ones without labels.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help takes half the time to draw
)

DataHome = Annotated[
    Path | None,
    typer.Option(help="Folder of the datasets' files.  [default: $DOMINDEX_DATA, else a cache]"),
]


@app.command()
def bench(
    datasets: Annotated[
        list[str] | None,
        typer.Argument(help="Names of datasets, by spaces or commas.  [default: all]"),
    ] = None,
    methods: Annotated[
        str | None, typer.Option(help="Names of methods, by commas.  [default: all]")
    ] = None,
    seeds: Annotated[int, typer.Option(help="How many seeds: 0, 1, …", min=1)] = 3,
    jobs: Annotated[int, typer.Option(help="Cells at a time; -1 for one per core.")] = -1,
    out: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("benchmark-results"),
    dask: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler to spread the cells over.")
    ] = None,
    data_home: DataHome = None,
) -> None:
    """Measure methods on datasets, beside the paper's figures.

    Every finished cell is written to OUT/benchmark.jsonl at once; run the same command again after
    a stop, and it goes on from there.
    """
    with one_line_errors():
        from domindex.evaluation.benchmark import run_benchmark

        run = run_benchmark(
            _names(datasets),
            _names(None if methods is None else [methods]),
            seeds=seeds,
            out=out,
            jobs=jobs,
            dask=dask,
            data_home=data_home,
            progress=True,
        )
        typer.echo(run.tables())
        typer.echo(f"Results are in {run.path}", err=True)
        if run.failed:
            for result in run.failed:
                typer.echo(f"failed: {result.cell}: {result.note}", err=True)
            raise typer.Exit(FAILED)


@app.command()
def methods() -> None:
    """List the methods of the benchmark."""
    from domindex.evaluation.benchmark import METHODS

    width = max(map(len, METHODS))
    for method in METHODS.values():
        typer.echo(f"{method.name:{width}}  {method.title} [{method.group}]")


@app.command()
def datasets(
    name: Annotated[str | None, typer.Argument(help="One to load and describe.")] = None,
    data_home: DataHome = None,
) -> None:
    """List the datasets, or describe one."""
    with one_line_errors():
        from domindex.datasets import list_datasets, load_dataset

        if name is None:
            typer.echo("\n".join(list_datasets()))
            return
        dataset = load_dataset(name, data_home)
        typer.echo(f"{dataset!r}\n{dataset.description}")


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Errors that the library raises on purpose, and a stop by the user, as one line and a code."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("stopped; what was finished is kept", err=True)
        raise typer.Exit(STOPPED) from None
    except DomindexError as error:
        typer.echo(f"error: {' '.join(str(error).split())}", err=True)
        wrong_input = isinstance(error, InputError | DatasetError)
        raise typer.Exit(WRONG_INPUT if wrong_input else FAILED) from None


def _names(texts: list[str] | None) -> list[str] | None:
    """Names out of texts that may hold several, by commas; None where nothing was said."""
    if not texts:
        return None
    return [name.strip() for text in texts for name in text.split(",") if name.strip()]


@app.command()
def figures(
    dataset: Annotated[str, typer.Argument(help="A dataset of the paper.")],
    out: Annotated[Path, typer.Option(help="Folder of the figures.")] = Path("figures"),
    seed: Annotated[int, typer.Option(help="Seed of the fit.", min=0)] = 0,
    data_home: DataHome = None,
) -> None:
    """Fit a dataset of the paper and draw the paper's figures of it."""
    with one_line_errors():
        from domindex.reporting.paper_figures import paper_figures

        for path in paper_figures(dataset, out, data_home, seed):
            typer.echo(path)


def main() -> None:
    """What the command `domindex` runs."""
    app(prog_name="domindex")


if __name__ == "__main__":
    main()
