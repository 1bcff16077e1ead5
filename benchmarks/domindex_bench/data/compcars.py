"""CompCars: photographs of cars, by viewpoint and year, in the folders of its release.

The release has image/MAKE/MODEL/YEAR/NAME.jpg, label/MAKE/MODEL/YEAR/NAME.txt (viewpoint, number of
boxes, box) and misc/attributes.txt (a row a model, its type last). It is given out on request by
its authors: http://mmlab.ie.cuhk.edu.hk/datasets/comp_cars/. Pictures are read one at a time.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from domindex.datasets import DomainDataset
from domindex.datasets.dataset import check_count, check_seed
from domindex.datasets.files import DATA_HOME_VARIABLE, DataHome, data_folder
from domindex.datasets.paper import CAR_DOMAINS, YEARS, car_facts
from domindex.errors import DatasetError, InputError

Floats = NDArray[np.float32]
Box = tuple[int, int, int, int]

PAGE = "http://mmlab.ie.cuhk.edu.hk/datasets/comp_cars/"
SOURCE = CAR_DOMAINS[0]
TYPES = {1: "MPV", 2: "SUV", 3: "sedan", 4: "hatchback"}
"""The paper's four of the twelve types; the numbers are those of misc/attributes.txt."""

VIEW_NUMBERS = {1: "front", 4: "front-side", 3: "side", 5: "rear-side", 2: "rear"}
"""The release's numbers of the viewpoints, in the order round the car."""

IMAGENET_MEAN = np.array([0.485, 0.456, 0.406], dtype=np.float32)
IMAGENET_DEVIATION = np.array([0.229, 0.224, 0.225], dtype=np.float32)
"""Of red, green and blue in [0, 1]: what networks trained on ImageNet were shown."""


class CompCars:
    """The paper's subset of CompCars, read lazily: what torch calls a map-style dataset.

    `cars[number]` reads one photograph, crops it to its box, resizes it and returns
    (x, label, domain): x (3, size, size) of float32, the label 0 to 3, the domain's name. It can be
    given to `fit` and to `torch.utils.data.DataLoader` as it is, with any number of workers.

    Parameters
    ----------
    folder : holds image/, label/ and misc/
    size : height and width of a picture, in pixels
    normalise : whether colours are centred and scaled as networks trained on ImageNet expect; else
        they are in [0, 1]
    balanced : whether every domain has as many pictures of each type, chosen by `random_state`, so
        that domains share their label distribution as the paper's do. Which photographs its authors
        picked is not published; their features are (`load_dataset("compcars-features")`)
    random_state : seed of that choice

    Attributes
    ----------
    photographs : path, box, type, viewpoint and year of each, in the order of paths
    labels : (pictures,) 0 MPV, 1 SUV, 2 sedan, 3 hatchback
    sample_domain : (pictures,) names such as "front 2009"
    domains, source_domains : of those that there are, in the order of the paper
    """

    holds_items = True
    """Tells estimators that rows are read from it by number, as from a torch `Dataset`."""

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        size: int = 224,
        normalise: bool = True,
        balanced: bool = True,
        random_state: int = 0,
    ) -> None:
        self.folder = Path(folder).expanduser()
        self.size = check_count("size", size, low=1, high=4096)
        self.normalise = bool(normalise)
        if not _is_release(self.folder):
            raise DatasetError(
                f"{self.folder} is not CompCars: it must hold image/, label/ and "
                "misc/attributes.txt. Name the folder of the release, which its authors give out "
                f"on request: {PAGE}"
            )
        found = find_photographs(self.folder)
        self.photographs = _balanced(found, random_state) if balanced else found
        present = {one.domain for one in self.photographs}
        if SOURCE not in present or len(present) < 2:
            raise InputError(
                f"{self.folder} has {len(self.photographs)} pictures of the four types in "
                f"{len(present)} of the 30 domains. There must be some of {SOURCE!r}, the source, "
                "and of one target at least."
            )
        self.domains = [name for name in CAR_DOMAINS if name in present]
        self.source_domains = [SOURCE]
        self.labels = np.array([one.label for one in self.photographs], dtype=np.int64)
        self.sample_domain = np.array([one.domain for one in self.photographs])

    def __len__(self) -> int:
        return len(self.photographs)

    def __getitem__(self, number: int) -> tuple[Floats, int, str]:
        one = self.photographs[number]
        return self._picture(one, self.size, self.normalise), one.label, one.domain

    def load(self, size: int = 64) -> DomainDataset:
        """All pictures in memory, X (pictures, 3, size, size) in [0, 1]."""
        size = check_count("size", size, low=1, high=4096)
        inputs = np.empty((len(self), 3, size, size), dtype=np.float32)
        for number, one in enumerate(self.photographs):
            inputs[number] = self._picture(one, size, normalise=False)
        return DomainDataset(
            name="compcars",
            X=inputs,
            y=self.labels,
            sample_domain=self.sample_domain,
            **car_facts(self.domains),
        )

    def _picture(self, one: Photograph, size: int, normalise: bool) -> Floats:
        values = read_picture(one.path, one.box, size)
        if normalise:
            values = (values - IMAGENET_MEAN) / IMAGENET_DEVIATION
        return np.ascontiguousarray(values.transpose(2, 0, 1))

    def __repr__(self) -> str:
        return (
            f"CompCars({str(self.folder)!r}: {len(self)} pictures of {self.size} x {self.size}, "
            f"{len(self.domains)} domains)"
        )


def load_compcars(data_home: DataHome = None, size: int = 64) -> DomainDataset:
    """The paper's subset in memory, small: X (pictures, 3, size, size) in [0, 1].

    The release is looked for in `data_home` itself and in its folder compcars, also below data/.
    """
    return CompCars(find_release(data_home)).load(size)


def find_release(data_home: DataHome = None) -> Path:
    """The folder that holds image/, label/ and misc/; DatasetError where there is none."""
    home = data_folder(data_home)
    places = (home, home / "compcars", home / "compcars" / "data", home / "data")
    for place in places:
        if _is_release(place):
            return place
    raise DatasetError(
        f"There is no CompCars in {home}: no folder with image/, label/ and misc/attributes.txt, "
        f"nor one below compcars/. Its authors give it out on request: {PAGE}. Unpack it there, or "
        f"name the folder that holds it as data_home or ${DATA_HOME_VARIABLE}. Without the "
        "photographs, 'compcars-features' has the features that the paper's authors published."
    )


def _is_release(folder: Path) -> bool:
    parts = ("image", "label", "misc/attributes.txt")
    return all((folder / part).exists() for part in parts)


def _balanced(photographs: Sequence[Photograph], random_state: int) -> list[Photograph]:
    """In every domain as many of each type as of its rarest, drawn without repetition."""
    rng = check_seed(random_state)
    groups: dict[tuple[str, int], list[int]] = {}
    for number, one in enumerate(photographs):
        groups.setdefault((one.domain, one.label), []).append(number)
    kept: list[int] = []
    for domain in CAR_DOMAINS:
        of_types = [groups.get((domain, label), []) for label in range(len(TYPES))]
        count = min(map(len, of_types))
        if not count and any(of_types):
            missing = [name for name, rows in zip(TYPES.values(), of_types) if not rows]
            raise InputError(
                f"{domain!r} has no picture of {', '.join(missing)}, so its types cannot be "
                "balanced. Pass balanced=False to keep all pictures."
            )
        for rows in of_types:
            kept.extend(rng.permutation(rows)[:count].tolist())
    return [photographs[number] for number in sorted(kept)]


@dataclass(frozen=True)
class Photograph:
    """A picture of the subset.

    Attributes
    ----------
    path : of the picture
    box : left, top, right, bottom of the car in pixels, counted from 1, all included
    label : place of its type in `TYPES`
    viewpoint, year : what its domain is made of
    """

    path: Path
    box: Box
    label: int
    viewpoint: str
    year: int

    @property
    def domain(self) -> str:
        return f"{self.viewpoint} {self.year}"


def find_photographs(folder: Path) -> list[Photograph]:
    """Those of the four types, five viewpoints and six years, in the order of their paths.

    What the labels name must be there: a label without its picture is an error. A picture without
    a label has no viewpoint and is not part of the subset.
    """
    labels = {number: place for place, number in enumerate(TYPES)}
    types = read_types(folder / "misc" / "attributes.txt")
    found = []
    for path, model, year in _label_files(folder / "label"):
        if types.get(model) not in labels:
            continue
        number, box = read_label(path)
        if number not in VIEW_NUMBERS:
            continue
        picture = (folder / "image" / path.relative_to(folder / "label")).with_suffix(".jpg")
        if not picture.is_file():
            raise InputError(
                f"There is no picture {picture}, but the label {path} names it. Unpack the "
                "pictures again, or delete the label."
            )
        found.append(Photograph(picture, box, labels[types[model]], VIEW_NUMBERS[number], year))
    return found


def _label_files(folder: Path) -> Iterator[tuple[Path, int, int]]:
    """Every label below MAKE/MODEL/YEAR with a year of the subset: path, model, year."""
    for path in sorted(folder.glob("*/*/*/*.txt")):
        _, model, year = path.relative_to(folder).parts[:3]
        if model.isdecimal() and year.isdecimal() and int(year) in YEARS:
            yield path, int(model), int(year)


def read_types(path: Path) -> dict[int, int]:
    """The type of every model in attributes.txt: a heading, then a row a model."""
    lines = _text(path).split("\n")
    heads = lines[0].split()
    try:
        model, kind = heads.index("model_id"), heads.index("type")
    except ValueError:
        raise InputError(
            f"{path} begins with {lines[0][:80]!r}; its heading must name model_id and type. Take "
            "the file from the release again."
        ) from None
    types = {}
    for number, line in enumerate(lines[1:], start=2):
        if not line.strip():
            continue
        values = line.split()
        try:
            types[int(values[model])] = int(values[kind])
        except (IndexError, ValueError):
            raise InputError(
                f"{path}, line {number}, is {line[:80]!r}; expected whole numbers for model_id and "
                "type. Take the file from the release again."
            ) from None
    return types


def read_label(path: Path) -> tuple[int, Box]:
    """The viewpoint's number and the box of a label file: lines of viewpoint, count, box."""
    lines = _text(path).split("\n")
    try:
        viewpoint, _, (left, top, right, bottom) = (
            int(lines[0]),
            int(lines[1]),
            map(int, lines[2].split()),
        )
    except (IndexError, ValueError):
        raise InputError(
            f"{path} is no label of CompCars: it must have a line with the viewpoint, one with the "
            f"number of boxes and one with x1 y1 x2 y2; it begins with {lines[:3]!r:.100}. Take it "
            "from the release again."
        ) from None
    return viewpoint, (left, top, right, bottom)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path} could not be read ({error}). Take it from the release again."
        ) from error


def pillow() -> ModuleType:
    """`PIL.Image`, or how to get it."""
    try:
        from PIL import Image
    except ImportError:
        raise DatasetError(
            "Pictures are read with Pillow, which is not installed. "
            "Install it with: pip install 'domindex[pictures]'"
        ) from None
    return Image


def read_picture(path: Path, box: tuple[int, int, int, int], size: int) -> NDArray[np.float32]:
    """The part of a picture inside `box`, as (size, size, 3) colours in [0, 1].

    Only formats whose readers start no other program are tried, whatever a file calls itself.

    Parameters
    ----------
    path : of the file
    box : left, top, right, bottom in pixels, counted from 1, all included; what reaches over the
        picture's edge is cut off
    size : height and width that the part is stretched to
    """
    image = pillow()
    try:
        with image.open(path, formats=("JPEG", "PNG", "BMP", "GIF", "WEBP")) as opened:
            width, height = opened.size
            colours = opened.convert("RGB")
    except FileNotFoundError:
        raise InputError(f"There is no picture {path}. Put it back, or leave it out.") from None
    except Exception as error:  # Pillow's decoders raise many kinds on damaged files
        raise InputError(
            f"The picture {path} is damaged or no picture ({type(error).__name__}: {error}). "
            "Get it again, or delete it and its label."
        ) from error
    left, top = max(box[0] - 1, 0), max(box[1] - 1, 0)
    right, bottom = min(box[2], width), min(box[3], height)
    if left >= right or top >= bottom:
        raise InputError(
            f"The box {box} of {path} holds nothing of the picture, which has {width} x {height} "
            "pixels. Correct its label."
        )
    small = colours.resize((size, size), image.Resampling.BILINEAR, box=(left, top, right, bottom))
    return np.asarray(small, dtype=np.float32) / np.float32(255.0)
