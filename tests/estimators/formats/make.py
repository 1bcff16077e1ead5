"""Writes the saved models of the present format, to be opened by all later releases.

    python tests/estimators/formats/make.py

Once a release has written a format, its folder here is never written again.
"""

import json
import shutil
import warnings
from pathlib import Path

import numpy as np

from domindex import CrossDomainClassifier, CrossDomainRegressor, Network, Training
from domindex.persistence.model_folder import FORMAT_VERSION

SETTINGS = {
    "candidates": [("flow", "network"), ("raw", "linear"), ("with_index", "linear")],
    "network": Network(width=8),
    "training": Training(steps=4, index_steps=4),
    "random_state": 0,
}


def main() -> None:
    folder = Path(__file__).parent / str(FORMAT_VERSION)
    shutil.rmtree(folder, ignore_errors=True)
    rng = np.random.default_rng(0)
    place = np.repeat(np.arange(5), 8)
    plain = rng.normal(size=(40, 2)).round(2)
    X, names = plain + 0.5 * place[:, None], [f"d{number}" for number in place]
    roles = {"sample_domain": names, "source_domains": ["d0", "d1", "d2"]}
    classes = np.array(["no", "yes"])[(plain[:, 0] > 0).astype(int)]
    classifier = CrossDomainClassifier(**SETTINGS).fit(X, classes, **roles)
    regressor = CrossDomainRegressor(**SETTINGS).fit(X, plain[:, 0], **roles)
    classifier.save(folder / "classes")
    regressor.save(folder / "values")
    asked = {"sample_domain": names[::4]}
    expected = {
        "X": X[::4].tolist(),
        "domains": names[::4],
        "classes": classifier.predict_proba(X[::4], **asked).tolist(),
        "values": regressor.predict(X[::4], **asked).tolist(),
    }
    (folder / "expected.json").write_text(json.dumps(expected) + "\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
