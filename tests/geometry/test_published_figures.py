"""Maps of the paper's data against figures that were obtained independently of this code."""

import numpy as np
import pytest

from domindex.datasets import load_dataset
from domindex.evaluation import graph_auc, index_correlation, linear_r2
from domindex.geometry import DomainIndex, geodesic_distances, transport_distances
from domindex.inputs import check_domain_data


def raw_distances(dataset) -> np.ndarray:
    data = check_domain_data(dataset.X, dataset.y, dataset.sample_domain, dataset.source_domains)
    assert list(data.domains) == list(dataset.domains)
    return transport_distances([data.inputs[rows] for rows in data.rows_by_domain()])


@pytest.mark.parametrize(
    ("name", "plain", "geodesic"), [("dg-15", 0.851, 0.913), ("dg-60", 0.929, 0.964)]
)
def test_domain_graphs_are_read_off_the_raw_inputs(paper_data, name, plain, geodesic):
    dataset = load_dataset(name, data_home=paper_data)
    distances = raw_distances(dataset)
    index = DomainIndex.from_distances(dataset.domains, distances)
    assert graph_auc(index, dataset.graph) == pytest.approx(plain, abs=0.002)
    unrolled = DomainIndex.from_distances(dataset.domains, geodesic_distances(distances, 3))
    assert graph_auc(unrolled, dataset.graph) == pytest.approx(geodesic, abs=0.003)


def test_the_circle_unrolls_into_the_order_of_its_domains(paper_data):
    dataset = load_dataset("circle", data_home=paper_data)
    unrolled = geodesic_distances(raw_distances(dataset), 3)
    index = DomainIndex.from_distances(dataset.domains, unrolled)
    assert index_correlation(index.coordinates, dataset.true_index) >= 0.999


def test_latitude_is_read_off_calendar_years_of_temperatures(paper_data):
    west, north = (load_dataset(f"tpt-48-{task}", paper_data) for task in ("w-e", "n-s"))
    clouds = []
    for state in west.domains:
        # A state is a target, with calendar years only, in at least one task, or a source in both.
        task = west if state in west.target_domains else north
        rows = task.sample_domain == state
        step = 12 if state in task.source_domains else 1
        clouds.append(task.X[rows][::step] * task.scale + task.offset)
    assert {len(cloud) for cloud in clouds} == {12}
    index = DomainIndex.from_distances(west.domains, transport_distances(clouds))
    assert linear_r2(index.coordinates, west.true_index[:, 0]) == pytest.approx(0.918, abs=0.005)
