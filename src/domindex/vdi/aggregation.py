"""From the local indices of all rows to one raw index a domain: equations 15 and 16.

The paper's text calls equations 14 to 17 "8 to 11": 14 is `fitting.local_indices`, 17 the network
`GlobalIndexEncoder`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from domindex.arrays import Floats
from domindex.geometry.domain_map import DomainMap

AGGREGATIONS = ("exact", "sinkhorn", "sliced", "mean")


def as_clouds(groups: Sequence[Floats], aggregation: str) -> list[Floats]:
    """What distances are measured between: all u of a domain, or, by "mean", their mean alone."""
    if aggregation == "mean":
        return [group.mean(axis=0, keepdims=True) for group in groups]
    return list(groups)


def raw_index(
    domains: Sequence[Hashable],
    groups: Sequence[Floats],
    index_dim: int,
    aggregation: str = "sliced",
    neighbors: Sequence[int] = (),
    reference: Floats | None = None,
) -> DomainMap:
    """Equations 15 and 16: S = [f_EMD(U_k, U_j)], then β^r = f_MDS(S).

    f_EMD is the root of squared transport, exact, entropic ("sinkhorn") or sliced; f_MDS is
    classical scaling, to unit mean square length. "mean" measures between means of u, as the
    authors do on Circle. `neighbors` takes distances along geodesics, which the paper does not. The
    index is turned onto `reference`, that of the epoch before: it does not spin under the encoder.
    """
    method: Any = "exact" if aggregation == "mean" else aggregation
    clouds = as_clouds(groups, aggregation)
    return DomainMap.fit(
        domains, clouds, index_dim, neighbors=neighbors, method=method, reference=reference
    )
