"""A script that a launcher starts in every process: fits, and writes down what each process got."""

import json
import os
import sys
from pathlib import Path

from domindex import Training, VDIClassifier
from domindex.datasets import make_circle
from domindex.errors import InputError

TRAINING = {"steps": 20, "starts": 1, "index_steps": 24, "batch_size": 16}


def family(random_state: int = 0):
    """As many rows a domain as a batch has: an epoch of the record is a step."""
    return make_circle(n_domains=6, n_sources=3, samples_per_domain=16, random_state=random_state)


def fitted(data, **where) -> VDIClassifier:
    """The paper's model: the map is redrawn while u learns, and z is whitened over the batch."""
    model = VDIClassifier(
        flow=None, training=Training(**TRAINING), n_jobs=1, random_state=0, **where
    )
    return model.fit(
        data.X, data.y, sample_domain=data.sample_domain, source_domains=data.source_domains
    )


def main(folder: Path) -> None:
    rank, data = int(os.environ["RANK"]), family()
    model = fitted(data, devices=2, strategy="ddp")
    model.save(folder / "model")  # refused where a second process writes
    told = {
        "n_processes": model.n_processes_,
        "history": model.history_.to_json(double_precision=15),
        "predicted": model.predict_proba(data.X, sample_domain=data.sample_domain).tolist(),
        "map": model.domain_indices_.tolist(),
    }
    try:
        fitted(family(random_state=rank), strategy="ddp")
    except InputError as error:
        told["refused"] = str(error)
    (folder / f"{rank}.json").write_text(json.dumps(told))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
