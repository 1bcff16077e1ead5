"""A small family of drawn cars in the folders of CompCars, for tests and for trying things out.

Cars of four types are drawn as silhouettes. The viewpoint stretches a car in the plane, the year
tints the whole picture; nothing else differs between domains. The box of a label is a frame of one
size that holds the car with room to spare, since a tight one would undo the stretch.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from domindex.arrays import Floats
from domindex.datasets.dataset import Seed, check_count, check_seed
from domindex.datasets.paper import YEARS
from domindex.errors import InputError
from domindex_bench.data.compcars import TYPES, VIEW_NUMBERS, pillow

MODELS_PER_TYPE = 2
FRAME, PICTURE = 72, (104, 92)
"""Pixels: the side of a box, and width and height of a picture."""

HALF_LENGTH, HEIGHT, GROUND = 33.0, 44.0, 60.0
"""Pixels of a car that is not stretched, and of the ground below the top of its frame."""

FINE = 2
"""Drawn so many times larger, then reduced: smooth edges."""

STRETCH = {
    "front": (0.55, 1.0),
    "front-side": (0.75, 0.95),
    "side": (1.0, 0.85),
    "rear-side": (0.8, 0.7),
    "rear": (0.55, 0.75),
}
"""How a viewpoint stretches a car, across and up; front and rear lie near each other."""

FIRST_TINT, LAST_TINT = np.array([1.0, 0.95, 0.9]), np.array([0.9, 0.95, 1.0])
"""Gains of red, green and blue in the first and the last year; others lie between. A photograph's
own light varies more than that, see `LIGHT`: so a viewpoint changes pictures more than a year."""

LIGHT, PAINT = (160, 226), (40, 81)
"""Values between which every colour of the ground, and of a body, is drawn for each picture."""

OUTLINES: dict[str, list[tuple[float, float]]] = {
    "MPV": [(-1, 0.15), (-1, 0.45), (-0.6, 0.55), (-0.35, 0.95), (0.85, 0.95), (1, 0.5), (1, 0.15)],
    "SUV": [(-1, 0.25), (-1, 0.6), (-0.45, 0.62), (-0.3, 1), (0.95, 1), (1, 0.6), (1, 0.25)],
    "sedan": [
        *[(-1, 0.15), (-1, 0.4), (-0.45, 0.47), (-0.2, 0.75)],
        *[(0.4, 0.75), (0.65, 0.5), (1, 0.48), (1, 0.15)],
    ],
    "hatchback": [
        *[(-0.8, 0.15), (-0.8, 0.42), (-0.35, 0.5), (-0.1, 0.8)],
        *[(0.55, 0.8), (0.78, 0.45), (0.78, 0.15)],
    ],
}
"""Half lengths from the middle, and heights: corners of a body from its lower front, round."""

WINDOWS = {"MPV": (0.58, 0.9), "SUV": (0.66, 0.93), "sedan": (0.5, 0.71), "hatchback": (0.52, 0.76)}
"""Heights between which a body is glass."""

WHEELS = {"MPV": 0.15, "SUV": 0.22, "sedan": 0.15, "hatchback": 0.16}
WHEEL_PLACES = (-0.62, 0.6)

OTHER_TYPE, UNKNOWN_TYPE, OTHER_YEAR, UNCERTAIN = 5, 0, 2008, -1
"""What the release also has, and the paper's subset leaves out."""

ATTRIBUTES = "model_id maximum_speed displacement door_number seat_number type"


def write_generated_compcars(
    folder: str | os.PathLike[str], *, pictures_per_type: int = 8, random_state: Seed = 0
) -> Path:
    """Draw cars into image/, label/ and misc/ of `folder`, as CompCars has them; returns it.

    Each of the 30 domains gets `pictures_per_type` cars of each of the four types. Beside them are
    a few that the paper's subset must leave out: another type, an unknown one, another year, and an
    uncertain viewpoint. The same seed draws the same pictures.
    """
    count = check_count("pictures_per_type", pictures_per_type, low=1)
    rng = check_seed(random_state)
    pillow()
    root = Path(folder).expanduser()
    if (root / "image").exists() or (root / "label").exists():
        raise InputError(
            f"{root} already holds pictures. Name an empty folder: nothing is drawn over."
        )
    _write_attributes(root)
    numbers: dict[Path, int] = {}
    for model, kind, view, year, viewpoint in _cars(count):
        place = Path(str(model // 100), str(model), str(year))
        numbers[place] = numbers.get(place, 0) + 1
        _write_car(root, place / f"{numbers[place]:05d}", kind, view, year, viewpoint, rng)
    return root


def _cars(count: int) -> Iterator[tuple[int, str, str, int, int]]:
    """Model, type, stretch, year and the viewpoint that the label tells, of every picture."""
    for year in YEARS:
        for viewpoint, view in VIEW_NUMBERS.items():
            for number, kind in TYPES.items():
                for car in range(count):
                    yield _model(number, car), kind, view, year, viewpoint
    yield _model(OTHER_TYPE, 0), "MPV", "front", YEARS[0], 1
    yield _model(UNKNOWN_TYPE, 0), "SUV", "front", YEARS[0], 1
    yield _model(1, 0), "MPV", "front", OTHER_YEAR, 1
    yield _model(1, 0), "MPV", "side", YEARS[0], UNCERTAIN


def _model(number: int, car: int) -> int:
    """The model of a car; the hundreds are its make."""
    return 100 * (number + 1) + 1 + car % MODELS_PER_TYPE


def _write_attributes(root: Path) -> None:
    rows = [
        f"{_model(number, car)} 180 1.6 5 5 {number}"
        for number in (UNKNOWN_TYPE, *TYPES, OTHER_TYPE)
        for car in range(MODELS_PER_TYPE)
    ]
    (root / "misc").mkdir(parents=True)
    text = "\n".join([ATTRIBUTES, *rows]) + "\n"
    (root / "misc" / "attributes.txt").write_text(text, encoding="utf-8")


def _write_car(
    root: Path,
    name: Path,
    kind: str,
    view: str,
    year: int,
    viewpoint: int,
    rng: np.random.Generator,
) -> None:
    image, label = (root / "image" / name), (root / "label" / name)
    for path in (image, label):
        path.parent.mkdir(parents=True, exist_ok=True)
    left, top = (int(rng.integers(0, edge - FRAME + 1)) for edge in PICTURE)
    tint = FIRST_TINT + (LAST_TINT - FIRST_TINT) * (year - YEARS[0]) / (len(YEARS) - 1)
    drawn = _draw(kind, STRETCH[view], left, top, rng) * tint
    noisy = drawn + rng.normal(scale=4.0, size=drawn.shape)
    colours = np.clip(noisy.round(), 0, 255).astype(np.uint8)
    pillow().fromarray(colours).save(image.with_suffix(".jpg"), quality=90)
    box = f"{left + 1} {top + 1} {left + FRAME} {top + FRAME}"
    label.with_suffix(".txt").write_text(f"{viewpoint}\n1\n{box}\n", encoding="utf-8")


def _draw(
    kind: str, stretch: tuple[float, float], left: int, top: int, rng: np.random.Generator
) -> Floats:
    """A car on a plain ground, (height, width, 3) from 0 to 255, not yet tinted."""
    from PIL import ImageDraw

    width, height = PICTURE
    ground, paint = (tuple(int(v) for v in rng.integers(*ends, size=3)) for ends in (LIGHT, PAINT))
    canvas = pillow().new("RGB", (FINE * width, FINE * height), ground)
    pen = ImageDraw.Draw(canvas)
    across, up = np.array(stretch) * rng.normal(1.0, 0.02, size=2)
    middle = np.array([left + FRAME / 2, top + GROUND]) + rng.normal(scale=1.0, size=2)

    def placed(points: Any) -> list[tuple[float, float]]:
        away = np.asarray(points, dtype=float) * [across * HALF_LENGTH, -up * HEIGHT]
        return [(float(x), float(y)) for x, y in FINE * (middle + away)]

    outline = np.array(OUTLINES[kind], dtype=np.float64)
    bent = outline + rng.normal(scale=0.02, size=outline.shape)
    pen.polygon(placed(bent), fill=paint)
    pen.polygon(placed(_glass(outline, *WINDOWS[kind])), fill=(150, 165, 175))
    radius = WHEELS[kind]
    for place in WHEEL_PLACES:
        reach = radius * HEIGHT / HALF_LENGTH
        corners = placed([(place - reach, 2 * radius), (place + reach, 0.0)])
        pen.ellipse([*corners[0], *corners[1]], fill=(20, 20, 20))
    small = canvas.resize((width, height), pillow().Resampling.BOX)
    return np.asarray(small, dtype=np.float64)


def _glass(outline: Floats, low: float, high: float) -> list[tuple[float, float]]:
    """Four corners between two heights, inside the upper part of a body."""
    corners = []
    for height, order in ((low, 1), (high, -1)):
        crossed = [
            x0 + (x1 - x0) * (height - y0) / (y1 - y0)
            for (x0, y0), (x1, y1) in zip(outline, np.roll(outline, -1, axis=0))
            if (y0 - height) * (y1 - height) < 0
        ]
        ends = [(min(crossed) + 0.06, height), (max(crossed) - 0.06, height)]
        corners += ends[::order]
    return corners
