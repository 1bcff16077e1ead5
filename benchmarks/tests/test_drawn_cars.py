"""Drawn cars: the same with the same seed, and domains that differ as they say."""

import numpy as np
import pytest

from domindex.errors import InputError
from domindex_bench.data.compcars import CompCars
from domindex_bench.data.drawn_cars import write_generated_compcars
from domindex_bench.metrics import neighbour_agreement

pytest.importorskip("PIL.Image", reason="pip install 'domindex[pictures]'")


def test_the_same_seed_draws_the_same_pictures(tmp_path):
    folders = [tmp_path / name for name in ("first", "again", "other")]
    for folder, seed in zip(folders, (0, 0, 1)):
        write_generated_compcars(folder, pictures_per_type=1, random_state=seed)
    first, again, other = (CompCars(folder).load(size=16).X for folder in folders)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_the_tree_holds_what_the_subset_leaves_out(tmp_path):
    root = write_generated_compcars(tmp_path, pictures_per_type=1)
    pictures = sorted(path.relative_to(root / "image") for path in root.glob("image/*/*/*/*.jpg"))
    labels = sorted(path.relative_to(root / "label") for path in root.glob("label/*/*/*/*.txt"))
    assert [path.with_suffix("") for path in pictures] == [path.with_suffix("") for path in labels]
    assert len(pictures) == 4 * 30 + 4
    assert len(CompCars(root)) == 4 * 30


def test_pictures_are_never_drawn_over_others(tmp_path):
    write_generated_compcars(tmp_path, pictures_per_type=1)
    with pytest.raises(InputError, match="already holds pictures"):
        write_generated_compcars(tmp_path)
    with pytest.raises(InputError, match="pictures_per_type is 0"):
        write_generated_compcars(tmp_path / "new", pictures_per_type=0)


def test_viewpoints_stretch_and_years_tint(tmp_path):
    cars = CompCars(write_generated_compcars(tmp_path, pictures_per_type=6)).load(size=24)
    means = {name: cars.X[cars.sample_domain == name].mean(axis=0) for name in cars.domains}
    dark = {name: (mean.mean(axis=0) < 0.6) for name, mean in means.items()}
    width, height = ({n: int(d.any(axis=a).sum()) for n, d in dark.items()} for a in (0, 1))
    assert width["side 2009"] > width["front-side 2009"] > width["front 2009"]
    assert height["front 2009"] > height["rear 2009"]
    redness = [
        means[f"front {year}"][0].mean() / means[f"front {year}"][2].mean() for year in (2009, 2014)
    ]
    assert redness[0] > 1.05 * redness[1]
    views = [name.split()[0] for name in cars.domains]
    assert neighbour_agreement([means[n].ravel() for n in cars.domains], views) > 0.9
