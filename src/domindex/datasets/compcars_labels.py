"""What CompCars says of each photograph: the car's type, the viewpoint, the year, the box."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from domindex.errors import InputError

TYPES = {1: "MPV", 2: "SUV", 3: "sedan", 4: "hatchback"}
"""The paper's four of the twelve types; the numbers are those of misc/attributes.txt."""

YEARS = range(2009, 2015)

Box = tuple[int, int, int, int]


@dataclass(frozen=True)
class Viewpoint:
    """From where a car was taken: the release's number, a name, the angle from its front."""

    number: int
    name: str
    angle: float


VIEWPOINTS = (
    Viewpoint(1, "front", 0.0),
    Viewpoint(4, "front-side", 45.0),
    Viewpoint(3, "side", 90.0),
    Viewpoint(5, "rear-side", 135.0),
    Viewpoint(2, "rear", 180.0),
)
"""In the order round the car, which is also that of the domains' numbers in the authors' files."""

_VIEW_NAMES = {view.number: view.name for view in VIEWPOINTS}


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
        if number not in _VIEW_NAMES:
            continue
        picture = (folder / "image" / path.relative_to(folder / "label")).with_suffix(".jpg")
        if not picture.is_file():
            raise InputError(
                f"There is no picture {picture}, but the label {path} names it. Unpack the "
                "pictures again, or delete the label."
            )
        found.append(Photograph(picture, box, labels[types[model]], _VIEW_NAMES[number], year))
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
