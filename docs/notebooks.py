"""A hook of MkDocs: notebooks of docs/tutorials become pages, with the outputs that they hold.

Nothing is run while the site is built; `python examples/run_tutorials.py` runs the notebooks. A
few lines do what is needed of nbconvert, so that building the site needs no Jupyter.
"""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

LANGUAGE = "python"
OUTPUT = "{ .text .output }"
"""What a cell printed; style.css lets its long lines go on below."""
DRESSED = re.compile(r"<(table|tr|th|td)\s[^>]*>")
DROPPED = re.compile(r"<style.*?</style>|<script.*?</script>", re.DOTALL)


def on_files(files: Files, config: Any) -> Files:
    """For every notebook a page and its pictures, in place of the file itself."""
    for file in [one for one in files if one.src_uri.endswith(".ipynb")]:
        files.remove(file)
        page = file.src_uri.removesuffix(".ipynb")
        text, pictures = page_of(Path(file.abs_src_path), Path(page).name)
        files.append(File.generated(config, f"{page}.md", content=text))
        for name, content in pictures.items():
            place = f"{Path(page).parent.as_posix()}/{name}"
            files.append(File.generated(config, place, content=content))
    return files


def page_of(path: Path, name: str) -> tuple[str, dict[str, bytes]]:
    """Markdown of a notebook, and its pictures by the names that it gives them."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    parts: list[str] = []
    pictures: dict[str, bytes] = {}
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(fenced(without_magics(source), LANGUAGE))
        for output in cell["outputs"]:
            data = output.get("data", {})
            if "image/png" in data:
                picture = f"{name}-{len(pictures) + 1}.png"
                pictures[picture] = base64.b64decode("".join(data["image/png"]))
                parts.append(f"![what the cell above draws]({picture})")
            elif "text/html" in data:
                parts.append(f"<div>\n{as_html(''.join(data['text/html']))}\n</div>")
            else:
                parts.append(
                    fenced("".join(output.get("text", data.get("text/plain", ""))), OUTPUT)
                )
    where = f"*This page is a notebook, run as it stands: `docs/tutorials/{path.name}`.*"
    return "\n\n".join([parts[0].split("\n", 1)[0], where, *_rest(parts)]), pictures


def _rest(parts: list[str]) -> list[str]:
    """All but the title."""
    return [parts[0].partition("\n")[2].strip(), *parts[1:]]


def without_magics(source: str) -> str:
    """A reader copies Python."""
    return "\n".join(line for line in source.splitlines() if not line.startswith("%"))


def fenced(text: str, language: str) -> str:
    return f"```{language}\n{text.strip()}\n```"


def as_html(text: str) -> str:
    """A table as pandas writes it: no style of its own, and no blank line that ends the block."""
    kept = DRESSED.sub(r"<\1>", DROPPED.sub("", text))
    return "\n".join(line for line in kept.splitlines() if line.strip())
