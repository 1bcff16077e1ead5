"""From the record to documents: refuses rows that the present code would not measure like that."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from domindex.errors import InputError
from domindex_bench.cells import CellResult, Key
from domindex_bench.paper_tables import headline_table
from domindex_bench.plain_tables import beside_plain
from domindex_bench.record import RECORD_NAME, Record
from domindex_bench.suite import Suite
from domindex_bench.suites import SUITES, find_suite
from domindex_bench.summary import STALE, Summary
from domindex_bench.tables import between

PathLike = str | os.PathLike[str]

README_SUITE, REAL_SUITE = "paper", "real"
START = f"<!-- benchmark: written by `make bench-tables` from benchmarks/results/{RECORD_NAME} -->"
END = "<!-- end of benchmark -->"
SHORT_COMMIT = 10
REAL_NOTE = (
    "On real data, accuracy in % or squared error over the variance, means over target domains; "
    "the last column is the best of all plain methods, raw and with every domain standardised, "
    "chosen in hindsight:"
)
NOTE = "Mean ± deviation over seeds; target labels were used for scoring only."


def stale_keys(suite: Suite, results: Iterable[CellResult]) -> set[Key]:
    """The rows whose settings are not those of today's code, or that the suite no longer has."""
    return {
        result.cell.key
        for result in results
        if result.settings != suite.settings_now(result.dataset, result.method)
    }


def render_suite(suite: Suite, results: Sequence[CellResult], *, stale: bool = False) -> str:
    """A suite's document in Markdown.

    Parameters
    ----------
    suite : whose rows these are
    results : rows of the record
    stale : whether to show rows with other settings as well, each marked; else they are refused
    """
    old = _check_settings(suite, results, stale)
    parts = [f"# {suite.title}", f"{suite.about} {NOTE}"]
    if not results:
        parts.append(_nothing(suite))
        return "\n\n".join(parts) + "\n"
    summary = Summary(suite, results, old)
    parts += [describe_origin(results, old), suite.render(summary)]
    if summary.failures():
        parts += ["## Failed cells", _failures(summary)]
    return "\n\n".join(parts) + "\n"


def render_headline(results: Sequence[CellResult], *, stale: bool = False) -> str:
    """The short table of the suite `paper`, and where its rows come from."""
    suite = find_suite(README_SUITE)
    old = _check_settings(suite, results, stale)
    if not results:
        return _nothing(suite)
    return f"{headline_table(Summary(suite, results, old))}\n\n{describe_origin(results, old)}"


def render_readme(results: Sequence[CellResult], *, stale: bool = False) -> str:
    """The short tables of the suites `paper` and `real`, and where their rows come from."""
    paper = render_headline(of_suite(results, README_SUITE), stale=stale)
    real = of_suite(results, REAL_SUITE)
    if not real:
        return paper
    suite = find_suite(REAL_SUITE)
    old = _check_settings(suite, real, stale)
    table = beside_plain(Summary(suite, real, old))
    return "\n\n".join([paper, REAL_NOTE, table, describe_origin(real, old)])


def write_documents(
    out: PathLike,
    *,
    suites: Sequence[str] = SUITES,
    readme: PathLike | None = None,
    stale: bool = False,
) -> list[Path]:
    """Write NAME.md of every suite, and a README's table, from the record in `out`.

    Nothing is written where anything is refused.

    Parameters
    ----------
    out : folder of record.jsonl, and of the documents
    suites : names
    readme : file with the two marks between which the short tables go
    stale : see `render_suite`
    """
    results = list(Record(Path(out) / RECORD_NAME).read().values())
    documents = {
        Path(out) / f"{name}.md": render_suite(
            find_suite(name), of_suite(results, name), stale=stale
        )
        for name in suites
    }
    if readme is not None:
        table = render_readme(results, stale=stale)
        documents[Path(readme)] = between_marks(Path(readme), table)
    for path, text in documents.items():
        path.write_text(text, encoding="utf-8")
    return list(documents)


def of_suite(results: Iterable[CellResult], name: str) -> list[CellResult]:
    """The rows of one suite."""
    return [result for result in results if result.suite == name]


def between_marks(path: Path, content: str) -> str:
    """The text of `path` with `content` between the two marks, which must both be there."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}). Name the README.") from error
    written = between(text, content, START, END)
    if written is None:
        raise InputError(
            f"{path} lacks the lines {START!r} and {END!r}. Put them where the table shall stand."
        )
    return written


def describe_origin(results: Sequence[CellResult], stale: Collection[Key] = ()) -> str:
    """Of which commits, cores and versions the rows are, in a sentence or two."""
    commits = _counted(short_commit(result.commit) for result in results)
    cores = _counted(f"{result.cores} cores" for result in results)
    torch = _counted(f"torch {result.versions.get('torch', 'unknown')}" for result in results)
    text = f"Rows measured at commit {commits}; on {cores}; with {torch}."
    if stale:
        text += (
            f" {STALE} marks figures of {len(stale)} rows that were measured with other settings "
            "than today's."
        )
    return text


def short_commit(commit: str) -> str:
    """A commit as people write it, with what follows it."""
    name, dash, state = commit.partition("-")
    return f"{name[:SHORT_COMMIT]}{dash}{state}" if " " not in commit else commit


def _counted(values: Iterable[str]) -> str:
    """Each value once, the most frequent first; with counts where there are several."""
    counts = Counter(values).most_common()
    if len(counts) == 1:
        return counts[0][0]
    return ", ".join(f"{value} ({count} rows)" for value, count in counts)


def _check_settings(suite: Suite, results: Sequence[CellResult], allowed: bool) -> set[Key]:
    old = stale_keys(suite, results)
    if old and not allowed:
        counts = Counter(method for _, _, method, _ in old)
        methods = ", ".join(f"{name} ({count})" for name, count in sorted(counts.items()))
        rows = "1 row" if len(old) == 1 else f"{len(old)} rows"
        raise InputError(
            f"{rows} of the suite {suite.name!r} were measured with other settings than the "
            f"present code has: {methods}. Measure them again with `domindex-bench run --suite "
            f"{suite.name}` (as many seeds as the record has), or render them anyway, marked, with "
            "--stale (stale=True)."
        )
    return old


def _nothing(suite: Suite) -> str:
    return f"Nothing of this suite is in the record: run `domindex-bench run --suite {suite.name}`."


def _failures(summary: Summary) -> str:
    return "\n".join(f"- {result.cell}: {result.note}" for result in summary.failures())
