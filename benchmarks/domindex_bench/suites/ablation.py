"""The model with one part taken out at a time: of its network, which predicts alone here."""

from __future__ import annotations

from functools import partial

from domindex.vdi.settings import Network
from domindex_bench.figures import map_figures, prediction_figures
from domindex_bench.methods import Method, cross_domain, some_methods
from domindex_bench.suite import Suite, library_datasets
from domindex_bench.tables import by_method

VARIANTS = {
    "network": ("the network alone", {}),
    "no-adversary": ("no adversary", {"network": Network(adversary_weight=0.0)}),
    "identity-adversary": ("identity discriminator", {"network": Network(adversary=("domain",))}),
}

SUITE = Suite(
    name="ablation",
    title="One part taken out at a time",
    about="Target accuracy, %.",
    datasets=library_datasets("dg-15", "dg-60", "circle"),
    methods={
        **some_methods("cross-domain", "moment-flow"),
        **{
            name: Method(
                name,
                title,
                "a part taken out",
                build=partial(cross_domain, predictor="network", **settings),
            )
            for name, (title, settings) in VARIANTS.items()
        },
    },
    seeds=2,
    figures=(prediction_figures, map_figures),
    headline={"classification": "accuracy"},
    render=partial(by_method, figure="accuracy"),
)
