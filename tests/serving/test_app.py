"""The page and the address for programs, asked without a network."""

import io
import json
import re
import tempfile
import threading

import numpy as np
import pandas as pd
import pytest
from starlette.testclient import TestClient

from domindex.errors import PredictorError
from domindex.serving import ServedRun, ServeSettings
from domindex.serving.app import FAULT, PAGE_POLICY, build_app
from domindex.tables import predict_table

ADDRESS = "http://127.0.0.1:8700"
ATTACK = "<script>alert(1)</script>"


def client_of(asked, loopback=True, address=ADDRESS):
    app = build_app(asked, ["127.0.0.1", "box.lan"], loopback)
    return TestClient(app, base_url=address)


@pytest.fixture(scope="module")
def client(asked):
    return client_of(asked)


def csv_of(table, **how):
    return table.to_csv(index=False, **how).encode()


def sent(client, content, name="today.csv", to="/api/predict", headers=None, **fields):
    files = {"table": (name, content, "application/octet-stream")}
    return client.post(to, files=files, data=fields, headers=headers)


def data_of(page):
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.text, re.S)
    return json.loads(found[1])


def test_the_page_shows_the_map_and_names_the_columns(client, asked):
    page = client.get("/")
    assert page.status_code == 200
    content = data_of(page)
    assert content["answer"] is None
    assert content["run"]["title"] == "patients.csv: outcome"
    assert content["run"]["inputs"] == ["x", "z"]
    assert [one["domain"] for one in content["map"]] == asked.map["domain"].tolist()
    assert {one["role"] for one in content["map"]} == {"source", "target"}


def test_predictions_are_those_of_the_command(client, run, today, tmp_path):
    today.to_csv(tmp_path / "today.csv", index=False)
    expected = predict_table(run, tmp_path / "today.csv")
    answer = sent(client, csv_of(today)).json()
    got = pd.DataFrame(answer["predictions"])
    assert list(got.columns) == list(expected.table.columns)
    assert got["patient"].tolist() == today["patient"].tolist(), "the key of the fit goes along"
    np.testing.assert_allclose(got["p(ill)"], expected.table["p(ill)"], rtol=1e-12)
    assert sorted(answer["new_domains"]) == sorted(expected.new_domains)
    assert answer["off_map"] == expected.off_map == ["far0"]
    as_csv = sent(client, csv_of(today), to="/api/predict?format=csv")
    assert as_csv.headers["content-type"].startswith("text/csv")
    pd.testing.assert_frame_equal(
        pd.read_csv(io.StringIO(as_csv.text)), expected.table.reset_index(drop=True)
    )


def test_the_page_shows_first_rows_a_file_and_places_with_a_forecast(client, asked, today):
    content = data_of(sent(client, csv_of(today), to="/"))
    answer = content["answer"]
    assert len(answer["first"]) == 20
    assert answer["rows"] == len(today)
    assert len(pd.read_csv(io.StringIO(answer["csv"]))) == len(today)
    domains = {one["domain"]: one for one in answer["domains"]}
    assert answer["domains"][0]["domain"] == "far0", "what needs care comes first"
    assert domains["far0"]["off_map"]
    assert domains["s1"]["role"] == "source"
    assert domains["s1"]["expected"] is None
    new = domains["new-6"]
    assert new["role"] == "new"
    assert 0 <= new["low"] <= new["expected"] <= new["high"] <= 1
    places = asked.map.set_index("domain")[["x1", "x2"]]
    away = np.linalg.norm(places - [new["x1"], new["x2"]], axis=1)
    assert places.index[away.argmin()] in ("s5", "s6", "s7"), "beside the site that it is like"


def test_names_are_text_and_never_markup(client, today):
    page = sent(client, csv_of(today), name=f"{ATTACK}.csv", to="/")
    assert "<script>alert" not in page.text
    assert ATTACK in {one["domain"] for one in data_of(page)["answer"]["domains"]}
    refused = sent(client, b"site\ns1\n", name="<b>x.csv", to="/")
    assert refused.status_code == 400
    assert "<b>" not in refused.text


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        (b"", "a.csv", "a.csv is empty"),
        (b"site,x\ns1,1\n", "a.csv", "no column"),
        (b"site,x,z,patient\ns1,one,2,p\ns1,2,3,q\n", "a.csv", "'x'"),
        (b"site,x,z,patient\ns1,1,2\n" + b"s1,1,2,3,4,5\n" * 3, "a.csv", "same columns"),
        (b"\x00\x01\x02", "a.csv", "not a text file"),
        (b"PAR1 or not", "a.parquet", "not a whole Parquet file"),
        (b"PK\x03\x04 or not", "a.xlsx", "a.xlsx"),
        (b"x", "a.exe", "does not say what it is"),
        (b"x", "a.csv.gz", "does not say what it is"),
        (b"x", "../../etc/passwd", "does not say what it is"),
        (b"a" * 999_000, "a.csv", "a.csv"),
    ],
)
@pytest.mark.parametrize("to", ["/", "/api/predict"])
def test_a_bad_table_is_code_400_and_words(client, content, name, words, to):
    answer = sent(client, content, name=name, to=to)
    assert answer.status_code == 400
    if to == "/":
        alert = re.search(r'role="alert">(.*?)</p>', answer.text)[1].replace("&#x27;", "'")
        assert words in alert
        assert 'type="file"' in answer.text, "the form is there to try again"
    else:
        assert words in answer.json()["error"]
    assert "Traceback" not in answer.text
    assert tempfile.gettempdir() not in answer.text
    assert "upload." not in answer.text


def test_what_is_no_form_is_refused(client):
    assert client.post("/api/predict", content=b"x").status_code == 400
    assert client.post("/api/predict", data={"keep": "x"}).status_code == 400
    half = client.post(
        "/api/predict",
        content=b"--b\r\nnonsense",
        headers={"content-type": "multipart/form-data; boundary=b"},
    )
    assert half.status_code == 400
    assert client.post("/api/predict", files=[("table", b"a"), ("table", b"b")]).status_code == 400


def test_a_table_that_is_too_large_is_refused_by_what_it_says_and_by_what_it_is(client):
    large = b"site,x,z\n" + b"s1,1,2\n" * 200_000
    answer = sent(client, large)
    assert answer.status_code == 413
    assert "larger than 1 MB" in answer.json()["error"]

    def endless():
        yield b'--b\r\nContent-Disposition: form-data; name="table"; filename="a.csv"\r\n\r\n'
        for _ in range(40):
            yield b"s1,1,2\n" * 10_000

    unannounced = client.post(
        "/api/predict",
        content=endless(),
        headers={"content-type": "multipart/form-data; boundary=b"},
    )
    assert unannounced.status_code == 413


def test_too_many_rows_or_domains_are_refused_before_they_are_predicted(client, today, table):
    many = pd.concat([today] * 6)
    assert "has 720 rows, and this page takes 500" in sent(client, csv_of(many)).json()["error"]
    names = table.assign(site=[f"d{n}" for n in range(160)])
    assert "160 domains" in sent(client, csv_of(names)).json()["error"]


def test_parquet_is_read_as_well(client, today):
    pytest.importorskip("pyarrow")
    content = io.BytesIO()
    today.reset_index(drop=True).to_parquet(content)
    answer = sent(client, content.getvalue(), name="today.parquet")
    assert answer.json()["rows"] == len(today)


def test_how_a_text_file_is_spelled_can_be_said(client, today):
    spelled = csv_of(today, sep=";", decimal=",")
    plain = sent(client, csv_of(today)).json()
    said = sent(client, spelled, delimiter="semicolon", decimal="comma", keep="x")
    guessed = sent(client, spelled)
    for answer in (said.json(), guessed.json()):
        assert "predictions" in answer, answer
        close = [one["p(ill)"] for one in answer["predictions"]]
        np.testing.assert_allclose(close, [one["p(ill)"] for one in plain["predictions"]])
    assert "x" in said.json()["predictions"][0], "kept beside the predictions"
    assert any("today.csv with a semicolon" in note for note in guessed.json()["notes"])
    for wrong in ({"delimiter": "*"}, {"encoding": "zlib"}, {"decimal": "!"}, {"keep": "nothing"}):
        assert sent(client, spelled, **wrong).status_code == 400


def test_formulas_are_escaped_where_asked_for(client, today):
    risky = today.assign(site="=1+1")
    names = {
        sent(client, csv_of(risky), escape=way).json()["predictions"][0]["site"]
        for way in ("yes", "")
    }
    assert names == {"=1+1", "'=1+1"}


def test_nothing_of_an_upload_is_kept(client, run, today, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = sorted(path.name for path in run.folder.rglob("*"))
    seen = []
    real = ServedRun._answer

    def watched(self, upload):
        seen.append([path for path in tmp_path.rglob("*") if path.is_file()])
        return real(self, upload)

    monkeypatch.setattr(ServedRun, "_answer", watched)
    assert sent(client, csv_of(today)).status_code == 200
    assert sent(client, b"site\ns1\n").status_code == 400
    assert seen == [[], []], "a file without a name: nothing can be left behind"
    assert list(tmp_path.iterdir()) == []
    assert sorted(path.name for path in run.folder.rglob("*")) == before


def test_a_fault_says_where_and_nothing_of_the_table(client, today, monkeypatch, capsys):
    def broken(self, upload):
        raise RuntimeError("secret-value")

    monkeypatch.setattr(ServedRun, "_answer", broken)
    answer = sent(client, csv_of(today), to="/")
    assert answer.status_code == 500
    assert FAULT in answer.text
    said = capsys.readouterr().err
    assert "RuntimeError at" in said
    assert "secret-value" not in answer.text + said


def test_an_error_of_ours_that_is_no_fault_of_the_table_is_code_500(client, today, monkeypatch):
    def failing(self, upload):
        raise PredictorError("The predictor failed.")

    monkeypatch.setattr(ServedRun, "_answer", failing)
    answer = sent(client, csv_of(today))
    assert (answer.status_code, answer.json()) == (500, {"error": "The predictor failed."})


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "127.0.0.1.evil.example", "box.lan.evil", "[::2]", "[::1].evil.com"),
        *("[::1", "127.0.0.1:8700@evil.com", "", "127.0.0.1:x", "[127.0.0.1]x"),
    ],
)
def test_a_foreign_name_for_this_machine_is_refused(client, today, host):
    headers = {"host": f"{host}:8700"}
    assert client.get("/", headers=headers).status_code == 421
    assert sent(client, csv_of(today), headers=headers).status_code == 421


@pytest.mark.parametrize("host", ["127.0.0.1:8700", "localhost:9000", "[::1]:8700", "BOX.lan"])
def test_names_of_this_machine_are_known(client, host):
    assert client.get("/", headers={"host": host}).status_code == 200


def test_addresses_in_numbers_are_known_where_it_is_not_loopback(asked):
    open_to_all = client_of(asked, loopback=False)
    assert open_to_all.get("/", headers={"host": "192.168.1.7:8700"}).status_code == 200
    assert open_to_all.get("/", headers={"host": "evil.example"}).status_code == 421
    assert client_of(asked).get("/", headers={"host": "192.168.1.7"}).status_code == 421


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": "http://["},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site", "origin": ADDRESS},
    ],
)
@pytest.mark.parametrize("to", ["/", "/api/predict"])
def test_what_another_site_posts_is_refused(client, today, headers, to):
    answer = sent(client, csv_of(today), to=to, headers=headers)
    assert answer.status_code == 403
    assert "another site" in answer.text


def test_a_second_origin_beside_the_right_one_is_refused(client, today):
    twice = [("origin", ADDRESS), ("origin", "https://evil.example")]
    for headers in (twice, twice[::-1]):
        assert sent(client, csv_of(today), headers=headers).status_code == 403


def test_an_encoding_of_the_form_that_is_none_is_refused(client):
    form = b'--b\r\nContent-Disposition: form-data; name="keep"\r\n\r\n\xff\r\n--b--\r\n'
    for name in ("undefined", "no-such", "base64", "idna"):
        kind = f"multipart/form-data; boundary=b; charset={name}"
        answer = client.post("/api/predict", content=form, headers={"content-type": kind})
        assert answer.status_code == 400, answer.text


def test_a_report_that_is_a_link_is_not_served(client, damaged, tmp_path):
    (tmp_path / "secret").write_text("what others wrote")
    (damaged / "report.html").unlink()
    (damaged / "report.html").symlink_to(tmp_path / "secret")
    assert client_of(ServedRun.open(damaged)).get("/report").status_code == 404


def test_what_the_page_itself_posts_is_taken(client, today):
    headers = {"origin": ADDRESS, "sec-fetch-site": "same-origin"}
    assert sent(client, csv_of(today), to="/", headers=headers).status_code == 200


def test_every_answer_is_strict_about_what_a_browser_may_do(client):
    for address in ("/", "/serve.js", "/serve.css", "/icon.svg", "/nowhere", "/report"):
        headers = client.get(address).headers
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in headers["content-security-policy"]
    assert client.get("/").headers["content-security-policy"] == PAGE_POLICY
    assert "unsafe" not in PAGE_POLICY


def test_the_report_is_the_runs_own_in_an_origin_of_its_own(client, damaged):
    report = client.get("/report")
    assert "<p>A report.</p>" in report.text
    assert "sandbox allow-scripts" in report.headers["content-security-policy"]
    assert "allow-same-origin" not in report.headers["content-security-policy"]
    (damaged / "report.html").unlink()
    bare = client_of(ServedRun.open(damaged))
    assert bare.get("/report").status_code == 404
    assert data_of(bare.get("/"))["run"]["report"] is False


@pytest.mark.parametrize("path", ["/run.json", "/../run.json", "/%2e%2e/run.json", "/report/../x"])
def test_no_other_file_is_served(client, path):
    assert client.get(path).status_code == 404


def test_several_tables_at_a_time_each_get_their_own_answer(asked, table):
    client = client_of(asked)
    answers = {}

    def ask(site):
        part = table[table["site"] == site]
        answers[site] = sent(client, csv_of(part)).json()

    threads = [threading.Thread(target=ask, args=(f"s{n}",)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for site, answer in answers.items():
        assert {one["site"] for one in answer["predictions"]} == {site}
    assert len(answers) == 6


def test_more_tables_than_may_wait_are_refused(run, today):
    busy = ServedRun.open(run, ServeSettings(max_waiting=1))
    with busy.place():
        answer = sent(client_of(busy), csv_of(today))
        assert answer.status_code == 503
        assert "Try again" in answer.json()["error"]
    assert sent(client_of(busy), csv_of(today)).status_code == 200
