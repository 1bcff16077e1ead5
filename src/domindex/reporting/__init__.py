"""Figures of maps and fits."""

from domindex.reporting.figures import plot_domain_map

__all__ = ["plot_domain_map"]
