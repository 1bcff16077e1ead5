"""The paper's model, and one departure from it at a time."""

from __future__ import annotations

from functools import partial
from typing import Any

from domindex_bench.figures import map_figures, prediction_figures
from domindex_bench.methods import Method, needs_task, no_objection, some_methods, vdi
from domindex_bench.suite import Suite, library_datasets
from domindex_bench.suites.paper import SUITE as PAPER
from domindex_bench.tables import by_method

VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "affine": ("z an affine map of x", {"encoder": "affine"}),
    "strain": ("the same, with strain", {"encoder": "affine", "strain_weight": 0.3}),
    "blocks": ("u and β held still while z learns", {"index_rate": 0.0}),
    "one-rate": ("u and β learn as fast as z", {"index_rate": 1.0}),
    "smoothness": ("smoothness", {"smoothness_weight": 1.0}),
    "projection": ("u starts at a projection", {"local_index": "projection"}),
    "geodesics": ("geodesics", {"geodesics": True}),
    "sliced": ("sliced transport for means of u", {"aggregation": "sliced"}),
    "exact": ("exact transport for means of u", {"aggregation": "exact"}),
    "both-adversaries": ("adversary: graph and domain, always", {"adversary": "graph+domain"}),
    "domain-adversary": ("adversary: domain alone", {"adversary": "domain"}),
    "graph-adversary": ("adversary: graph alone", {"adversary": "graph"}),
    "index-adversary": ("adversary: index alone", {"adversary": "index"}),
    "no-adversary": ("no adversary", {"adversary": None}),
    "no-contrast": ("no contrastive loss", {"contrastive_weight": 0.0}),
    "no-decay": ("what β does to x does not decay", {"motion_decay": 0.0}),
    "at-once": ("all targets from the start", {"admission": 0.0}),
}

ALIKE = {
    "both-adversaries": partial(needs_task, "regression", "the default has both for classes"),
    "no-adversary": partial(
        needs_task, "classification", "the default has none where labels depend on the source"
    ),
}
"""Why a departure is none on some of the datasets."""

SUITE = Suite(
    name="ablation",
    title="The paper's model, one departure at a time",
    about="Target accuracy, %, or the paper's error on TPT-48. From the third row on, one thing is "
    "changed in the first.",
    datasets=library_datasets("circle", "dg-15", "dg-60", "tpt-48-w-e", "tpt-48-n-s"),
    methods={
        **some_methods("vdi", "vdi-options"),
        **{
            name: Method(
                name,
                title,
                "a departure",
                build=partial(vdi, **settings),
                objection=ALIKE.get(name, no_objection),
            )
            for name, (title, settings) in VARIANTS.items()
        },
    },
    seeds=5,
    figures=(prediction_figures, map_figures),
    headline=PAPER.headline,
    render=by_method,
)
