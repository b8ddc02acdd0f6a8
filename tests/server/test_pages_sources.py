"""Colours for code, and long files in parts (registry_server/pages/highlighting.py, source_parts.py).

All of a file is there, each page is small, and no file takes long."""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
import time
from pathlib import Path
from typing import Any

import pytest
from lxml import html

from registry_server.pages.highlighting import Colours, highlighted, stretches
from registry_server.pages.limits import PAGES
from registry_server.pages.source_parts import SourcePart, numbered, part_bounds, part_of_line, source_part
from tests.scenes.effort import rest_thorough
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.publisher import Publisher
from tests.server.test_pages_diff import HTML, document, fresh, page
from tests.server.unexamined import put

ROOT = Path(__file__).parents[2]
CODE = "".join(f"def f{n}(x: int) -> str:\n    # line {n}\n    return 'text' * {n}\n\n\n" for n in range(1_500))
ZIPPED = 60_000


def bytes_of(count: int) -> bytes:
    """Bytes that do not become smaller when they are compressed."""
    return b"".join(hashlib.sha256(str(n).encode()).digest() for n in range(count // 32))


def parts_of(text: str) -> list[SourcePart]:
    """All parts of a text."""
    return [source_part(text, bounds) for bounds in part_bounds(text)]


HOSTILE = {
    "one line": base64.b64encode(bytes_of(200_000)).decode(),
    "hidden": "\u200b" * 30_000,
    "hidden lines": ("\u200b" * 400 + "\n") * 60,
    "quotes": '"' * 100_000,
    "empty lines": "\n" * 20_000,
    "wide": "漢字かな。\n" * 9_000,
    "dense": ("1+" * 200 + "\n") * 400,
    "surrogates": "\ud800x\n" * 200,
    "nothing": "",
    "CRLF": "a = 1\r\n" * 3_000,
    "long lines and short ones": ("x" * 7_000 + "\r\n\na\n" + "\u200b" * 900 + "\n") * 20,
}


class TestStretches:
    @pytest.mark.parametrize("text", [CODE, *HOSTILE.values()])
    def test_they_are_every_line_once_and_short(self, text: str) -> None:
        lines = text.split("\n")
        found = list(stretches(lines))
        assert [at for each in found for at in each] == list(range(len(lines)))
        for each in found:
            size = sum(len(lines[at]) + 1 for at in each)
            assert len(each) == 1 or size <= PAGES.stretch_characters

    def test_they_begin_with_definitions(self) -> None:
        lines = CODE.split("\n")
        assert all(lines[each.start].startswith("def ") for each in stretches(lines))

    @pytest.mark.thorough
    def test_real_code_has_the_colours_of_the_whole(self) -> None:
        differs = lines = 0
        for path in sorted((ROOT / "rye" / "items").glob("*.py")):
            text = path.read_text()
            one = str(highlighted(text, "py")).split("\n")
            # the whole at once, by a lexer that is told nothing of stretches
            runs = Colours().runs(text.split("\n"), "py")
            assert runs is not None
            other = [str(Colours().line(line)) for line in runs]
            differs += sum(a != b for a, b in zip(one, other, strict=True))
            lines += len(other)
        assert lines > 2_000
        assert differs < lines / 50


class TestParts:
    @pytest.mark.parametrize("name", rest_thorough(10, sorted(HOSTILE, key=lambda name: name == "dense")))
    def test_all_of_a_text_is_on_small_pages(self, name: str) -> None:
        text = HOSTILE[name]
        parts = parts_of(text)
        rows = [row for part in parts for row in part.rows]
        joined = "".join(("\n" if row.is_start and at else "") + row.text for at, row in enumerate(rows))
        assert joined == text.removesuffix("\n")
        left = PAGES.html_bytes - PAGES.foot_bytes - PAGES.source_frame_bytes
        for part in (*parts[:3], *parts[-2:]):
            made = str(numbered(part, "py", Colours(left - PAGES.source_part_bytes))).encode("utf-8", "replace")
            assert len(made) <= left
            assert len(gzip.compress(made)) <= ZIPPED - 5_000

    def test_each_line_is_on_the_part_that_its_number_says(self) -> None:
        for text in (CODE, HOSTILE["one line"] + "\nend\n", HOSTILE["empty lines"]):
            parts = parts_of(text)
            assert len(parts) > 1
            for at, part in enumerate(parts):
                begun = {row.number for row in part.rows if row.is_start}
                assert {part_of_line(text, number) for number in begun} <= {at}
        assert part_of_line(CODE, 10**9) == len(part_bounds(CODE)) - 1
        assert part_of_line("", 1) == 0

    def test_each_part_of_long_code_has_colours(self) -> None:
        for part in parts_of(CODE):
            made = str(numbered(part, "py", Colours(40_000)))
            texts = [row.text for row in part.rows]
            assert made.count('<i class="k">def</i>') == sum(text.startswith("def ") for text in texts) > 0
            assert f'id="L{part.first}" data-n="{part.first}"' in made


class TestTime:
    @pytest.mark.thorough
    @pytest.mark.parametrize("line", ["\r\n", "a = 1\r\n", "x" * 100_000 + "\r\n"])
    def test_a_part_of_a_hostile_text_costs_no_more_than_itself(self, line: str) -> None:
        text = line * (PAGES.source_bytes // len(line))
        part_bounds.cache_clear()
        began = time.thread_time()
        shown = part_bounds(text)[:: len(part_bounds(text)) // 4]
        once = time.thread_time() - began
        began = time.thread_time()
        for bounds in shown:
            assert part_bounds(text)
            assert len(source_part(text, bounds).rows) < 2_000
        assert time.thread_time() - began < once / 2

    @pytest.mark.parametrize(
        ("language", "piece"),
        rest_thorough(
            1,
            [
                ("py", " \n"),
                ("html", "<style>"),
                ("md", "<a"),
                ("go", "/*<"),
                ("rb", "<a <"),
                ("ts", "a."),
                ("ini", "= "),
                ("yaml", "``"),
                ("md", " \n"),
            ],
        ),
    )
    def test_hostile_code_costs_a_bounded_time(self, language: str, piece: str) -> None:
        text = "\n".join((piece * 200)[:490] for _ in range(400))
        began = time.thread_time()
        made = highlighted(text, language)
        assert time.thread_time() - began < PAGES.highlighting_seconds + 4
        tree: Any = html.fromstring(f"<pre>{made}</pre>")
        assert tree.text_content() == text

    def test_markdown_has_colours_as_source(self) -> None:
        made = str(highlighted("---\nname: a\n---\n# Head\n\n- see `code` at https://a.example <tag>\n", "md"))
        plain = re.sub(r'<i class="(.)">|</i>', "", made)
        assert plain == "---\nname: a\n---\n# Head\n\n- see `code` at https://a.example &lt;tag&gt;\n"
        assert re.findall(r'<i class="(.)">', made) == ["c", "b", "c", "k", "n", "s", "b", "f"]

    def test_what_is_left_without_time_or_room_is_plain(self) -> None:
        assert "<i" not in str(highlighted(CODE, "py", Colours(seconds=0)))
        assert str(highlighted(CODE, "py", Colours(room=1_000))).count("<i") < 80


@pytest.fixture(scope="module")
def long_skill(local: LocalRegistry, acme: Publisher) -> str:
    identity = fresh("skill")
    for number in (1, 2):
        code = CODE.replace("def f1400(", f"def g{number}(").encode()
        text = f"curl https://files.example.org/x | sh\n{number}\n".encode()
        put(
            local,
            acme,
            identity,
            f"{number}.0.0",
            text,
            {"scripts/long.py": code, "run.sh": b"#!/bin/sh\ncurl x | sh\n"},
        )
    return identity.id


class TestPages:
    @pytest.mark.thorough
    def test_a_long_file_goes_on_and_every_part_is_coloured(self, local: LocalRegistry, long_skill: str) -> None:
        address: str | None = f"/-/skill/{long_skill}@1.0.0/source/scripts/long.py"
        numbers: list[int] = []
        shown = 0
        while address is not None:
            found = document(local, address)
            tree = page(local, address)
            assert tree.xpath("//pre[@class='source numbered']//i[@class='k']")
            numbers += [int(each[1:]) for each in tree.xpath("//pre//span/@id")]
            assert found["lines"] == [numbers[shown], numbers[-1]]
            shown = len(numbers)
            assert tree.xpath("//a[@rel='next']/@href") == ([found["next_part"]] if found["next_part"] else [])
            address = found["next_part"]
        assert numbers == list(range(1, CODE.count("\n") + 1))
        assert found["part"] == found["parts"] - 1 > 1
        beyond = local.get(f"/-/skill/{long_skill}@1.0.0/source/scripts/long.py?part=999", headers=HTML)
        assert (beyond.status_code, f"This page has only {found['parts']} parts." in beyond.text) == (404, True)

    def test_the_pages_of_a_file_divide_it_once(self, local: LocalRegistry, acme: Publisher) -> None:
        identity = fresh("skill")
        put(local, acme, identity, "1.0.0", b"text\n", {"a.txt": f"{identity.id}\r\n".encode() * 5_000})
        before = part_bounds.cache_info().misses
        firsts = [
            document(local, f"/-/skill/{identity.id}@1.0.0/source/a.txt?part={part}")["lines"][0] for part in range(3)
        ]
        assert firsts == sorted({1, *firsts})
        assert part_bounds.cache_info().misses == before + 1

    def test_a_comparison_has_colours_and_its_signs_are_text(self, local: LocalRegistry, long_skill: str) -> None:
        tree = page(local, f"/-/skill/{long_skill}/diff/1.0.0..2.0.0")
        (less,), (more,) = (tree.xpath(f"//tr[@class='{sort}'][contains(., 'def ')]") for sort in ("less", "more"))
        assert less.xpath("td[@class='sign']/text()") == ["−"]
        assert more.xpath("td[@class='sign']/text()") == ["+"]
        assert more.xpath("td[@class='text']/i[@class='k']/text()") == ["def"]
        assert more.xpath("td[@class='text']/mark")[0].text_content() == "g2"
        assert more.xpath("td[@class='text']")[0].text_content() == "def g2(x: int) -> str:"

    def test_unchanged_lines_lead_to_the_part_that_has_them(self, local: LocalRegistry, long_skill: str) -> None:
        tree = page(local, f"/-/skill/{long_skill}/diff/1.0.0..2.0.0")
        links = [link for link in tree.xpath("//tr[@class='fold']//a/@href") if "long.py" in link]
        assert "?part=" not in links[0]
        assert "?part=" in links[-1]
        for link in links:
            path, _, line = link.partition("#")
            assert page(local, path).xpath(f"//span[@id='{line}']")

    def test_long_code_in_markdown_has_colours(self, local: LocalRegistry, acme: Publisher) -> None:
        identity = fresh("skill")
        fence = f"# Code\n\n```python\n{CODE[:18_000]}\n```\n"
        put(local, acme, identity, "1.0.0", fence.encode())
        tree = page(local, f"/-/skill/{identity.id}")
        assert len(tree.xpath("//div[@class='prose']//pre//i[@class='k']")) > 300

    @pytest.mark.thorough
    def test_a_long_tool_has_colours_on_every_page(self, local: LocalRegistry, acme: Publisher) -> None:
        identity = fresh("tool")
        put(local, acme, identity, "1.0.0", CODE.encode())
        address: str | None = f"/-/tool/{identity.id}"
        found = 0
        while address is not None:
            tree = page(local, address)
            assert tree.xpath("//pre[@class='source']//i[@class='k']")
            found += tree.xpath("//pre[@class='source']")[0].getparent().text_content().count("def f")
            address = next(iter(tree.xpath("//a[@rel='next']/@href")), "").partition("#")[0] or None
        assert found == 1_500

    def test_a_rendered_text_of_wide_characters_is_on_small_pages(self, local: LocalRegistry, acme: Publisher) -> None:
        identity = fresh("skill")
        text = ("漢字かな交じり文です。" * 20 + "\n\n") * 400
        put(local, acme, identity, "1.0.0", text.encode(), {"a.md": text.encode()})
        for path in (f"/-/skill/{identity.id}@1.0.0", f"/-/skill/{identity.id}@1.0.0/source/a.md"):
            page(local, path)
            (more,) = page(local, path).xpath("//a[@rel='next']/@href")
            page(local, more.partition("#")[0])


class TestContrast:
    """Colours of code on every ground that they stand on: 4.5:1 (WCAG 2.2, 1.4.3)."""

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_each_is_readable(self, scheme: str) -> None:
        folder = ROOT / "registry_server" / "pages"
        style = "".join((folder / name).read_text() for name in ("style.css", "style_records.css"))
        light: dict[str, str] = {}
        dark: dict[str, str] = {}
        for found in re.finditer(
            r"(@media screen and \(prefers-color-scheme: dark\) \{\s*)?:root \{(.*?)\}", style, re.DOTALL
        ):
            values = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", found[2]))
            (dark if found[1] else light).update(values)
        colours = light if scheme == "light" else {**light, **dark}
        tokens = [name for name in colours if name.startswith("code-")]
        assert len(tokens) == 6
        assert light["code-string"] != dark["code-string"]
        for token in [*tokens, "ink", "quiet"]:
            for ground in ("paper", "card", "soft", "more-back", "less-back"):
                assert contrast(colours[token], colours[ground]) >= 4.5, (token, ground)
        for ground in ("more-mark", "less-mark"):
            assert contrast(colours["ink"], colours[ground]) >= 4.5, ground


def contrast(one: str, other: str) -> float:
    """The contrast of two colours (WCAG 2.2)."""

    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)
