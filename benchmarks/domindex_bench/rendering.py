"""From the record to documents. Rows of another tree of `src/domindex` are shown, and marked."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from domindex.datasets.files import DataHome
from domindex.errors import InputError
from domindex.reporting import paper_figures
from domindex_bench.record import RECORD_NAME, CellResult, Record, short_commit, source_tree
from domindex_bench.suite import SUITES, Suite, choose_names, find_suite
from domindex_bench.tables import OTHER_TREE, Summary

PathLike = str | os.PathLike[str]

START = f"<!-- benchmark: written by `make bench-tables` from benchmarks/results/{RECORD_NAME} -->"
END = "<!-- end of benchmark -->"


def render_suite(suite: Suite, results: Sequence[CellResult], tree: str | None = None) -> str:
    """A suite's document in Markdown, of its rows of the record.

    Rows of another tree than `tree`, the present one where none is given, are marked.
    """
    summary = Summary(suite, results, tree or source_tree())
    note = "Mean ± deviation over seeds; target labels were used for scoring only."
    parts = [f"# {suite.title}", f"{suite.about} {note}"]
    if not results:
        return "\n\n".join([*parts, _nothing(suite)]) + "\n"
    parts += [suite.render(summary), describe_origin(summary)]
    failed = [f"- {row.cell}: {row.note}" for row in summary.rows if row.status == "failed"]
    if failed:
        parts += ["## Failed cells", "\n".join(failed)]
    return "\n\n".join(parts) + "\n"


def render_readme(results: Sequence[CellResult], tree: str | None = None) -> str:
    """The short tables of the suites `paper` and `real`, and where their rows come from."""
    from domindex_bench.suites.paper import headline_table
    from domindex_bench.suites.real import beside_plain

    parts = []
    for name, render in (("paper", headline_table), ("real", beside_plain)):
        rows = of_suite(results, name)
        if rows:
            summary = Summary(find_suite(name), rows, tree or source_tree())
            parts += [render(summary), describe_origin(summary)]
        elif name == "paper":
            parts.append(_nothing(find_suite(name)))
    return "\n\n".join(parts)


def results_chart(results: Sequence[CellResult]) -> str:
    """An SVG of the suite `real`: what is wrong of this library and of two plain models.

    Of classes the share of rows, of values that of the variance; means over target domains, seeds.
    """
    summary = Summary(find_suite("real"), of_suite(results, "real"), "")
    rows = []
    for dataset in summary.datasets:
        figure = summary.headline(dataset)
        is_class = figure == "domain_accuracy"

        def wrong(method: str, dataset: str = dataset, figure: str = figure) -> float | None:
            spread = summary.spread(dataset, method, figure)
            return None if spread is None else sum(spread.values) / len(spread.values)

        own = wrong("cross-domain")
        plain = [wrong(name) for name in ("logistic" if is_class else "ridge", "boosting")]
        known = [one for one in plain if one is not None]
        if own is None or not known:
            continue
        scores = [own, max(known) if is_class else min(known)]
        shares = [1.0 - one / (100.0 if one > 1 else 1.0) if is_class else one for one in scores]
        rows.append((summary.suite.title_of(dataset), *shares))
    left, width, step = 150, 430, 34
    height = 44 + step * len(rows)
    most = max((max(own, plain) for _, own, plain in rows), default=1.0)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 70} {height}" '
        'font-family="sans-serif" font-size="13" role="img">',
        f'<rect width="{left + width + 70}" height="{height}" fill="#ffffff"/>',
        f'<rect x="{left}" y="10" width="12" height="12" fill="#0072b2"/>',
        f'<text x="{left + 18}" y="21">domindex</text>',
        f'<rect x="{left + 110}" y="10" width="12" height="12" fill="#c8ccd2"/>',
        f'<text x="{left + 128}" y="21">better of plain linear and plain boosting</text>',
    ]
    for number, (title, own, plain) in enumerate(rows):
        top = 36 + step * number
        parts.append(f'<text x="{left - 8}" y="{top + 17}" text-anchor="end">{title}</text>')
        for place, (share, colour) in enumerate(((own, "#0072b2"), (plain, "#c8ccd2"))):
            long, y = width * share / most, top + 13 * place
            parts.append(
                f'<rect x="{left}" y="{y}" width="{long:.1f}" height="11" fill="{colour}"/>'
                f'<text x="{left + long + 5:.1f}" y="{y + 10}" font-size="11">{100 * share:.1f} %'
                "</text>"
            )
    return "\n".join([*parts, "</svg>"]) + "\n"


def write_figures(
    dataset: str,
    methods: Sequence[str] | None = None,
    *,
    suite: str = "compcars",
    seed: int = 0,
    out: PathLike = "figures",
    data_home: DataHome = None,
) -> list[Path]:
    """The paper's figures of a suite's dataset, fitted anew; one column a method.

    None for `methods` takes the paper's model and ours, with a backbone where the suite asks for
    one.
    """
    known = find_suite(suite)
    (name,) = choose_names("dataset", [dataset], list(known.datasets))
    drawing = ("vdi", "cross-domain", "cross-domain-conv")
    wanted = [one for one in drawing if one in known.methods] if methods is None else methods
    chosen = choose_names("method", wanted, list(known.methods))
    data = known.datasets[name].load(data_home, seed)
    reasons = {one: known.methods[one].objection(data) for one in chosen}
    if methods is None:
        chosen = [one for one in chosen if not reasons[one]]
    for one in chosen:
        if reasons[one]:
            raise InputError(f"{one} cannot run on {name}: {reasons[one]}. Name other methods.")
    built = {known.methods[one].title: known.methods[one].build(data, seed) for one in chosen}
    return paper_figures(data, out, method=built)


def write_documents(
    out: PathLike, *, suites: Sequence[str] = SUITES, readme: PathLike | None = None
) -> list[Path]:
    """Write NAME.md of every suite, and a README's table, from the record in `out`."""
    results = list(Record(Path(out) / RECORD_NAME).read().values())
    documents = {
        Path(out) / f"{name}.md": render_suite(find_suite(name), of_suite(results, name))
        for name in suites
    }
    if readme is not None:
        table = render_readme(results)
        documents[Path(readme)] = between_marks(Path(readme), table, START, END)
        pictures = Path(readme).parent / "pictures"
        if pictures.is_dir():
            documents[pictures / "results.svg"] = results_chart(results)
    for path, text in documents.items():
        path.write_text(text, encoding="utf-8")
    return list(documents)


def of_suite(results: Iterable[CellResult], name: str) -> list[CellResult]:
    return [result for result in results if result.suite == name]


def between_marks(path: Path, content: str, start: str, end: str) -> str:
    """The text of `path` with `content` between two marks, which must both be there."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}). Name the page.") from error
    before, first, rest = text.partition(start)
    _, last, after = rest.partition(end)
    if not (first and last):
        raise InputError(
            f"{path} lacks the lines {start!r} and {end!r}. Put them where the table shall stand."
        )
    return f"{before}{first}\n{content}\n{last}{after}"


def describe_origin(summary: Summary) -> str:
    """Of which trees, commits, cores and versions the rows are, in a sentence or two."""
    rows = summary.rows
    commits = _counted(short_commit(row.commit) for row in rows)
    cores = _counted(f"{row.cores} cores" for row in rows)
    torch = _counted(f"torch {row.versions.get('torch', 'unknown')}" for row in rows)
    text = f"Rows measured at commit {commits}; on {cores}; with {torch}."
    other = sum(map(summary.is_of_other_tree, rows))
    return (
        f"{text} {OTHER_TREE} marks figures of other code: {other} of {len(rows)} rows were "
        f"measured with another tree of `src/domindex` than {summary.tree[:12]}, which these "
        "tables were rendered with."
    )


def _counted(values: Iterable[str]) -> str:
    """Each value once, the most frequent first; with counts where there are several."""
    counts = Counter(values).most_common()
    if len(counts) == 1:
        return counts[0][0]
    return ", ".join(f"{value} ({count} rows)" for value, count in counts)


def _nothing(suite: Suite) -> str:
    return f"Nothing of this suite is in the record: run `domindex-bench run --suite {suite.name}`."
