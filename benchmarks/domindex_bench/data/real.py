"""Twelve datasets from many domains that nobody made for this: where they come from, and loading.

Each is one .npz file without pickles: X, y, d (a domain name per row), sources (the labelled
domains), task ("class" or "reg"), dom and order (domains, and what they are ordered by where that
is known: for scoring a map only).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pooch

from domindex.datasets.dataset import DomainDataset, Task
from domindex.datasets.files import DATA_HOME_VARIABLE, DataHome, data_folder
from domindex.errors import DatasetError

FOLDER = "real"
TASKS: dict[str, Task] = {"class": "classification", "reg": "regression"}


@dataclass(frozen=True)
class RealDataset:
    """One of the twelve.

    Attributes
    ----------
    title : what tables call it
    task : what is to be predicted
    about : what a domain is, which are labelled, and the target
    origin : where its rows come from
    sha256 : of the file
    """

    title: str
    task: Task
    about: str
    origin: str
    sha256: str


REAL: dict[str, RealDataset] = {
    "vowel": RealDataset(
        "Vowels",
        "classification",
        "speaker, the first five by number; eleven vowels",
        "UCI 152, Connectionist Bench",
        "5301ae6e371d8c7372b1114b960bf12a3b50afc7a7d33b96cb545832c8b933f3",
    ),
    "gas": RealDataset(
        "Gas sensors",
        "classification",
        "batch of a sensor array over three years, the first two; six gases",
        "UCI 224, Gas Sensor Array Drift (without batches 7 and 10)",
        "6f9659da2e57fa7e884fbecd1d9300458112e4c35cf5795e18044e646b07355d",
    ),
    "elec2": RealDataset(
        "Elec2",
        "classification",
        "30 days of a power market, the first eight; price up or down",
        "Elec2, New South Wales 1996-98",
        "633bda50aff166656db18aec602336f3740a2745d08c82f81aa495103700971c",
    ),
    "adult-occ": RealDataset(
        "Adult",
        "classification",
        "occupation, a random 30 %; income above 50,000",
        "UCI 2, Adult",
        "efa0cd9da9485d58525981a7904af1b1bb51157e00e9be754a492361647f90ca",
    ),
    "flights-delay": RealDataset(
        "Flights",
        "classification",
        "month of 2013, January to April; arrived late",
        "nycflights13, with weather",
        "7ecfdbac2ebd84187c8ab680f784cca0d67a4f71f8cb781b10b095ac99eda639",
    ),
    "rotating-mnist": RealDataset(
        "Rotating MNIST",
        "classification",
        "angle from 0 to 172.5 degrees, the first six; ten digits",
        "MNIST, each digit turned once",
        "b9addbc81622460d552898042c428fa8a095396b986950a32d8828a0cae21884",
    ),
    "beijing-station": RealDataset(
        "Beijing",
        "regression",
        "station, the four northernmost; log PM2.5",
        "UCI 501, Beijing Multi-Site Air Quality",
        "76c86441704de8fc9690bb955a8fc45df8c9d4617c0ddd3f8acc271775497126",
    ),
    "airquality-it": RealDataset(
        "Air quality",
        "regression",
        "month 2004-05, the first four; carbon monoxide",
        "UCI 360, Air Quality",
        "520d775680b1e7229861d29a049570cfc20273db86db4a6006fc3f1f58264209",
    ),
    "calhousing": RealDataset(
        "California housing",
        "regression",
        "bin of latitude, the six southernmost; log house value",
        "California housing, 1990 census",
        "0f5e520e699b4aeed8696e04f0f45c2e5eb3a99678120c5f2896b09296e23a05",
    ),
    "communities": RealDataset(
        "Communities",
        "regression",
        "US state, a random 30 %; violent crime",
        "UCI 183, Communities and Crime",
        "c003913bf0a35baf151b078b3c5f9443e34af68f9d87181eef458eca42358ba7",
    ),
    "gapminder": RealDataset(
        "Gapminder",
        "regression",
        "year 1960-2011, the first sixteen; life expectancy",
        "dslabs, from Rdatasets",
        "0e3ff8b77c099b55692d7ec60eb83ea7afead4f3d41572f617004e66c8631b28",
    ),
    "produc": RealDataset(
        "Productivity",
        "regression",
        "US state, a random 30 %; log gross product",
        "plm, from Rdatasets",
        "725fec720d25d47d412d7e4eb29c34bbf60c055d6839ac28b32cb27a8e36a5b8",
    ),
}


def list_real_datasets() -> list[str]:
    """The names that `load_real_dataset` knows."""
    return list(REAL)


def load_real_dataset(name: str, data_home: DataHome = None) -> DomainDataset:
    """Load one of the twelve by name, from the folder `real` of `data_home` or $DOMINDEX_DATA.

    The files are not downloaded: their origins are named where one is missing.
    """
    if name not in REAL:
        raise DatasetError(
            f"There is no real dataset {name!r}; there are {', '.join(REAL)}. Choose one of these."
        )
    known = REAL[name]
    path = _find(name, known, data_home)
    with np.load(path, allow_pickle=False) as arrays:
        names, order = arrays["dom"].tolist(), arrays["order"]
        y = arrays["y"]
        ordered = bool(np.isfinite(order).all())
        return DomainDataset(
            name=name,
            X=arrays["X"],
            y=y if known.task == "classification" else y.reshape(len(y), -1),
            sample_domain=arrays["d"],
            source_domains=arrays["sources"].tolist(),
            domains=names,
            task=TASKS[str(arrays["task"])],
            true_index=order[:, None].astype(np.float64) if ordered else None,
            index_names=("order",) if ordered else (),
            graph=None,
            description=f"{known.title}: {known.about}. From {known.origin}.",
        )


def _find(name: str, known: RealDataset, data_home: DataHome) -> Path:
    path = data_folder(data_home) / FOLDER / f"{name.replace('-', '_')}.npz"
    if not path.is_file():
        raise DatasetError(
            f"There is no {path}. Its rows come from {known.origin} ({known.about}). Name a folder "
            f"that holds {FOLDER}/{path.name} as data_home or ${DATA_HOME_VARIABLE}."
        )
    found = pooch.file_hash(str(path), alg="sha256")
    if found != known.sha256:
        raise DatasetError(
            f"{path} is not the file that was measured: its SHA-256 is {found}, expected "
            f"{known.sha256}. Get it again, or load your own rows with a DomainDataset."
        )
    return path
