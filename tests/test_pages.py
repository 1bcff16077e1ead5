"""Pages that teach: their links lead somewhere, their pictures are there. Their code is run by
tests/test_readers.py."""

import ast
import os
import re
import runpy
from pathlib import Path

import pytest
import yaml

from domindex import reporting

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCED = re.compile(r"^(```+).*?^\1", re.DOTALL | re.MULTILINE)


def pages():
    return sorted(DOCS.glob("*.md"))


def anchors(page):
    """Of every heading the name that a link uses."""
    titles = re.findall(r"^#+ (.+)$", FENCED.sub("", page.read_text(encoding="utf-8")), re.M)
    plain = [re.sub(r"[^\w\s-]", "", title.lower()).strip() for title in titles]
    return {re.sub(r"[-\s]+", "-", title) for title in plain}


def place_of(link, page):
    """The file that a link of a page leads to; a tutorial is a notebook until the site is built."""
    path = (page.parent / link).resolve() if link else page
    notebook = path.with_suffix(".ipynb")
    return notebook if path.suffix == ".md" and notebook.exists() else path


@pytest.mark.parametrize("page", [*pages(), ROOT / "README.md"], ids=lambda page: page.name)
def test_links_lead_to_files_and_headings(page):
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    broken = []
    for link in LINK.findall(text):
        if re.match(r"[a-z]+:", link):
            continue
        file, _, heading = link.partition("#")
        place = place_of(file, page)
        if not place.exists() or (
            heading and place.suffix == ".md" and heading not in anchors(place)
        ):
            broken.append(link)
    assert not broken


def test_a_page_of_the_guide_says_first_what_its_reader_will_be_able_to_do():
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("- Guide:")[1].split("- Tut")[0]
    guide = re.findall(r": ([\w/.-]+\.md)$", nav, re.MULTILINE)
    assert len(guide) > 9
    for name in [*guide, "idea.md"]:
        first = (DOCS / name).read_text(encoding="utf-8").split("\n\n")[1]
        assert first.startswith("After this page you can "), name


def test_every_page_is_in_the_navigation():
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = set(re.findall(r": ([\w/.-]+\.md)$", text, re.MULTILINE))
    here = {page.name for page in pages()}
    tutorials = {f"tutorials/{one.stem}.md" for one in (DOCS / "tutorials").glob("*.ipynb")}
    assert listed == here | tutorials
    assert isinstance(yaml.safe_load(text.split("nav:")[1]), list)


def test_the_gallery_shows_every_figure_below_its_code():
    blocks = runpy.run_path(str(ROOT / "examples" / "gallery.py"))["blocks"](DOCS / "gallery.md")
    drawn = [(code, DOCS / picture) for code, picture in blocks if picture]
    called = {
        node.id if isinstance(node, ast.Name) else node.attr
        for code, _ in blocks
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Name | ast.Attribute)
    }
    figures = {name for name in reporting.__all__ if name.startswith("plot_")}
    assert figures - called == {"plot_domain_map"}, "model.plot_map stands for that one"
    assert "plot_map" in called
    assert all("axes = " in code for code, _ in drawn)
    assert {path for _, path in drawn} == set((DOCS / "pictures" / "gallery").iterdir())
    assert all(0 < os.path.getsize(path) < 100_000 for _, path in drawn)
