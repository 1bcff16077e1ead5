"""How long a default fit takes, beside the authors' code: each in a process of its own.

The paper's datasets are held against the times of the authors' release on a machine of this kind
(its own settings and epochs); a generated table of 6,000 rows, 50 features and 30 domains is what
a user's may look like.
"""

from __future__ import annotations

import resource
import time
from functools import partial

from domindex_bench.measuring import Found, Measurement

AUTHORS = {
    "dg-15": 15 * 60 + 48,
    "circle": 54 * 60 + 36,
    "dg-60": 65 * 60 + 42,
    "tpt-48-w-e": 19 * 500,
    "tpt-48-n-s": 19 * 500,
}
"""Seconds of the authors' release; of TPT-48, of its 500 epochs at the time of one."""


def timed_fit(name: str) -> Found:
    began = time.perf_counter(), time.process_time()
    from domindex import CrossDomainClassifier, CrossDomainRegressor, load_dataset
    from domindex.datasets import make_drift

    what, _, effort = name.partition(" ")
    if name in AUTHORS:
        data = load_dataset(name)
        y, is_class = data.y, data.task == "classification"
    else:
        data = make_drift(n_domains=30, samples_per_domain=200, n_features=50, random_state=1)
        is_class = what == "classes"
        y = data.y if is_class else data.X[:, 0] ** 2 + 0.3 * data.X.sum(axis=1)
    model = (CrossDomainClassifier if is_class else CrossDomainRegressor)(
        effort=effort or "full", random_state=0
    )
    start = time.perf_counter(), time.process_time()
    model.fit(data.X, y, sample_domain=data.sample_domain, source_domains=data.source_domains)
    found: Found = {
        "seconds": time.perf_counter() - start[0],
        "cpu_seconds": time.process_time() - start[1],
        "seconds_with_imports": time.perf_counter() - began[0],
        "cpu_seconds_with_imports": time.process_time() - began[1],
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "stages": dict(zip(model.timings_["stage"], model.timings_["seconds"])),
    }
    if name in AUTHORS:
        found |= {"authors_seconds": AUTHORS[name], "ratio": AUTHORS[name] / found["seconds"]}
    return found


MEASUREMENT = Measurement(
    parts={
        name: partial(timed_fit, name)
        for name in (*AUTHORS, "classes", "classes quick", "values", "values quick")
    },
    fresh=True,
)
