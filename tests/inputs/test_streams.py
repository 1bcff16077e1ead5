"""Tables in parts: one pass says the same of them, whatever they are and however divided."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from domindex.errors import InputError
from domindex.inputs import sampling
from domindex.inputs.sampling import Limits, SampleSize
from domindex.inputs.streams import (
    ColumnFacts,
    RowStream,
    StreamPlan,
    as_stream,
    is_stream,
    summarise,
)

dask_frames = pytest.importorskip("dask.dataframe")


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    n = 4000
    frame = pd.DataFrame(rng.normal(size=(n, 2)) * [1.0, 5.0] + 100.0, columns=["a", "b"])
    frame["count"] = rng.integers(0, 9, n)
    frame["kind"] = rng.choice(["red", "blue", None], n)
    frame["site"] = rng.integers(0, 12, n)
    frame["y"] = np.where(frame["site"] < 5, rng.choice(["yes", "no"], n), None)
    frame.loc[::13, "a"] = np.nan
    return frame


def plan_of(stream, **more):
    size = SampleSize(a_domain=60, in_all=400)
    return StreamPlan(
        "site", ("y",), ("a", "b", "count", "kind"), stream.numbers, size=size, **more
    )


def summary_of(table, **more):
    stream = as_stream(table)
    return summarise(stream, plan_of(stream, **more))


@pytest.fixture(scope="module")
def whole(frame):
    return summary_of(ds.dataset(pa.Table.from_pandas(frame)))


def write(folder, frames):
    for number, part in enumerate(frames):
        table = pa.Table.from_pandas(part, preserve_index=False)
        pq.write_table(table, folder / f"{number}.parquet", row_group_size=170)


def test_counts_moments_extremes_and_categories_are_those_of_all_rows(whole, frame):
    sites = frame.groupby(frame["site"].astype(str))
    pd.testing.assert_series_equal(
        whole.counts()["rows"], sites.size(), check_names=False, check_index_type=False
    )
    numbers = ["a", "b", "count"]
    expected = sites[numbers].mean()
    np.testing.assert_allclose(whole.means(), expected, rtol=1e-12)
    np.testing.assert_allclose(whole.deviations(), sites[numbers].std(ddof=0), rtol=1e-9)
    assert whole.columns["a"].missing == frame["a"].isna().sum()
    assert whole.columns["b"].low == frame["b"].min()
    assert whole.columns["kind"].texts == frame["kind"].value_counts().to_dict()
    assert whole.columns["kind"].missing == frame["kind"].isna().sum()


def test_the_sample_has_rows_of_the_table_and_of_every_domain(whole, frame):
    sample = whole.sample()
    assert sample["site"].nunique() == 12
    assert len(sample) <= 400
    merged = sample.astype({"site": int}).merge(frame, how="left", indicator=True)
    assert (merged["_merge"] == "both").all()


def test_the_same_result_however_rows_are_divided_ordered_or_held(frame, whole, tmp_path):
    shuffled = frame.sample(frac=1.0, random_state=0)
    parts = [shuffled.iloc[k::7] for k in range(6)] + [shuffled.iloc[6::7][frame.columns[::-1]]]
    write(tmp_path, parts)
    others = [
        ds.dataset(tmp_path),
        pl.from_pandas(shuffled).lazy(),
        dask_frames.from_pandas(shuffled, npartitions=9, sort=False),
    ]
    for other in map(summary_of, others):
        pd.testing.assert_frame_equal(other.sample(), whole.sample())
        pd.testing.assert_frame_equal(other.counts(), whole.counts())
        np.testing.assert_allclose(other.means(), whole.means(), rtol=1e-12)
        assert other.columns["kind"] == whole.columns["kind"] or (
            other.columns["kind"].texts == whole.columns["kind"].texts
        )


def test_pieces_of_files_add_up_to_the_whole(frame, whole, tmp_path, monkeypatch):
    monkeypatch.setattr(sampling, "LIMITS", Limits(piece_rows=300))
    write(tmp_path, [frame.iloc[:3000], frame.iloc[3000:]])
    stream = as_stream(ds.dataset(tmp_path))
    pieces = [RowStream(stream.what, stream.types, [one]) for one in stream.readers]
    assert len(pieces) > 8
    first, *rest = (summarise(piece, plan_of(stream)) for piece in reversed(pieces))
    for other in rest:
        first.merge(other)
    pd.testing.assert_frame_equal(first.sample(), whole.sample())


def test_labels_of_domains_that_are_no_sources_change_nothing(frame):
    told = frame.assign(y=frame["y"].fillna("guess"))
    lied = frame.assign(y=frame["y"].fillna("wrong"))
    named = {"is_source": frozenset("01234").__contains__}
    first, second = (summary_of(pl.from_pandas(table).lazy(), **named) for table in (told, lied))
    pd.testing.assert_frame_equal(first.sample(), second.sample())
    assert first.n_ignored == frame["y"].isna().sum()
    assert first.columns["y"].texts.keys() == {"yes", "no"}


def test_a_column_with_very_many_texts_is_not_counted():
    n = ColumnFacts.most_distinct + 5
    table = pa.table({"site": ["s"] * n, "name": [f"row {k}" for k in range(n)]})
    stream = as_stream(ds.dataset(table))
    assert (
        summarise(stream, StreamPlan("site", (), ("name",), frozenset())).columns["name"].texts
        is None
    )


def test_a_file_with_other_columns_is_named_with_them(frame, tmp_path):
    write(tmp_path, [frame, frame.rename(columns={"b": "B"})])
    with pytest.raises(
        InputError, match=r"1\.parquet has other columns than .*: no 'b' and also 'B'"
    ):
        as_stream(ds.dataset(tmp_path))


def test_a_file_with_another_kind_of_column_is_named(frame, tmp_path):
    write(tmp_path, [frame, frame.assign(b="text")])
    with pytest.raises(InputError, match=r"'b' holds different kinds.*double in .*0\.parquet"):
        as_stream(ds.dataset(tmp_path))


def test_files_may_store_numbers_differently(frame, whole, tmp_path):
    short = frame.iloc[:2000].astype({"count": "int16"})
    write(tmp_path, [short, frame.iloc[2000:].astype({"count": float})])
    pd.testing.assert_frame_equal(summary_of(ds.dataset(tmp_path)).sample(), whole.sample())


def test_folders_named_by_a_value_are_a_column(frame, whole, tmp_path):
    table = pa.Table.from_pandas(frame, preserve_index=False)
    ds.write_dataset(
        table, tmp_path, format="parquet", partitioning=["site"], partitioning_flavor="hive"
    )
    hive = ds.dataset(tmp_path, partitioning="hive")
    pd.testing.assert_frame_equal(summary_of(hive).sample(), whole.sample())


def test_a_partition_with_other_columns_is_named_with_them(frame):
    parts = [frame.iloc[:2000], frame.iloc[2000:].drop(columns="kind")]
    lazy = dask_frames.from_map(lambda k: parts[k], [0, 1], meta=frame, enforce_metadata=False)
    with pytest.raises(InputError, match=r"partition 1 of the Dask data frame .*: no 'kind'"):
        summary_of(lazy)


def test_a_damaged_file_is_named(frame, tmp_path):
    write(tmp_path, [frame, frame])
    (tmp_path / "1.parquet").write_bytes((tmp_path / "0.parquet").read_bytes()[:900])
    with pytest.raises(InputError, match="cannot be read"):
        summary_of(ds.dataset(tmp_path))


def test_blank_domains_are_refused(frame):
    table = pl.from_pandas(frame.assign(site=frame["site"].astype("Int64").replace(3, None))).lazy()
    with pytest.raises(InputError, match="'site' is blank in"):
        summary_of(table)


def test_what_is_in_memory_is_no_stream(frame):
    assert not any(map(is_stream, [frame, pl.from_pandas(frame), frame.to_numpy(), [[1.0]], None]))
    with pytest.raises(InputError, match="cannot be read in parts"):
        as_stream(frame)


def test_rows_that_repeat_do_not_fill_the_sample_beyond_its_size(frame):
    few = pd.concat([frame[["a", "count", "site"]].iloc[:40].fillna(0.0)] * 100)
    stream = as_stream(pl.from_pandas(few).lazy())
    size = SampleSize(a_domain=60, in_all=300)
    plan = StreamPlan("site", (), ("a", "count"), stream.numbers, size=size)
    sample = summarise(stream, plan).sample()
    sizes = sample["site"].value_counts()
    assert len(sample) <= 300
    assert sizes.max() - sizes.min() == 0
    share = (few["count"] > 4).groupby(few["site"].astype(str)).mean()
    kept = (sample["count"] > 4).groupby(sample["site"]).mean()
    assert (share - kept).abs().max() < 0.1
