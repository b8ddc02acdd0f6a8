"""Which files a program adds to its first request because a text names them: those that its user names, and none that an
author does (design: agents 2)."""

from __future__ import annotations

import json

import pytest

from tests.clients import test_claude, test_codex, test_copilot, test_gemini, test_opencode
from tests.clients.conftest import TakeSeat
from tests.clients.model import Provider
from tests.clients.program import Seat
from tests.scenes.installed import install
from tests.scenes.item_texts import knowledge, skill
from tests.scenes.person import Person
from tests.scenes.program_readers import FORMS, IMPORTS

pytestmark = [pytest.mark.clients, pytest.mark.processes]
INSTRUCTIONS = {"claude": "CLAUDE.md", "copilot": "AGENTS.md", "gemini": "GEMINI.md"}
"""Where each program reads instructions; the others: ``AGENTS.md``."""
PROBE = "These are the rules of this project."


def first_request(name: str, take_seat: TakeSeat, provider: Provider, skill: str | None = None) -> str:
    """Everything that the program sends to its model when its user says hello, or starts a skill."""
    provider.script = {"no such instructions": []}
    seat: Seat
    match name:
        case "claude":
            seat = take_seat(name, test_claude.environment(provider))
            test_claude.trust(seat, seat.folder)
            seat.run("-p", "hello" if skill is None else f"/{skill}", ok=False)
        case "codex":
            seat = take_seat(name)
            test_codex.trust(seat, seat.folder)
            return test_codex.told(seat)
        case "copilot":
            seat = take_seat(name, test_copilot.environment(provider))
            seat.run("-p", "hello", "--trust-folder", "--allow-all-tools", ok=False)
        case "gemini":
            seat = take_seat(name, test_gemini.environment(provider))
            test_gemini.configure(seat)
            seat.run("-p", "hello", "--yolo", "-m", "gemini-2.5-flash", ok=False)
        case _:
            seat = take_seat(name)
            test_opencode.configure(seat, provider)
            seat.run("run", "hello", "--model", "local/m", *(("--command", skill) if skill else ()), ok=False)
    return json.dumps(provider.asked)


def canaries(shop: Person) -> dict[str, str]:
    """A file for each form of naming a file, and the form with that name."""
    texts = {}
    for number, (name, form) in enumerate(FORMS.items()):
        shop.write(f"canary{number}.md", f"The content of canary {number} itself.\n")
        texts[name] = form.format(file=f"canary{number}.md")
    return texts


def added(said: str) -> set[str]:
    return {name for number, name in enumerate(FORMS) if f"The content of canary {number} itself." in said}


@pytest.mark.parametrize("program", IMPORTS)
def test_a_program_adds_the_files_that_its_user_names(
    shop: Person, take_seat: TakeSeat, provider: Provider, program: str
) -> None:
    """The control, and the measure of the readers in tests/deployment."""
    texts = "\n\n".join(canaries(shop).values())
    shop.write(INSTRUCTIONS.get(program, "AGENTS.md"), f"{PROBE}\n\n{texts}\n")
    said = first_request(program, take_seat, provider)
    assert PROBE in said
    assert added(said) == IMPORTS[program]


@pytest.mark.parametrize("program", ["claude", "opencode"])
def test_a_skill_adds_the_files_that_it_names(
    shop: Person, take_seat: TakeSeat, provider: Provider, program: str
) -> None:
    """Without a question, and also from outside of the project: so ``rye deploy`` asks about them."""
    outside = shop.folder.parent / "outside.txt"
    outside.write_text("The content of a file elsewhere.\n")
    body = f"{PROBE} See `x @{outside}`. (@scope/name, @app.function())"
    install(shop, "skill", "acme/probe", skill("probe", body=body))
    refused = shop.run("deploy", "--target", program, "--json").json["refused"]
    assert [row["field"] for row in refused if row["item"] == "skill:acme/probe"] == ["named files"]
    shop.run("deploy", "--target", program, "--allow-widening", "skill:acme/probe")
    said = first_request(program, take_seat, provider, skill="probe")
    assert PROBE in said
    assert "The content of a file elsewhere." in said


@pytest.mark.parametrize("program", IMPORTS)
def test_a_program_adds_no_file_that_an_author_names(
    shop: Person, take_seat: TakeSeat, provider: Provider, program: str
) -> None:
    own = shop.write("own.md", "The content of the file that I named.\n")
    for file in ("AGENTS.md", "CLAUDE.md", "GEMINI.md"):
        shop.write(file, f"@{own.name}\n\n{PROBE}\n\n")
    for number, text in enumerate(canaries(shop).values()):
        written = json.dumps(text)
        install(shop, "knowledge", f"acme/n/k{number}", knowledge(f"k{number}", written[1:-1], written))
    shop.run("deploy", "--target", program)
    said = first_request(program, take_seat, provider)
    assert PROBE in said
    assert f".agents/knowledge/acme/n/k{len(FORMS) - 1}.md" in said
    assert added(said) == set()
    assert ("The content of the file that I named." in said) == (program in INSTRUCTIONS)
