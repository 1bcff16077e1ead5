"""A fitted model shown to its user: report, map, why a domain lies where it does, in a notebook.

Figures, pages and words live in `domindex.reporting`, which stands above the estimators; it is
looked up when one of these methods is called, and only here.
"""

from __future__ import annotations

import os
from collections.abc import Hashable
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.utils.validation import check_is_fitted


def _shown_by(module: str) -> Any:
    """A module of reporting."""
    return import_module(f"domindex.reporting.{module}")


class ShownModel:
    """What a fitted model has to show; a mixin of the estimators with a map."""

    def report(
        self,
        path: str | os.PathLike[str],
        X: Any = None,
        y: Any = None,
        *,
        sample_domain: Any = None,
        **details: Any,
    ) -> Path:
        """Write the report as one HTML file, and return its path.

        Parameters
        ----------
        path : of the file; one that is there is replaced
        X : what the model was fitted on. Without it there is no audit, no column to colour the map
            by and no picture; all else was kept by the fit
        y : labels, as in `fit`; read in source domains only
        sample_domain : a domain name per row
        **details : title, table, columns, budget and what else `reporting.report_data` takes

        Examples
        --------
        >>> model.report("report.html").name
        'report.html'
        """
        check_is_fitted(self)
        content = _shown_by("building").report_data(self, X, y, sample_domain, **details)
        written: Path = _shown_by("report").write_report(content, path)
        return written

    def plot_map(self, *, ax: Any = None, **details: Any) -> Any:
        """Draw the map with matplotlib, and return the Axes.

        Parameters
        ----------
        ax : where to draw; a new figure where None
        **details : color, color_label, graph and what else `reporting.plot_domain_map` takes

        Examples
        --------
        >>> axes = model.plot_map()
        >>> axes.get_xlabel()
        'domain index 1'
        """
        check_is_fitted(self)
        return _shown_by("map_figures").plot_domain_map(self, ax=ax, **details)

    def explain_domain(self, name: Hashable) -> pd.DataFrame:
        """Why a domain lies where it does: a row a column of the inputs, the largest difference
        first.

        Columns: column; from_neighbours and from_sources, how far its values lie from those of its
        neighbours on the map and of the sources, 0 alike to 1 nothing in common; chance, what so
        few rows would differ by without any reason; typical, neighbours_typical and
        sources_typical, the range that holds the median of each. Empty where rows are no table, or
        the domain was added after the fit or has fewer than 5 rows.

        Examples
        --------
        >>> model.explain_domain(4).columns[:3].tolist()
        ['column', 'from_neighbours', 'from_sources']
        """
        check_is_fitted(self)
        table: pd.DataFrame = _shown_by("explaining").explain_domain(self, name)
        return table

    @property
    def map_(self) -> pd.DataFrame:
        """The map as a table: a row a domain with its role, place, uncertainty and distance to the
        nearest source, in median spacings of the map.

        Examples
        --------
        >>> model.map_[["domain", "role"]].iloc[[0, 4]].values.tolist()
        [[0, 'source'], [4, 'target']]
        """
        check_is_fitted(self)
        table: pd.DataFrame = _shown_by("explaining").map_table(self)
        return table

    def _html_repr(self) -> str:
        """For notebooks, by scikit-learn's `_repr_html_`: the map in small and who predicts; before
        fit, the parameters."""
        if not hasattr(self, "domain_index_"):
            return str(super()._html_repr())  # type: ignore[misc]
        page: str = _shown_by("report").model_card(self)
        return page
