"""``[overrides]`` of rye.toml: how it is read, which items it applies to, and what rye.lock records about it."""

from __future__ import annotations

import tomllib

import pytest
from msgspec.structs import replace

from rye.items.identity import Identity
from rye.project.forced_versions import ForcedVersion, forced_range, unused
from rye.project.lock import Lock, lock_text, parse_lock
from rye.project.lock_canonical import read_canonical
from rye.project.lock_file import is_stale
from rye.project.manifest import Manifest, parse_manifest
from rye.text.tables import ManifestError
from tests.project.test_lock import ITEM

PLAIN = replace(ITEM, hooks=())
THIS = PLAIN.identity


def overrides(text: str) -> tuple[ForcedVersion, ...]:
    return parse_manifest(f"[overrides]\n{text}\n").overrides


def forcing(wanted: str) -> Manifest:
    return parse_manifest(f'[overrides]\n"{THIS.id}" = "{wanted}"\n')


class TestReading:
    def test_versions_and_ranges_are_kept_as_written_and_sorted(self) -> None:
        assert overrides('"tool:acme/z/b" = "1.2.3"\n"acme/a/b" = " >=1 <2 "') == (
            ForcedVersion("acme/a/b", None, ">=1 <2"),
            ForcedVersion("acme/z/b", "tool", "1.2.3"),
        )

    @pytest.mark.parametrize(
        "line",
        [
            '"acme" = "1.0.0"',
            '"nokind:acme/a/b" = "1.0.0"',
            '"acme/../b" = "1.0.0"',
            '"acme/a/b" = ""',
            '"acme/a/b" = " "',
            '"acme/a/b" = 1',
            '"acme/a/b" = { version = "1.0.0" }',
            'acme.a = "1.0.0"',
        ],
    )
    def test_what_is_no_override_is_refused(self, line: str) -> None:
        with pytest.raises(ManifestError, match=r"\[overrides\]"):
            overrides(line)

    def test_an_id_with_a_kind_and_without_one_contradicts_itself(self) -> None:
        with pytest.raises(ManifestError, match="with a kind and without one"):
            overrides('"acme/a/b" = "1.0.0"\n"tool:acme/a/b" = "2.0.0"')

    def test_two_kinds_of_one_id_may_differ(self) -> None:
        found = overrides('"directive:acme/a/b" = "1.0.0"\n"tool:acme/a/b" = "2.0.0"')
        assert forced_range(found, Identity("tool", "acme/a/b")) == "2.0.0"
        assert forced_range(found, Identity("directive", "acme/a/b")) == "1.0.0"
        assert forced_range(found, Identity("skill", "acme/a/b")) is None


class TestMeaning:
    def test_without_a_kind_it_is_about_every_kind_of_that_id(self) -> None:
        found = overrides('"acme/a/b" = "1.0.0"')
        assert forced_range(found, Identity("tool", "acme/a/b")) == "1.0.0"
        assert forced_range(found, Identity("tool", "acme/a/bc")) is None

    def test_one_that_is_about_nothing_is_told(self) -> None:
        found = overrides('"acme/a/b" = "1.0.0"\n"acme/a/c" = "1.0.0"')
        assert [one.key for one in unused(found, [Identity("tool", "acme/a/b")])] == ["acme/a/c"]


class TestTheLock:
    def test_a_row_says_what_it_was_forced_to(self) -> None:
        lock = Lock({}, (replace(PLAIN, forced=">=1 <2"),))
        assert 'forced = ">=1 <2"\n' in lock_text(lock)
        assert parse_lock(lock_text(lock)) == lock

    def test_it_is_read_fast_and_as_toml_reads_it(self) -> None:
        text = lock_text(Lock({"a/b": "*"}, (replace(PLAIN, forced="1.2.3"), replace(PLAIN, id="acme/other/item"))))
        assert read_canonical(text) == tomllib.loads(text)

    def test_a_lock_without_forced_versions_is_the_text_that_it_was(self) -> None:
        assert "forced" not in lock_text(Lock({}, (PLAIN,)))

    @pytest.mark.parametrize(
        ("wanted", "locked", "stale"),
        [("1.0.0", "1.0.0", False), ("1.0.0", None, True), ("1.0.0", "=1.0.0", True)],
    )
    def test_it_is_stale_where_another_range_is_forced(self, wanted: str, locked: str | None, stale: bool) -> None:
        assert is_stale(Lock({}, (replace(PLAIN, forced=locked),)), forcing(wanted)) is stale

    def test_it_is_stale_where_an_override_is_gone(self) -> None:
        assert is_stale(Lock({}, (replace(PLAIN, forced="1.0.0"),)), Manifest())

    def test_an_override_of_nothing_that_is_locked_makes_nothing_stale(self) -> None:
        assert not is_stale(Lock({}, (PLAIN,)), parse_manifest('[overrides]\n"acme/no/where" = "1.0.0"\n'))
