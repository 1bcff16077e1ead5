"""A report is one file, holds no markup of users, and is written whole or not at all."""

import builtins
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from domindex.errors import DomindexError, InputError
from domindex.reporting import render_report, write_report, write_run_report
from domindex.reporting.report import safe_json

ATTACK = "<script>alert(1)</script>"


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.scripts = []
        self.addresses = []
        self.inside = False

    def handle_starttag(self, tag, attributes):
        self.inside = tag == "script"
        if self.inside:
            self.scripts.append("")
        self.addresses += [value for name, value in attributes if name in ("src", "href")]

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, text):
        if self.inside:
            self.scripts[-1] += text


@pytest.fixture(scope="module")
def page(data):
    return render_report(data)


def test_a_page_has_three_scripts_whatever_domains_are_called(page, data):
    tags = Tags()
    tags.feed(page)
    assert len(tags.scripts) == 3
    assert tags.addresses == []
    content = json.loads(tags.scripts[0])
    assert content["domains"]["name"] == [one.name for one in data.domains]
    assert content["title"] == data.title


def test_names_of_users_are_never_markup(page):
    assert ATTACK not in page
    assert "<title>Fit &lt;script&gt;alert(1)&lt;/script&gt;</title>" in page
    assert "\\u003cscript\\u003ealert(1)\\u003c/script\\u003e" in page


def test_what_looks_like_a_place_in_the_template_stays_as_it_is(data):
    page = render_report(replace(data, title="@@plotly@@ \\1"))
    found = re.search(r'id="data">(.*?)</script>', page)
    assert json.loads(found[1])["title"] == "@@plotly@@ \\1"


def test_json_in_a_page_has_nothing_that_ends_a_script():
    content = ["</script><!--", "a & b", "\u2028\u2029", "ü", "\ud800"]
    text = safe_json(content)
    assert not re.search("[<>&\u2028\u2029]", text)
    assert json.loads(text) == content


def test_a_page_forbids_itself_every_request(page):
    assert "default-src 'none'" in page


def test_a_report_is_written_whole(data, tmp_path):
    path = write_report(data, tmp_path / "new" / "report.html")
    assert path.read_text(encoding="utf-8").endswith("</html>\n")
    assert [one.name for one in path.parent.iterdir()] == ["report.html"]


def test_a_path_that_cannot_be_written_to_is_said(data, tmp_path):
    (tmp_path / "taken").mkdir()
    with pytest.raises(InputError, match="cannot be written to"):
        write_report(data, tmp_path / "taken")
    assert [one.name for one in tmp_path.iterdir()] == ["taken"]


def test_a_run_folder_gives_its_report_without_the_data(data, tmp_path):
    (tmp_path / "report.json").write_text(json.dumps(data.to_dict()))
    path = write_run_report(tmp_path)
    assert path == tmp_path / "report.html"
    assert path.read_text(encoding="utf-8") == render_report(data)


def test_a_run_folder_without_content_is_said(tmp_path):
    with pytest.raises(InputError, match=r"report\.json cannot be read: there is none"):
        write_run_report(tmp_path)
    (tmp_path / "report.json").write_text("{")
    with pytest.raises(InputError, match="is damaged"):
        write_run_report(tmp_path)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("title", None),
        ("neighbours", ["a domain that is not there"]),
        ("neighbours", [10**30]),
        ("differences", [{"column": "p", "shares": ["x"]}]),
    ],
)
def test_a_report_damaged_inside_is_an_input_error(data, tmp_path, part, value):
    content = json.loads(json.dumps(data.to_dict()))
    holder = content if part in content else content["domains"][0]
    holder[part] = value
    (tmp_path / "report.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match="damaged"):
        write_run_report(tmp_path)
    assert not (tmp_path / "report.html").exists()


def test_a_content_without_end_is_refused_unread(tmp_path):
    (tmp_path / "report.json").symlink_to("/dev/zero")
    with pytest.raises(InputError, match="not a regular file"):
        write_run_report(tmp_path)


def test_without_plotly_the_error_says_what_to_install(data, monkeypatch):
    real = builtins.__import__

    def without_plotly(name, *rest):
        if name.startswith("plotly"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_plotly)
    with pytest.raises(DomindexError, match=r"pip install 'domindex\[report\]'"):
        render_report(data)
