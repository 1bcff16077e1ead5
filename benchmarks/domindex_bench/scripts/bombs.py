"""Small uploads that ask for much: time, memory, and whether the next request is served.

A run is served as `domindex serve` does it, in a process of its own on loopback. Each bomb is sent
to it, then a table as it should be. Memory is that of the server, and with it that of the process
that reads the tables, as the system counts it every 20 ms.
"""

from __future__ import annotations

import io
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pandas as pd
import psutil

from domindex_bench.measuring import Found, Measurement, origin_line

HEADER = "site,x,z"
SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
TYPES = f"""<?xml version="1.0"?><Types xmlns="{PACKAGE}/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
<Default Extension="xml" ContentType="application/xml"/>
<Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.\
spreadsheetml.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="\
application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/><Override PartName=\
"/xl/sharedStrings.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.\
sharedStrings+xml"/></Types>"""


def workbook(sheet: str, strings: str = "<si><t>x</t></si>", before: str = "") -> bytes:
    """A workbook of one sheet, whose XML is given."""
    book, content = io.BytesIO(), f'{before}<worksheet xmlns="{SHEET}">{sheet}</worksheet>'
    parts = {
        "[Content_Types].xml": TYPES,
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r1" '
        f'Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{SHEET}" xmlns:r="{OFFICE}"><sheets><sheet name="a" '
        'sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships">'
        f'<Relationship Id="r1" Type="{OFFICE}/worksheet" Target="worksheets/sheet1.xml"/>'
        f'<Relationship Id="r2" Type="{OFFICE}/sharedStrings" Target="sharedStrings.xml"/>'
        "</Relationships>",
        "xl/worksheets/sheet1.xml": content,
        "xl/sharedStrings.xml": f'<sst xmlns="{SHEET}">{strings}</sst>',
    }
    with zipfile.ZipFile(book, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, text in parts.items():
            packed.writestr(name, text)
    return book.getvalue()


def cells(*values: str) -> str:
    """Cells of texts that stand in them."""
    return "".join(f'<c t="inlineStr"><is><t>{one}</t></is></c>' for one in values)


def parquet(columns: dict[str, Any], **how: Any) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet as files

    goal = io.BytesIO()
    files.write_table(pa.table(columns), goal, **how)
    return goal.getvalue()


def long_texts_in_a_dictionary() -> bytes:
    import pyarrow as pa
    from pyarrow import parquet as files

    texts, n_rows = pa.array(["a" * 160_000, "b"]), 190_000
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(n_rows, dtype=np.int32)), texts)
    whole = pa.table({"site": column, "x": np.zeros(n_rows), "z": np.zeros(n_rows)})
    goal = io.BytesIO()
    files.write_table(whole.replace_schema_metadata(None), goal, compression="zstd")
    return goal.getvalue()


def last_cell() -> bytes:
    head = f'<row r="1">{cells(*HEADER.split(","))}</row>'
    return workbook(
        f'<sheetData>{head}<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>'
    )


def many_names() -> bytes:
    return f"{HEADER},{','.join(f'c{n}' for n in range(150_000))}\ns1,1,2\n".encode()


def shared_text() -> bytes:
    head = f"<row>{cells('site', 'x', 'z', 'note')}</row>"
    row = f'<row>{cells("s1")}<c><v>1</v></c><c><v>2</v></c><c t="s"><v>0</v></c></row>'
    text = f"<si><t>{'y' * 120_000}</t></si>"
    return workbook(f"<sheetData>{head}{row * 20_000}</sheetData>", text)


def carriage_returns() -> bytes:
    return f"{HEADER}\r".encode() + b"s1,1,2\r" * 7_000_000


def wide_rows() -> bytes:
    width = 100_000
    rows = [f"s1,1,2,{','.join(['1.5'] * width)}" for _ in range(20)]
    return "\n".join([f"{HEADER},{','.join(f'c{n}' for n in range(width))}", *rows]).encode()


def wide_parquet() -> bytes:
    return parquet({name: [1.0] for name in [*HEADER.split(","), *map(str, range(40_000))]})


def deep_parquet() -> bytes:
    import pyarrow as pa

    kind: Any = pa.int8()
    for _ in range(400):
        kind = pa.struct([("a", kind)])
    columns = {"site": pa.array(["s1"]), "x": pa.array([1.0]), "z": pa.nulls(1, kind)}
    return parquet(columns)


def zeros_in_parquet() -> bytes:
    zeros = np.zeros(100_000_000, dtype=np.int8)
    return parquet({"site": zeros, "x": zeros, "z": zeros}, compression="zstd")


def rows_that_parquet_claims() -> bytes:
    whole = bytearray(parquet({"site": ["s1"] * 99, "x": [1.0] * 99, "z": [1.0] * 99}))
    number, claimed = b"\x16\xc6\x01", b"\x16\xfe\x7f"  # 99 and 8191, as Thrift packs them
    return bytes(whole.replace(number, claimed))


def blanks_in_a_sheet() -> bytes:
    return workbook(f"<sheetData><row>{cells(*HEADER.split(','))}</row></sheetData>{' ' * 10**9}")


def laughs() -> bytes:
    names = "abcdefghij"
    entities = '<!ENTITY a "hahahahaha">' + "".join(
        f'<!ENTITY {new} "{f"&{old};" * 10}">' for old, new in pairwise(names)
    )
    return workbook(
        f"<sheetData><row>{cells('site', 'x', '&j;')}</row></sheetData>",
        before=f"<!DOCTYPE worksheet [{entities}]>",
    )


def empty_rows() -> bytes:
    head = f"<row>{cells(*HEADER.split(','))}</row>"
    return workbook(f"<sheetData>{head}{'<row/>' * 5_000_000}</sheetData>")


def a_quote_that_stays_open() -> bytes:
    return f'{HEADER}\ns1,1,"'.encode() + b"2," * 24_000_000


def long_numbers() -> bytes:
    return f"{HEADER}\n".encode() + b"s1,%s,2\n" % (b"9" * 400_000) * 100


def dots_between_thousands() -> bytes:
    return f"{HEADER}\n".encode() + b's1,"%s,x",2\n' % (b"1" + b".111" * 400_000) * 25


def texts_that_are_kept() -> bytes:
    return f"{HEADER},note\n".encode() + b"s1,1,2,%s\n" % (b"y" * 200) * 199_000


BOMBS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "one long text, in a dictionary, in every row of a Parquet file": (
        ".parquet",
        long_texts_in_a_dictionary,
    ),
    "a workbook with a cell at XFD1048576": (".xlsx", last_cell),
    "150,000 names of columns": (".csv", many_names),
    "a shared text of a workbook, kept in every row": (".xlsx", shared_text),
    "seven million rows between carriage returns": (".csv", carriage_returns),
    "20 rows of 100,000 columns": (".csv", wide_rows),
    "40,000 columns of a Parquet file": (".parquet", wide_parquet),
    "structs 400 deep in a Parquet file": (".parquet", deep_parquet),
    "100 million zeros in a Parquet file": (".parquet", zeros_in_parquet),
    "more rows than a Parquet file has": (".parquet", rows_that_parquet_claims),
    "a gigabyte of blanks in a workbook": (".xlsx", blanks_in_a_sheet),
    "entities of entities in a workbook": (".xlsx", laughs),
    "five million empty rows of a workbook": (".xlsx", empty_rows),
    "a quotation mark that stays open for 48 MB": (".csv", a_quote_that_stays_open),
    "numbers of 400,000 digits": (".csv", long_numbers),
    "1.111.111 … for megabytes": (".csv", dots_between_thousands),
    "199,000 rows with 40 MB of texts that are kept": (".csv", texts_that_are_kept),
}
"""What is sent, by what it is; the first six were found by an attack."""


def small_table(seed: int = 0) -> pd.DataFrame:
    """Eight sites that drift, labels in the first three."""
    rng, place = np.random.default_rng(seed), np.repeat(np.arange(8), 20)
    rows = rng.normal(size=(160, 2))
    outcome = np.where(rows[:, 0] > 0, "well", "ill").astype(object)
    outcome[place >= 3] = None
    return pd.DataFrame(
        {
            "site": [f"s{number}" for number in place],
            "x": rows[:, 0] + place,
            "z": rows[:, 1] - 0.3 * place,
            "outcome": outcome,
        }
    )


@contextmanager
def served(home: Path, effort: str = "quick") -> Iterator[tuple[str, psutil.Process]]:
    """The address of a run that is served, and the process that does it."""
    from domindex.tables import fit_table

    small_table().to_csv(home / "table.csv", index=False)
    quick = {"predictor": "linear", "training": {"index_steps": 2, "steps": 2}}
    settings = quick if effort == "quick" else {"effort": "quick"}
    run = fit_table(
        home / "table.csv",
        target=["outcome"],
        domain="site",
        out=home / "run",
        settings=settings,
        report=False,
    )
    command = [sys.executable, "-m", "domindex", "serve", str(run.folder), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            line = next(line for line in process.stderr if "http://" in line)
            address = "http://" + line.partition("http://")[2].partition("/ ")[0]
            yield address, psutil.Process(process.pid)
        finally:
            process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                process.wait(20)
            process.kill()


class Memory:
    """The most that a process takes while the block runs, alone and with what it started, in MB."""

    def __init__(self, process: psutil.Process) -> None:
        self._process, self._ended = process, threading.Event()
        self.alone = self.together = 0.0

    def __enter__(self) -> Memory:
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(0.02):
            with suppress(psutil.Error):
                alone = self._process.memory_info().rss / 1e6
                others = 0.0
                for one in self._process.children(recursive=True):
                    with suppress(psutil.Error):
                        others += one.memory_info().rss / 1e6
                self.alone = max(self.alone, alone)
                self.together = max(self.together, alone + others)


def send(address: str, name: str, content: bytes, to: str = "/api/predict") -> httpx.Response:
    files = {"table": (name, content, "application/octet-stream")}
    fields = {"keep": "note"} if name.startswith("kept") else {}
    return httpx.post(address + to, files=files, data=fields, timeout=60)


def bombs() -> Found:
    """Each bomb by its name: code, seconds, memory, and the code of the next request."""
    found: Found = {}
    good = small_table(1).drop(columns="outcome").to_csv(index=False).encode()
    with tempfile.TemporaryDirectory() as name, served(Path(name)) as (address, process):
        send(address, "good.csv", good)
        for what, (suffix, make) in BOMBS.items():
            content = make()
            kept = "kept" if "kept" in what else "bomb"
            with Memory(process) as memory:
                start = time.perf_counter()
                answer = send(address, f"{kept}{suffix}", content)
                seconds = time.perf_counter() - start
            after = send(address, "good.csv", good)
            found[what] = {
                "bytes": len(content),
                "code": answer.status_code,
                "words": answer.json().get("error", "")[:160],
                "seconds": round(seconds, 2),
                "server_mb": round(memory.alone),
                "with_reader_mb": round(memory.together),
                "next": after.status_code,
            }
            print(what, found[what], flush=True)
    worst = list(found.values())
    return {
        "bombs": found,
        "most_seconds": max(one["seconds"] for one in worst),
        "most_server_mb": max(one["server_mb"] for one in worst),
        "most_with_reader_mb": max(one["with_reader_mb"] for one in worst),
        "next_served": sum(one["next"] == 200 for one in worst),
    }


def table(content: Found) -> list[str]:
    measured = content["uploads"]
    head = "| upload | kB | seconds | MB of the server | with the reader | answer | next request |"
    lines = [head, "|---" * 7 + "|"]
    for what, one in measured["bombs"].items():
        sizes = f"{one['bytes'] / 1e3:,.0f} | {one['seconds']:.1f} | {one['server_mb']:,}"
        codes = f"{one['with_reader_mb']:,} | {one['code']} | {one['next']}"
        lines.append(f"| {what} | {sizes} | {codes} |")
    return [*lines, "", origin_line("bombs", measured)]


MEASUREMENT = Measurement(parts={"uploads": bombs}, page="threats.md", tables={"bombs": table})
