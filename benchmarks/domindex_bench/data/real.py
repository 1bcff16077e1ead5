"""Datasets from many domains that nobody made for this: where they come from, and loading.

Each is one .npz file without pickles: X, y, d (a domain name per row), sources (the labelled
domains), task ("class" or "reg"), and some have dom and order (domains, and what they are ordered
by where that is known: for scoring a map only).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pooch

from domindex.datasets.dataset import DomainDataset, Task
from domindex.datasets.files import DATA_HOME_VARIABLE, DataHome, data_folder
from domindex.errors import DatasetError

TASKS: dict[str, Task] = {"class": "classification", "reg": "regression"}


@dataclass(frozen=True)
class RealDataset:
    """One of them.

    Attributes
    ----------
    title : what tables call it
    task : what is to be predicted
    about : what a domain is, which are labelled, and the target
    origin : where its rows come from
    sha256 : of the file
    folder : that holds it
    """

    title: str
    task: Task
    about: str
    origin: str
    sha256: str
    folder: str = "real"


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
"""The twelve of the suite `real`."""

MORE: dict[str, RealDataset] = {
    "heart": RealDataset(
        "Heart",
        "classification",
        "hospital, two of four; disease",
        "heart disease, UCI 45",
        "e6f13a44171e28131921147106fc426646deaded064ca798e3ce8b33c17d7286",
        "real2",
    ),
    "ukcars": RealDataset(
        "UK cars",
        "regression",
        "make, three of nine; log price",
        "used cars, github.com/aelkahout/uk_used_cars",
        "27d28f6881f95a79d73cf949dbccc67fd8800ac1b99cd5b1e694050ffa960a73",
        "real2",
    ),
    "hotel": RealDataset(
        "Hotel",
        "classification",
        "month of arrival, the first six; cancelled",
        "Hotel Reservations, github.com/snaissurllik/decision-tree-id3",
        "f97dfb33669dc37cd02ea9bad15d42f67c7258c94f0ca42fe8527b15f1609f0a",
        "real2",
    ),
    "concrete": RealDataset(
        "Concrete",
        "regression",
        "age in days, the first three; strength",
        "UCI 165, github.com/Jangrae/csv",
        "dcddfe3db661fcde8c49286275e64e23e657fece69859ce2a5587e14125f433b",
        "real2",
    ),
    "turbine": RealDataset(
        "Turbine",
        "regression",
        "year, the first two; nitrogen oxides",
        "UCI 551, Gas Turbine Emission",
        "01c7b3668a1a2ec69257fc3f20a762d3e8c9e4c6891a33daac7e749660aa7f04",
        "real2",
    ),
    "eeg": RealDataset(
        "EEG",
        "classification",
        "block of 1,000 samples in time, the first five; eye open or closed",
        "UCI 264, EEG Eye State",
        "e5069e6aa41e744b31eb72c2a04efef7a12cd5d226c1b51eca3d92f712827667",
        "real2",
    ),
    "steel": RealDataset(
        "Steel",
        "regression",
        "month, the first four; energy used",
        "UCI 851, Steel Industry Energy",
        "31c5cf9c3f8cdff4a206419594be1cb3c99a7a0acd03eafd74b31970e415a37d",
        "real2",
    ),
    "penguins": RealDataset(
        "Penguins",
        "classification",
        "species, two of three; sex",
        "palmerpenguins",
        "f6ab4a4449ad4d2eb4a8c3bb2d4076feca0a72bb5d24db1857d98327cac092af",
        "real2",
    ),
    "german": RealDataset(
        "German credit",
        "classification",
        "purpose of the loan, three of seven; good or bad",
        "UCI 144, German Credit",
        "fed13e8fdd877fd7b9631ec48855f0fbac7cc4c1b740d98a7d449af6d31f5b21",
        "real2",
    ),
    "compas": RealDataset(
        "COMPAS",
        "classification",
        "age band, the first four; recidivism in two years",
        "ProPublica, compas-scores-two-years",
        "c5dd54cae813a5ffd1d56fe1ef5520553f58dfff63a657fd5feb2e1353967003",
        "real2",
    ),
    "dropout": RealDataset(
        "Dropout",
        "classification",
        "course, five of sixteen; drops out, enrolled or graduates",
        "UCI 697, Students' Dropout",
        "7a40270ca0dd1ed91ac2f04ece34891e310d7d593c511d459cdd4390cb9209d3",
        "real2",
    ),
    "garments": RealDataset(
        "Garments",
        "regression",
        "team, four of twelve; productivity",
        "UCI 597, Garment Employees",
        "242c501daadf5276fe699d50c07988bb09fc15957a1d5dee76d3b269d5ecfd28",
        "real2",
    ),
    "melbourne": RealDataset(
        "Melbourne",
        "regression",
        "council, nine of 29; log price",
        "Melbourne_housing_FULL, github.com/samanthapua/real_estate",
        "c46dc28a920a3d26aceb77a0f3d2af19943f0b50418d6b7dae378b915cac3715",
        "real2",
    ),
    "avocado": RealDataset(
        "Avocado",
        "regression",
        "region, sixteen of 54; price",
        "avocado, github.com/arjun0200/Datasets",
        "12558fd69ed52fc70c517d0aeda8b40117632b5fafb1e4942ef40dc07ac9c610",
        "real2",
    ),
    "occupancy": RealDataset(
        "Occupancy",
        "classification",
        "day, the first six; room in use",
        "UCI 357, Occupancy Detection",
        "3838923272b320ad62de1407fe1399b495207883b8bdfe51f82f46df98553997",
        "real2",
    ),
    "student": RealDataset(
        "Student",
        "regression",
        "school, one of two; grade",
        "UCI 320, Student Performance",
        "a6d15aa7dae349bece9aa01c579bea0fc0580ea83f6fb88a0efdb9a3ba29c714",
        "real2",
    ),
}
"""Sixteen more, found later; no suite is made of them."""


def list_real_datasets() -> list[str]:
    """The names that `load_real_dataset` knows."""
    return list(REAL)


def load_real_dataset(name: str, data_home: DataHome = None) -> DomainDataset:
    """Load one of them by name, from its folder in `data_home` or $DOMINDEX_DATA.

    The files are not downloaded: their origins are named where one is missing.
    """
    everything = {**REAL, **MORE}
    if name not in everything:
        there = ", ".join(everything)
        raise DatasetError(f"There is no real dataset {name!r}; there are {there}. Choose one.")
    known = everything[name]
    path = _find(name, known, data_home)
    with np.load(path, allow_pickle=False) as arrays:
        y, names, order = arrays["y"], np.unique(arrays["d"]).tolist(), np.array(np.nan)
        if "dom" in arrays:
            names, order = arrays["dom"].tolist(), arrays["order"]
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
    path = data_folder(data_home) / known.folder / f"{name.replace('-', '_')}.npz"
    if not path.is_file():
        raise DatasetError(
            f"There is no {path}. Its rows come from {known.origin} ({known.about}). Name a folder "
            f"that holds {known.folder}/{path.name} as data_home or ${DATA_HOME_VARIABLE}."
        )
    found = pooch.file_hash(str(path), alg="sha256")
    if found != known.sha256:
        raise DatasetError(
            f"{path} is not the file that was measured: its SHA-256 is {found}, expected "
            f"{known.sha256}. Get it again, or load your own rows with a DomainDataset."
        )
    return path
