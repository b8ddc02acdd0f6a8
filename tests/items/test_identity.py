"""Names, ids and references (DESIGN §1, §5 Names)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.errors import UsageError
from rye.items.identity import Identity, fold, is_id, is_segment, lookup_key, parse_reference


@pytest.mark.parametrize("text", ["a", "0", "file-system", "deploy_and_test", "a" * 64, "com10", "console"])
def test_a_segment(text: str) -> None:
    assert is_segment(text)


@pytest.mark.parametrize(
    "text",
    ["", "A", "-a", "_a", "a.b", "a b", "a/b", "..", ".", "a" * 65, "con", "nul", "com1", "lpt9", "ä", "a\n", "a\0"],
)
def test_not_a_segment(text: str) -> None:
    assert not is_segment(text)


@pytest.mark.parametrize("text", ["/a", "a/", "a//b", "a/../b", "a/CON", "a/con", "/".join(["a"] * 17)])
def test_not_an_id(text: str) -> None:
    assert not is_id(text)


def test_names_that_look_alike_fold_to_one() -> None:
    assert fold("file-system") == fold("fi1e_system") == fold("fllesystem")
    assert fold("foo") == fold("f0o") == fold("f-o.o")
    assert fold("acme") != fold("acne")


def test_hyphen_and_underscore_are_one_letter_in_look_ups_only() -> None:
    assert lookup_key("build-images") == lookup_key("build_images")
    assert Identity("directive", "a/build-images") != Identity("directive", "a/build_images")


def test_a_reference_with_everything() -> None:
    reference = parse_reference("tool:acme/file-system/read@^1.2")
    assert (reference.kind, reference.id, reference.range) == ("tool", "acme/file-system/read", "^1.2")
    assert str(reference) == "tool:acme/file-system/read@^1.2"


def test_a_reference_with_only_an_id() -> None:
    reference = parse_reference("acme/deploy")
    assert (reference.kind, reference.range) == (None, None)


@pytest.mark.parametrize(
    "text", ["", "tool:", "@1", "tool:acme/x@", "prompt:acme/x", "a/../b", "acme/X", "tool:tool:a/b", ":a/b"]
)
def test_what_is_no_reference_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_reference(text)
    assert caught.value.exit_code == 2
    assert caught.value.hint


def test_an_identity_knows_its_parts() -> None:
    identity = Identity("directive", "acme/workflows/deploy")
    assert (identity.namespace, identity.local_id, str(identity)) == (
        "acme",
        "workflows/deploy",
        "directive:acme/workflows/deploy",
    )


@given(st.lists(st.sampled_from(["a", "con", "con-1", "a" * 64, "a" * 65, "", "\n", "-", "b_2", "é"]), max_size=18))
def test_an_id_is_at_most_sixteen_segments_joined_by_slashes(parts: list[str]) -> None:
    text = "/".join(parts)
    assert is_id(text) == (len(parts) <= 16 and all(map(is_segment, text.split("/"))))
    assert not is_id(f"{text}/")
    assert not is_id(f"{text}\n")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("@acme/work/top", "acme/work/top"),
        ("acme/work/top==1.2.0", "acme/work/top@1.2.0"),
        ("skill:acme/pdf==1.2.0", "skill:acme/pdf@1.2.0"),
    ],
)
def test_forms_of_other_package_managers_are_answered_with_ours(typed: str, meant: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_reference(typed)
    assert caught.value.hint == f"Write {meant}"
    assert parse_reference(meant)
