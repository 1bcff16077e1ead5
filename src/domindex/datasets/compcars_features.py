"""CompCars as the paper's authors published it: ResNet-18 features of the photographs they used."""

from __future__ import annotations

import numpy as np

from domindex.datasets.compcars import DOMAINS, SOURCE, domain_facts
from domindex.datasets.dataset import Array, DomainDataset
from domindex.datasets.files import DataHome, find_file
from domindex.datasets.pickles import read_pickle
from domindex.errors import DatasetError

FILE = "feature_resnet18_new_data.pkl"

ABOUT = (
    " Inputs are the 512 features of a ResNet-18 for each photograph that the paper's authors "
    "picked, from their repository, where domain number d is viewpoint d mod 5 (front, front-side, "
    "side, rear-side, rear) and year 2009 + d div 5, and domain 0 the source."
)


def load_compcars_features(data_home: DataHome = None) -> DomainDataset:
    """X (pictures, 512), in the domains that `compcars` has, by the same names."""
    content = read_pickle(find_file(FILE, data_home))
    data, label, domain = _checked(content)
    present = [name for number, name in enumerate(DOMAINS) if (domain == number).any()]
    facts = domain_facts(present)
    return DomainDataset(
        name="compcars-features",
        X=data.astype(np.float32),
        y=label,
        sample_domain=np.array(DOMAINS)[domain],
        **{**facts, "description": facts["description"] + ABOUT},
    )


def _checked(content: dict[str, Array]) -> tuple[Array, Array, Array]:
    """Features (n, d), labels (n,) and domain numbers (n,) that fit together."""
    missing = [name for name in ("data", "label", "domain") if name not in content]
    if missing:
        raise DatasetError(
            f"{FILE} holds {', '.join(map(str, content))}, and no {', '.join(missing)}. Delete it "
            "and load the dataset again."
        )
    data, label, domain = content["data"], content["label"], content["domain"]
    if data.ndim != 2 or label.shape != (len(data),) or domain.shape != (len(data),):
        raise DatasetError(
            f"{FILE} holds data of shape {data.shape}, label {label.shape} and domain "
            f"{domain.shape}; expected (n, features), (n,) and (n,)."
        )
    numbers = domain.astype(int)
    if not np.isin(numbers, range(len(DOMAINS))).all() or not (numbers == 0).any():
        raise DatasetError(
            f"{FILE} numbers its domains from {domain.min()} to {domain.max()}; expected 0, which "
            f"is {SOURCE!r}, to {len(DOMAINS) - 1}."
        )
    return data, label.astype(int), numbers
