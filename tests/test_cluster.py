"""Work spread over two worker processes: the same result, also where one of them dies."""

import multiprocessing
import os
import signal
import sys
import time

import cloudpickle
import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from domindex import CrossDomainClassifier, Training
from domindex.cluster import cluster_errors, connected, spread_over
from domindex.datasets import make_circle
from domindex.errors import ClusterError, InputError
from domindex.geometry import transport, transport_distances
from domindex.inputs.streams import StreamPlan, as_stream, summarise

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
dask_frames = pytest.importorskip("dask.dataframe")
cloudpickle.register_pickle_by_value(sys.modules[__name__])

pytestmark = pytest.mark.timeout(180)


class DiesOnce(LogisticRegression):
    """A rule whose first fit on a worker takes its process with it."""

    def __init__(self, mark=""):
        super().__init__()
        self.mark = mark

    def fit(self, X, y, sample_weight=None):
        die_once(self.mark)
        return super().fit(X, y, sample_weight)


def die_once(mark):
    """End this process, if it is a worker and none has done so before."""
    if not mark or multiprocessing.parent_process() is None:
        return
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as local:
        yield local


@pytest.fixture(scope="module")
def family():
    return make_circle(n_domains=6, n_sources=3, samples_per_domain=30, random_state=0)


@pytest.fixture(scope="module")
def frame(family):
    frame = pd.DataFrame(family.X, columns=["a", "b"])
    return frame.assign(site=family.sample_domain, y=family.y)


def part_of(frame, number, mark):
    if number == 3:
        die_once(mark)
    return frame.iloc[number::5]


def summary_of(table):
    stream = as_stream(table)
    return summarise(stream, StreamPlan("site", ("y",), ("a", "b"), stream.numbers))


def test_a_frame_is_summarised_on_the_workers_though_one_dies(cluster, frame, tmp_path):
    mark = str(tmp_path / "dead")
    parts = dask_frames.from_map(
        lambda number: part_of(frame, number, mark), range(5), meta=frame, enforce_metadata=False
    )
    alone = summary_of(dask_frames.from_pandas(frame, npartitions=2))
    with spread_over(cluster.scheduler_address):
        far = summary_of(parts)
    assert os.path.exists(mark)
    pd.testing.assert_frame_equal(far.sample(), alone.sample())
    pd.testing.assert_frame_equal(far.counts(), alone.counts())


@pytest.mark.full
def test_a_fit_on_the_workers_is_the_fit_alone_though_one_dies(cluster, family, tmp_path):
    def fitted(mark):
        model = CrossDomainClassifier(
            candidates=[("raw", DiesOnce(mark)), ("domain_centred", "linear")],
            training=Training(index_steps=2),
            random_state=0,
        )
        rows = {"sample_domain": family.sample_domain, "source_domains": family.source_domains}
        return model.fit(family.X, family.y, **rows)

    alone, mark = fitted(""), str(tmp_path / "dead")
    with (
        connected(cluster.scheduler_address, as_default=True),
        joblib.parallel_config(backend="dask"),
    ):
        far = fitted(mark)
    assert os.path.exists(mark)
    np.testing.assert_array_equal(far.domain_indices_, alone.domain_indices_)
    query = {"sample_domain": family.sample_domain}
    np.testing.assert_array_equal(
        far.predict_proba(family.X, **query), alone.predict_proba(family.X, **query)
    )


@pytest.mark.full
def test_distances_on_the_workers_are_those_alone_though_one_dies(cluster, tmp_path, monkeypatch):
    rng, mark = np.random.default_rng(0), str(tmp_path / "dead")
    clouds = [rng.normal(size=(20, 2)) + number for number in range(8)]
    alone = transport_distances(clouds)
    solved = transport._exact

    def deadly(first, second):
        die_once(mark)
        return solved(first, second)

    monkeypatch.setattr(transport, "_exact", deadly)
    with (
        connected(cluster.scheduler_address, as_default=True) as client,
        joblib.parallel_config(backend="dask"),
    ):
        client.wait_for_workers(2, timeout=60)
        far = transport_distances(clouds)
    assert os.path.exists(mark)
    np.testing.assert_array_equal(far, alone)


@pytest.mark.full
def test_a_cluster_that_goes_away_is_said(frame):
    def slow(number):
        time.sleep(3)
        return frame

    lazy = dask_frames.from_map(slow, range(4), meta=frame, enforce_metadata=False)
    patience = dask.config.set({"distributed.comm.timeouts.connect": "1s"})
    kind = {"n_workers": 1, "processes": False, "dashboard_address": ":0"}
    with patience, distributed.LocalCluster(threads_per_worker=1, **kind) as local:
        local.loop.call_later(1.5, local.scheduler.close)
        message = r"The Dask cluster went away .* nothing was written"
        with pytest.raises(ClusterError, match=message), spread_over(local.scheduler_address):
            summary_of(lazy)


def test_only_errors_of_a_cluster_are_taken_for_such():
    with pytest.raises(ZeroDivisionError), cluster_errors():
        _ = 1 / 0
    with pytest.raises(InputError, match="wrong"), cluster_errors():
        raise InputError("wrong")
    with pytest.raises(ClusterError, match="CancelledError"), cluster_errors():
        raise distributed.CancelledError("task")
