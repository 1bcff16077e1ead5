"""Keys of rows: equal for equal content, whatever it is stored in."""

import numpy as np
import pyarrow as pa

from domindex.inputs.sampling import row_keys

TABLE = pa.table({"x": [1.0, 2.0, 1.0, None, float("nan"), 0.0, -0.0], "t": list("ababbcc")})


def test_equal_rows_have_equal_keys_and_others_do_not():
    keys = row_keys(TABLE, 0)
    assert keys[3] == keys[4]
    assert keys[5] == keys[6]
    assert keys[0] == keys[2]
    assert len(set(keys.tolist())) == 4


def test_neither_the_order_of_columns_nor_codes_for_texts_change_a_key():
    keys = row_keys(TABLE, 0)
    assert np.array_equal(keys, row_keys(TABLE.select(["t", "x"]), 0))
    coded = TABLE.set_column(1, "t", TABLE["t"].cast(pa.large_string()).dictionary_encode())
    assert np.array_equal(keys, row_keys(coded, 0))


def test_values_count_in_their_column_only():
    ab = pa.table({"a": [1.0], "b": [2.0]})
    ba = pa.table({"a": [2.0], "b": [1.0]})
    assert row_keys(ab, 0) != row_keys(ba, 0)
    assert row_keys(ab, 0) != row_keys(ab, 1)
