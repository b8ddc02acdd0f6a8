"""The table of a directive's elements matches its readers: they know each child and attribute in it, and no others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.items.directive.grammar import GRAMMAR, SECTIONS, children_at, rule_at
from rye.items.directive.model import OPAQUE
from rye.items.directive.reader import METADATA, read
from rye.items.reading import ReadOptions, Source

_PARENTS: dict[str, tuple[str, ...]] = {
    "directive": (),
    "metadata": ("directive",),
    "inputs": ("directive",),
    "outputs": ("directive",),
    "permissions": ("directive", "metadata"),
    "cost": ("directive", "metadata"),
    "context": ("directive", "metadata"),
    "hooks": ("directive", "metadata"),
    "hook": ("directive", "metadata", "hooks"),
    "execute": ("directive", "metadata", "permissions"),
    "search": ("directive", "metadata", "permissions"),
    "load": ("directive", "metadata", "permissions"),
    "sign": ("directive", "metadata", "permissions"),
}


def path_of(key: str) -> tuple[str, ...]:
    parent, _, name = key.partition("/")
    return (*_PARENTS[parent], parent, name) if name else (parent,)


def unknown(path: tuple[str, ...], *, attribute: str = "", child: str = "") -> bool:
    """Whether the readers report an unknown attribute of the path's last element, or an unknown child in it."""
    opened = "".join(f"<{name}>" for name in path[:-1])
    closed = "".join(f"</{name}>" for name in path[:-1][::-1])
    given_attribute = f' {attribute}="x"' if attribute else ""
    inside = f"<{child}/>" if child else ""
    xml = f"{opened}<{path[-1]}{given_attribute}>{inside}</{path[-1]}>{closed}"
    found = read(Source(f"# T\n\n```xml\n{xml}\n```\n"), ReadOptions()).diagnostics
    said = (
        "is unknown in",
        "is in",
        "is directly in",
        "has no effect in",
        "is next to",
        "is not a primary",
        "is not an item type",
    )
    if attribute:
        return any(f"no attribute `{attribute}`" in one.message for one in found)
    return any(one.message.startswith(f"`<{child}>`") and any(words in one.message for words in said) for one in found)


@pytest.mark.parametrize("key", list(GRAMMAR))
def test_every_child_and_attribute_of_the_table_is_known(key: str) -> None:
    rule, path = GRAMMAR[key], path_of(key)
    assert [name for name in rule.attributes if unknown(path, attribute=name)] == []
    if key != "metadata/hooks":
        assert [child for child in rule.children if unknown(path, child=child)] == []


NAMES = sorted({part for key in (*GRAMMAR, *SECTIONS) for part in key.split("/")} | {"tool", "x-y", "unknown"})


@pytest.mark.parametrize("key", list(GRAMMAR))
def test_no_other_attribute_is_known(key: str) -> None:
    rule, path = GRAMMAR[key], path_of(key)
    others = {"name", "version", "type", "tier", "id", "item_type", "item_id", "currency", "x", "default"} - set(
        rule.attributes
    )
    if key in ("metadata/description", "metadata/category", "metadata/author", "permissions/acknowledge", "hook/when"):
        return  # nothing reads what these contain besides their text, or the condition of a hook that does nothing
    assert {name for name in others if not unknown(path, attribute=name)} == set()


@given(st.sampled_from([key for key, rule in GRAMMAR.items() if rule.children]), st.sampled_from(NAMES))
def test_no_other_child_is_known(key: str, child: str) -> None:
    rule = GRAMMAR[key]
    if child in rule.children or child in OPAQUE:
        return
    if key == "directive/outputs":
        return  # the author chooses the names of outputs
    assert unknown(path_of(key), child=child), (key, child)


def test_the_table_has_the_metadata_of_the_reader_and_the_places_of_both_zones() -> None:
    assert GRAMMAR["directive/metadata"].children == METADATA
    assert children_at((), fence=True) == ("directive",)
    assert "process" in children_at((), fence=False)
    assert children_at(("directive", "nowhere"), fence=True) == ()
    assert rule_at((), fence=True) is None
    reached = {
        f"{key.rpartition('/')[2]}/{child}" for key, rule in {**GRAMMAR, **SECTIONS}.items() for child in rule.children
    }
    assert {key for key in (*GRAMMAR, *SECTIONS) if "/" in key} <= reached | {f"{one}/x" for one in reached}
