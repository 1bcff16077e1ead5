"""Draw the gallery: run the code of docs/gallery.md, block by block, and keep what it draws.

The page is the script. A block that is followed by a picture leaves `axes`, whose figure becomes
that picture; blocks share their names, as on a reader's screen.
"""

from __future__ import annotations

import re
import time
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
BLOCK = re.compile(r"```python\n(.*?)```\n+(?:!\[[^\]]*\]\(([^)]+)\))?", re.DOTALL)
DOTS_PER_INCH = 80


def blocks(page: Path) -> list[tuple[str, str]]:
    """The code of a page, and the picture that follows each piece; "" where none does."""
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def main() -> None:
    names: dict[str, object] = {}
    for code, picture in blocks(DOCS / "gallery.md"):
        start = time.perf_counter()
        exec(compile(code, "gallery.md", "exec"), names)
        if picture:
            (DOCS / picture).parent.mkdir(parents=True, exist_ok=True)
            figure = names["axes"].figure  # type: ignore[attr-defined]
            figure.savefig(DOCS / picture, dpi=DOTS_PER_INCH)
        print(f"{time.perf_counter() - start:5.1f} s  {picture or code.splitlines()[0]}")


if __name__ == "__main__":
    main()
