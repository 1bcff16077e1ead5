"""CompCars: which photographs are taken, what becomes of them, and what a damaged tree is told."""

import pickle
import sys

import numpy as np
import pytest
from torch.utils.data import DataLoader

from domindex.datasets.paper import CAR_DOMAINS
from domindex.errors import DatasetError, InputError
from domindex_bench.data.compcars import (
    IMAGENET_DEVIATION,
    IMAGENET_MEAN,
    CompCars,
    load_compcars,
    read_label,
    read_types,
)
from domindex_bench.data.drawn_cars import write_generated_compcars

Image = pytest.importorskip("PIL.Image", reason="pip install 'domindex[pictures]'")


def write_tree(root, pictures, attributes="7 1\n8 2\n9 5\n10 0\n"):
    """A tree of plain pictures: (make/model/year, viewpoint, box or None) each."""
    (root / "misc").mkdir(parents=True)
    (root / "misc" / "attributes.txt").write_text(f"model_id type\n{attributes}")
    for number, (place, viewpoint, box) in enumerate(pictures):
        for side in ("image", "label"):
            (root / side / place).mkdir(parents=True, exist_ok=True)
        colours = np.zeros((20, 30, 3), dtype=np.uint8)
        colours[:10] = (255, 0, 0)
        Image.fromarray(colours).save(root / "image" / place / f"{number}.jpg", quality=95)
        text = f"{viewpoint}\n1\n{box or '1 1 30 20'}\n"
        (root / "label" / place / f"{number}.txt").write_text(text)
    return root


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    return write_generated_compcars(tmp_path_factory.mktemp("cars"), pictures_per_type=2)


@pytest.fixture(scope="module")
def cars(tree):
    return CompCars(tree, size=32)


@pytest.fixture
def small(tmp_path):
    return write_tree(tmp_path, [("1/7/2009", 1, None), ("1/8/2010", 3, None)])


def test_the_subset_has_four_types_five_viewpoints_and_six_years(cars):
    assert len(cars) == 4 * 30 * 2
    assert cars.domains == list(CAR_DOMAINS)
    assert cars.source_domains == ["front 2009"]
    for domain in cars.domains:
        types = cars.labels[cars.sample_domain == domain]
        assert sorted(types) == [0, 0, 1, 1, 2, 2, 3, 3]


def test_other_types_years_and_uncertain_viewpoints_are_left_out(tmp_path):
    kept = [("1/7/2009", 1, None), ("1/8/2014", 2, None)]
    others = [("2/9/2009", 1, None), ("2/10/2009", 1, None), ("1/7/2008", 1, None)]
    odd = [("1/7/2015", 1, None), ("1/7/unknown", 1, None), ("1/7/2009", -1, None)]
    write_tree(tmp_path, kept + others + odd)
    found = CompCars(tmp_path, balanced=False)
    assert found.sample_domain.tolist() == ["front 2009", "rear 2014"]
    assert found.labels.tolist() == [0, 1]


def test_a_row_is_cropped_resized_and_normalised_as_imagenet_expects(tmp_path):
    write_tree(tmp_path, [("1/7/2009", 1, "11 1 20 10"), ("1/8/2010", 3, "1 11 30 20")])
    cars = CompCars(tmp_path, size=16, balanced=False)
    (red, label, domain), (black, *_) = cars[0], cars[1]
    assert red.shape == (3, 16, 16)
    assert red.dtype == np.float32
    assert (label, domain) == (0, "front 2009")
    expected = (np.array([1.0, 0.0, 0.0]) - IMAGENET_MEAN) / IMAGENET_DEVIATION
    np.testing.assert_allclose(red[:, 4:-4, 4:-4].mean(axis=(1, 2)), expected, atol=0.1)
    np.testing.assert_allclose(
        black[:, 4:-4].mean(axis=(1, 2)), -IMAGENET_MEAN / IMAGENET_DEVIATION, atol=0.1
    )


def test_a_box_over_the_edge_is_cut_off_there(tmp_path):
    write_tree(tmp_path, [("1/7/2009", 1, "-5 -5 40 30"), ("1/8/2010", 3, None)])
    cars = CompCars(tmp_path, size=16, balanced=False)
    np.testing.assert_array_equal(cars[0][0], cars[1][0])


def test_it_serves_a_torch_loader_with_a_worker(cars):
    loader = DataLoader(cars, batch_size=6, num_workers=1)
    x, labels, domains = next(iter(loader))
    assert tuple(x.shape) == (6, 3, 32, 32)
    assert labels.tolist() == cars.labels[:6].tolist()
    assert list(domains) == cars.sample_domain[:6].tolist()
    assert len(pickle.loads(pickle.dumps(cars))) == len(cars)


def test_in_memory_it_is_a_dataset_like_the_others_in_natural_colours(cars):
    dataset = cars.load(size=8)
    assert dataset.X.shape == (len(cars), 3, 8, 8)
    assert 0.0 <= dataset.X.min() < dataset.X.max() <= 1.0
    assert set(dataset.domains) == set(dataset.graph)
    truth = dict(zip(dataset.domains, dataset.true_index.tolist()))
    assert truth["rear-side 2013"] == [135.0, 2013.0]
    assert set(dataset.graph["side 2009"]) == {"front-side 2009", "rear-side 2009", "side 2010"}


@pytest.mark.parametrize("below", [".", "compcars", "compcars/data"])
def test_it_is_found_in_the_data_folder(tmp_path, monkeypatch, below):
    write_tree(tmp_path / below, [("1/7/2009", 1, None), ("1/7/2010", 3, None)])
    monkeypatch.setattr("domindex_bench.data.compcars.TYPES", {1: "MPV"})
    monkeypatch.setenv("DOMINDEX_DATA", str(tmp_path))
    assert load_compcars().X.shape == (2, 3, 64, 64)


def test_where_it_is_not_the_error_says_where_to_ask_for_it(tmp_path):
    with pytest.raises(DatasetError, match=r"on request: http://mmlab.*compcars-features"):
        load_compcars(tmp_path)
    with pytest.raises(DatasetError, match="is not CompCars: it must hold image/"):
        CompCars(tmp_path)


def test_types_are_balanced_by_a_seed_within_every_domain(tmp_path):
    front = [("1/7/2009", 1, None)] * 5 + [("1/8/2009", 1, None)] * 2
    write_tree(tmp_path, [*front, ("1/7/2010", 1, None), ("1/8/2010", 1, None)])
    with pytest.raises(InputError, match=r"'front 2009' has no picture of sedan, hatchback"):
        CompCars(tmp_path)
    assert len(CompCars(tmp_path, balanced=False)) == 9


def test_the_rarest_type_of_a_domain_says_how_many_there_are_of_each(tmp_path, monkeypatch):
    monkeypatch.setattr("domindex_bench.data.compcars.TYPES", {1: "MPV", 2: "SUV"})
    front = [("1/7/2009", 1, None)] * 5 + [("1/8/2009", 1, None)] * 2
    write_tree(tmp_path, [*front, ("1/7/2010", 1, None), ("1/8/2010", 1, None)])
    first, again, other = (CompCars(tmp_path, random_state=seed) for seed in (0, 0, 1))
    assert sorted(first.labels) == [0, 0, 0, 1, 1, 1]
    assert first.photographs == again.photographs
    assert first.photographs != other.photographs


def test_a_damaged_picture_names_its_path(small):
    path = next(small.glob("image/1/8/2010/*.jpg"))
    path.write_bytes(path.read_bytes()[:200])
    cars = CompCars(small, balanced=False)
    cars[0]
    with pytest.raises(InputError, match="is damaged or no picture") as caught:
        cars[1]
    assert str(path) in str(caught.value)
    path.write_bytes(b"")
    with pytest.raises(InputError, match="is damaged or no picture"):
        cars.load()


def test_a_picture_that_goes_missing_names_its_path(small):
    cars = CompCars(small, balanced=False)
    path = cars.photographs[1].path
    path.unlink()
    with pytest.raises(InputError, match="There is no picture") as caught:
        cars[1]
    assert str(path) in str(caught.value)
    with pytest.raises(InputError, match="but the label") as caught:
        CompCars(small, balanced=False)
    assert str(path) in str(caught.value)


def test_a_box_outside_its_picture_names_the_path(tmp_path):
    write_tree(tmp_path, [("1/7/2009", 1, "31 1 40 20"), ("1/8/2010", 3, None)])
    with pytest.raises(InputError, match=r"holds nothing of the picture, which has 30 x 20"):
        CompCars(tmp_path, balanced=False)[0]


@pytest.mark.parametrize(
    "text", ["", "1\n1\n", "front\n1\n1 2 3 4", "1\n1\n1 2 3", "1\n1\n1 2 3 x"]
)
def test_a_damaged_label_names_its_path(tmp_path, text):
    path = tmp_path / "one.txt"
    path.write_text(text)
    with pytest.raises(InputError, match=r"one\.txt is no label of CompCars"):
        read_label(path)


def test_attributes_are_read_by_their_heading(tmp_path):
    path = tmp_path / "attributes.txt"
    path.write_text(
        "model_id maximum_speed displacement door_number seat_number type\n3 180 1.6 5 5 4\n"
    )
    assert read_types(path) == {3: 4}
    path.write_text("model kind\n3 4\n")
    with pytest.raises(InputError, match="must name model_id and type"):
        read_types(path)
    path.write_text("model_id type\n3 4\n5\n")
    with pytest.raises(InputError, match=r"line 3, is '5'"):
        read_types(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="could not be read"):
        read_types(path)


def test_without_the_source_there_is_nothing_to_learn_from(tmp_path):
    write_tree(tmp_path, [("1/7/2010", 1, None)])
    with pytest.raises(InputError, match=r"1 pictures .* in 1 of the 30 domains"):
        CompCars(tmp_path, balanced=False)


def test_without_pillow_the_error_says_how_to_install_it(cars, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(DatasetError, match=r"pip install 'domindex\[pictures\]'"):
        cars[0]
