"""Methods to compare with, on the same data path."""

from domindex.baselines.moment_flow import MomentFlow
from domindex.baselines.plain import PlainBaseline

__all__ = ["MomentFlow", "PlainBaseline"]
