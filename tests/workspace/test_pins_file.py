"""The file of ``RYE_PINS``: read as a whole or not at all, and never from the project (DESIGN 6.1)."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rye.errors import RyeError
from rye.registry.store.pins import read_pinned, state_path
from rye.registry.store.state import StateStore
from rye.registry.trust.trust_error import TrustError
from rye.storage.home import Home
from rye.workspace.registries.project_registries import MOST_BYTES, GivenPin, given_pins

ONE, TWO = "a1" * 32, "b2" * 32
LINE = f"registry.example {ONE} https://registry.example"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A build server: a checkout, and a folder beside it."""
    (tmp_path / "checkout" / "src").mkdir(parents=True)
    (tmp_path / "checkout" / "rye.toml").write_text("")
    (tmp_path / "server").mkdir()
    return tmp_path


def own(home: Path) -> Home:
    """What the machine has itself."""
    return Home(home / "config", home / "data", home / "cache")


def read(home: Path, text: str | bytes, *, place: str = "../server/pins") -> dict[str, GivenPin]:
    file = home / "checkout" / place
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return named(home, place)


def named(home: Path, place: str | None, cwd: str = "checkout") -> dict[str, GivenPin]:
    environment = {} if place is None else {"RYE_PINS": place}
    context: Any = SimpleNamespace(environment=environment, cwd=home / cwd, home=own(home))
    return dict(given_pins(context))


def refused(home: Path, text: str | bytes) -> str:
    with pytest.raises(RyeError) as raised:
        read(home, text)
    assert raised.value.code == "bad-pins"
    assert raised.value.hint == "Write one registry per line: ORIGIN FINGERPRINT URL."
    assert raised.value.message.startswith("RYE_PINS: ")
    return raised.value.message.removeprefix("RYE_PINS: ")


def test_without_the_variable_nothing_is_pinned(home: Path) -> None:
    assert named(home, None) == named(home, "") == {}


def test_each_line_pins_one_address(home: Path) -> None:
    pins = {
        "https://registry.example": GivenPin("registry.example", ONE),
        "https://other.example": GivenPin("other.example/x", TWO),
    }
    text = f"{LINE}\nother.example/x {TWO} https://other.example/\n"
    for form in (text, text.removesuffix("\n"), text.replace("\n", "\r\n")):
        assert {address.rstrip("/"): pin for address, pin in read(home, form).items()} == pins
    assert read(home, "") == {}


@pytest.mark.parametrize(
    "line",
    [
        "", " ", "# a comment", LINE + " ", " " + LINE, LINE.replace(" ", "  ", 1), LINE.replace(" ", "\t", 1), LINE + " more",
        LINE.replace(ONE, ONE[1:]), LINE.replace(ONE, ONE + "a"), LINE.replace(ONE, ONE.upper()), LINE.replace(ONE, "g" * 64),
        f"registry.example {ONE}", f"{'a' * 256} {ONE} https://h", LINE + "\x00", LINE + "\rx", f"registry.example {ONE} ",
    ],
)  # fmt: skip
def test_a_line_in_another_form_is_an_error_wherever_it_stands(home: Path, line: str) -> None:
    good = f"other.example {TWO} https://other.example\n"
    assert refused(home, f"{good}{line}\n") == "line 2 of '../server/pins' is malformed."
    assert refused(home, f"{line}\n{good}") == "line 1 of '../server/pins' is malformed."


def test_an_address_is_pinned_once(home: Path) -> None:
    text = f"{LINE}\nother {TWO} https://registry.example\n"
    assert refused(home, text) == "line 2 of '../server/pins' names https://registry.example again."


def test_an_address_that_is_none_is_an_error(home: Path) -> None:
    assert refused(home, f"a {ONE} ftp://h/\n") == "line 1 of '../server/pins': 'ftp://h/' is not a registry address."


def test_a_file_that_is_not_there_not_text_or_too_large_is_an_error(home: Path) -> None:
    assert refused(home, LINE.encode() + b"\xff\n") == refused(home, "é") == "'../server/pins' is not ASCII text."
    for place, why in (("../server/none", "No such file or directory"), ("../server", "Is a directory")):
        with pytest.raises(RyeError) as raised:
            named(home, place)
        assert raised.value.code == "bad-pins"
        assert raised.value.message == f"RYE_PINS: {place!r} cannot be read: {why}."
    assert refused(home, "a" * (MOST_BYTES + 1)) == "'../server/pins' is larger than 65,536 bytes."
    assert refused(home, "a" * MOST_BYTES) == "line 1 of '../server/pins' is malformed."


def test_a_disk_that_fails_is_an_error_in_its_own_words(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr(Path, "open", fail)
    with pytest.raises(RyeError, match=r"'x' cannot be read: the disk is gone\."):
        named(home, "x", "server")


@pytest.mark.parametrize("place", ["pins", "src/pins", "../checkout/pins", "../server/../checkout/pins"])
def test_a_file_in_the_project_pins_nothing(home: Path, place: str) -> None:
    """Anyone who can commit could write it."""
    for cwd in ("checkout", "checkout/src"):
        text = str(home / "checkout" / place) if cwd != "checkout" else place
        (home / "checkout" / place).write_text(LINE)
        with pytest.raises(RyeError) as raised:
            named(home, text, cwd)
        assert raised.value.code == "bad-pins"
        assert (
            raised.value.message
            == f"RYE_PINS: {text!r} is inside the project, so anyone who can commit could write it."
        )


def test_a_link_into_the_project_pins_nothing_and_outside_of_a_project_any_file_does(home: Path) -> None:
    (home / "checkout" / "pins").write_text(LINE)
    (home / "server" / "link").symlink_to(home / "checkout" / "pins")
    with pytest.raises(RyeError, match="is inside the project"):
        named(home, "../server/link")
    assert len(named(home, "link", "server")) == 1


def test_a_link_out_of_the_project_pins_nothing(home: Path) -> None:
    """Who can commit chooses where it leads."""
    (home / "server" / "pins").write_text(LINE)
    (home / "checkout" / "file").symlink_to(home / "server" / "pins")
    (home / "checkout" / "folder").symlink_to(home / "server")
    (home / "server" / "back").symlink_to(home / "checkout")
    for place in ("file", "folder/pins", "../server/back/file", "../server/back/../checkout/folder/pins"):
        with pytest.raises(RyeError, match="is inside the project"):
            named(home, str(home / "checkout" / place))
    assert len(named(home, "../server/pins")) == 1


def pinned_here(home: Path, address: str, origin: str) -> str:
    """Pin a registry on this machine. Returns its fingerprint."""
    state = state_path(own(home).registries, origin)
    state.parent.mkdir(parents=True, exist_ok=True)
    state.write_text(json.dumps({"origin": origin, "roots": [f"a root of {origin}\n\nits signatures\n"]}))
    StateStore(own(home).registries).remember_address(address, origin)
    pinned = read_pinned(own(home).registries, origin)
    assert pinned is not None
    return pinned.fingerprint


@pytest.mark.parametrize("address", ["https://registry.example", "https://mirror.example"])
def test_a_line_that_contradicts_a_pin_of_this_machine_is_an_error_wherever_it_is_pinned(
    home: Path, address: str
) -> None:
    right = pinned_here(home, address, "registry.example")
    assert read(home, f"registry.example {right} https://registry.example\n")
    with pytest.raises(TrustError) as raised:
        read(home, f"{LINE}\n")
    assert raised.value.code == "root-fingerprint"
    assert raised.value.details == {"pinned": ONE, "found": right}


def test_a_line_that_names_another_origin_than_the_one_pinned_at_its_address_is_an_error(home: Path) -> None:
    pinned_here(home, "https://registry.example", "other.example")
    with pytest.raises(TrustError) as raised:
        read(home, f"{LINE}\n")
    assert raised.value.code == "root-origin"


def test_a_registry_that_is_pinned_no_longer_contradicts_nothing(home: Path) -> None:
    pinned_here(home, "https://registry.example", "registry.example")
    StateStore(own(home).registries).forget_address("https://registry.example")
    assert read(home, f"{LINE}\n")


def test_a_registry_must_have_the_origin_and_the_fingerprint_of_its_pin() -> None:
    pin = GivenPin("registry.example", ONE)
    pin.require("https://h", "registry.example", ONE)
    with pytest.raises(TrustError) as raised:
        pin.require("https://h", "evil.example", ONE)
    assert raised.value.code == "root-origin"
    assert raised.value.message == "https://h is the registry evil.example, but RYE_PINS names registry.example."
    with pytest.raises(TrustError) as raised:
        pin.require("https://h", "registry.example", TWO)
    assert raised.value.code == "root-fingerprint"
    said = f"registry.example at https://h has the fingerprint {TWO}, but RYE_PINS names {ONE}."
    assert raised.value.message == said
    assert raised.value.details == {"pinned": ONE, "found": TWO}
