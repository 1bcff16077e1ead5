"""Markdown that suites put their documents together from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from domindex_bench.summary import Summary


def markdown(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def by_method(summary: Summary, figure: str) -> str:
    """A row per method, a column per dataset."""
    suite, datasets = summary.suite, summary.datasets
    rows = [
        [suite.method_title(method), *(summary.text(name, method, figure) for name in datasets)]
        for method in summary.methods
    ]
    return markdown(["", *map(suite.title_of, datasets)], rows)


def between(text: str, content: str, start: str, end: str) -> str | None:
    """The text with `content` between two marks; None where it lacks one of them."""
    before, first, rest = text.partition(start)
    _, last, after = rest.partition(end)
    return f"{before}{first}\n{content}\n{last}{after}" if first and last else None


def by_dataset(summary: Summary, figure: str) -> str:
    """A row per dataset, a column per method."""
    suite, methods = summary.suite, summary.methods
    rows = [
        [suite.title_of(name), *(summary.text(name, method, figure) for method in methods)]
        for name in summary.datasets
    ]
    return markdown(["", *map(suite.method_title, methods)], rows)


def by_figure(summary: Summary, figures: dict[str, str], words: Sequence[str] = ()) -> str:
    """For suites of one method: a row per dataset, a column per figure, `figures` with titles."""
    rows = [
        [
            summary.suite.title_of(name),
            *(summary.text(name, method, figure) for figure in figures),
            *(summary.words(name, method, word) for word in words),
        ]
        for name in summary.datasets
        for method in summary.methods
    ]
    return markdown(["", *figures.values(), *words], rows)
