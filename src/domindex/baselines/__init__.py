"""Methods to compare with, on the same networks, data path and training loop."""

from domindex.baselines.adda import ADDA
from domindex.baselines.cdann import CDANN
from domindex.baselines.cida import CIDA, PCIDA
from domindex.baselines.d2v import D2V
from domindex.baselines.dann import DANN
from domindex.baselines.grda import GRDA
from domindex.baselines.mdd import MDD
from domindex.baselines.plain import PlainBaseline
from domindex.baselines.sentry import SENTRY
from domindex.baselines.source_only import SourceOnly

__all__ = [
    "ADDA",
    "CDANN",
    "CIDA",
    "D2V",
    "DANN",
    "GRDA",
    "MDD",
    "PCIDA",
    "PlainBaseline",
    "SENTRY",
    "SourceOnly",
]
