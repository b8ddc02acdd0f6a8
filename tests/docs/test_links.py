"""Every page that a text names exists: links between pages, and pages that source, hints and tests refer to."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("rye", "registry_server", "tests", "benchmarks", "docs", "operating", "templates", "keys", "editors")
SUFFIXES = {".py", ".md", ".toml", ".json", ".yml", ".conf"}
_LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)\s]*)?\)")
_PAGE = re.compile(r"(?<![\w/.])docs/(?:how-to|reference|explanation|design)/[\w/-]+\.md")
_OLD_PLACE = re.compile(r"(?<![\w/.])docs/(?!README)[a-z-]+\.md")
_ADDRESS = re.compile(r"[a-z+]+:")


def _pages() -> list[Path]:
    """Every page of ours. A benchmark installs its peers into a folder ``node_modules``, which have pages as well."""
    folders = (ROOT / name for name in FOLDERS if name != "tests")
    found = (page for folder in folders for page in folder.rglob("*.md") if "node_modules" not in page.parts)
    return [*ROOT.glob("*.md"), *found]


def test_links_between_pages_lead_somewhere() -> None:
    pages = _pages()
    dead = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in pages
        for target in _LINK.findall(_without_code(page.read_text("utf-8")))
        if not _ADDRESS.match(target) and not (page.parent / target).exists()
    ]
    assert not dead


def test_links_into_a_page_lead_to_a_heading() -> None:
    pages = _pages()
    texts = {page: page.read_text("utf-8") for page in pages}
    places = {page: _places(text) for page, text in texts.items()}
    links = [
        (page, (page.parent / target).resolve() if target else page, place)
        for page, text in texts.items()
        for target, place in re.findall(r"\]\(([^)\s#]*)#([^)\s]+)\)", _without_code(text))
        if not _ADDRESS.match(target)
    ]
    assert len(links) > 100
    dead = [
        f"{page.relative_to(ROOT)}: {to.name}#{place}" for page, to, place in links if place not in places.get(to, ())
    ]
    assert dead == []


def test_pages_that_the_source_names_exist() -> None:
    named = {
        found
        for name in FOLDERS
        for path in (ROOT / name).rglob("*")
        if path.suffix in SUFFIXES and path.is_file()
        for found in _PAGE.findall(_lines_with_a_page(path))
    }
    assert len(named) > 15
    assert not [page for page in sorted(named) if not (ROOT / page).is_file()]


def test_no_text_names_a_page_without_its_folder() -> None:
    moved = {page.name for page in (ROOT / "docs").glob("*/*.md")}
    named = {
        found
        for name in ("rye", "registry_server", "docs", "operating")
        for path in (ROOT / name).rglob("*")
        if path.suffix in SUFFIXES and path.is_file()
        for found in _OLD_PLACE.findall(_lines_with_a_page(path))
    }
    assert not [page for page in sorted(named) if page.removeprefix("docs/") in moved]


def _lines_with_a_page(path: Path) -> str:
    """What the patterns need to see of a file; no path of a page goes over the end of a line."""
    text = path.read_text("utf-8")
    return "\n".join(line for line in text.split("\n") if "docs/" in line) if "docs/" in text else ""


def _places(page: str) -> set[str]:
    """The anchors that code hosts create for a page's headings."""
    headings = re.findall(
        r"^#+ (.+?) *$", re.sub(r"^(`{3,}|~{3,}).*?^\1", "", page, flags=re.DOTALL | re.MULTILINE), re.MULTILINE
    )
    words = [re.sub(r"[^\w\- ]", "", re.sub(r"\]\([^)]*\)", "", heading).lower()) for heading in headings]
    return {name.replace(" ", "-") for name in words} | set(re.findall(r'<a (?:id|name)="([^"]+)"', page))


def _without_code(text: str) -> str:
    return re.sub(r"^(`{3,}|~{3,}).*?^\1|`[^`\n]+`", "", text, flags=re.DOTALL | re.MULTILINE)
