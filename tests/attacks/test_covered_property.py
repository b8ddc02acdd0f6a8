"""Random customizations of random items, agreed to or not: what is handed out is made of covered bytes, and all commands agree.

The model knows, for each file, the bytes that were agreed to for its item. It follows every step: writing, changing, removing and
moving customizations in the project and in the user's own space, changing and signing items, and agreeing. A text
that ``render``, the server, the library or ``deploy`` hands out may contain a mark only if the file with that mark is covered.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rye import api
from rye.deployment.deploying import deploy
from rye.deployment.request import DeployRequest
from rye.errors import RyeError
from rye.project.context import load_manifest
from rye.project.lock_file import read_lock
from rye.runtime.project_items import ProjectItems
from rye.workspace.authoring.signature_check import verify_items
from rye.workspace.customizing.layouts import customization_places
from rye.workspace.customizing.priming import PrimeRequest, prime
from rye.workspace.installing.auditing import audit
from rye.workspace.installing.item_listing import item_rows
from rye.workspace.items.rendering import RenderRequest, render
from rye.workspace.trusting.project_changes import project_changes
from tests.cli.test_overlay import FORMULA, entry
from tests.consent.scene import RIGHT, Clone, World
from tests.scenes.directive_text import directive
from tests.scenes.effort import rest_thorough, tries

_MARK = re.compile(r"mark-[0-9]+")
REFUSED = frozenset({"project-not-accepted", "modified-item"})
DEPLOYS = '\n[deploy]\ntargets = ["claude"]\nafter-install = false\n'


def _override(name: str, mark: str) -> str:
    return (
        f'---\nagent: "{name}"\nbase-version: "1.0.0"\nlast-reviewed: "2026-11-02"\n---\n\n'
        f"<!-- DIRECTIVE: append\ntarget: # {name}\nreason: ours\n-->\n{mark}\n<!-- END DIRECTIVE -->\n"
    )


def _directive_override(name: str) -> Callable[[str], str]:
    return lambda mark: _override(name, mark)


PLACES: dict[str, tuple[str, Callable[[str], str]]] = {
    "directive:shop/work/ship": ("overrides/work/ship.overrides.md", _directive_override("ship")),
    "directive:shop/work/plan": ("overrides/work/plan.overrides.md", _directive_override("plan")),
    str(RIGHT): ("overrides/acme/ops/right.overrides.md", _directive_override("right")),
    "formula:shop/flow": ("formula-overlays/flow.toml", lambda mark: entry("b", "append", mark)),
    "role:shop/clerk": ("role-directives/clerk.md", lambda mark: f"{mark}\n"),
}
"""Each item, and the file and text of its customization."""
FILES = {
    "directive:shop/work/ship": ".ai/directives/work/ship.md",
    "directive:shop/work/plan": ".ai/directives/work/plan.md",
    "formula:shop/flow": ".ai/formulas/flow.formula.toml",
    "role:shop/clerk": ".ai/roles/clerk.md",
    str(RIGHT): ".ai/packages/acme/directives/ops/right.md",
}


class Model:
    """A project, and what of it is covered."""

    def __init__(self, clone: Clone, chance: random.Random) -> None:
        self.clone, self.chance = clone, chance
        self.agreed: dict[tuple[str, str], set[bytes]] = {}
        """The bytes that were agreed to, by item and file."""
        self.agreed_gone: set[str] = set()
        """Items whose file was agreed to, and then its being gone."""
        self.tampered: set[str] = set()
        """Own items whose text was changed and not signed again."""
        self.count = 0
        self.items = chance.sample(list(PLACES), 2)
        """Those that are customized: the same ones again and again, since an agreement is to be outlived."""

    def place(self, item: str, user: bool) -> Path:
        base = self.clone.home / "ai" if user else self.clone.folder / ".ai"
        return base / PLACES[item][0]

    def mark(self) -> str:
        self.count += 1
        return f"mark-{self.count}"

    # -- steps ---------------------------------------------------------------------------------------------------------

    def write(self, item: str) -> None:
        path = self.place(item, user=self.chance.random() < 0.3)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(PLACES[item][1](self.mark()))

    def append(self, item: str) -> None:
        """A change of bytes that changes no text."""
        path = self.place(item, user=False)
        if path.exists():
            path.write_text(path.read_text() + ("\n# x\n" if path.suffix == ".toml" else "\n"))

    def remove(self, item: str) -> None:
        self.place(item, user=self.chance.random() < 0.5).unlink(missing_ok=True)

    def restore(self, item: str) -> None:
        """Put bytes back that were agreed to before."""
        known = self.agreed.get((item, PLACES[item][0]))
        if known:
            path = self.place(item, user=False)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(self.chance.choice(sorted(known)))

    def move(self, item: str) -> None:
        """Bytes that were agreed to for one directive, under the name of another."""
        other = "directive:shop/work/plan" if item != "directive:shop/work/plan" else "directive:shop/work/ship"
        source, to = self.place(item, user=False), self.place(other, user=False)
        if item.startswith("directive:shop") and source.exists():
            to.parent.mkdir(parents=True, exist_ok=True)
            name, other_name = item.rpartition("/")[2], other.rpartition("/")[2]
            to.write_text(source.read_text().replace(name, other_name))
            source.unlink()

    def tamper(self, item: str) -> None:
        if item != str(RIGHT):
            path = self.clone.path(FILES[item])
            path.write_text(
                path.read_text().rstrip("\n")
                + (f"\n# {self.mark()}\n" if path.suffix == ".toml" else f"\n\n{self.mark()}\n")
            )
            self.tampered.add(item)

    def sign(self, item: str) -> None:
        if item in self.tampered:
            self.clone.ok("sign", FILES[item])
            self.tampered.discard(item)

    def agree(self, _: str) -> None:
        self.clone.accepts()
        for item, (file, _text) in PLACES.items():
            path = self.place(item, user=False)
            if path.exists():
                self.agreed.setdefault((item, file), set()).add(path.read_bytes())
            elif (item, file) in self.agreed:
                self.agreed_gone.add(item)

    def step(self) -> str:
        steps = (
            self.write,
            self.write,
            self.append,
            self.remove,
            self.restore,
            self.move,
            self.tamper,
            self.sign,
            self.agree,
            self.agree,
        )
        chosen, item = self.chance.choice(steps), self.chance.choice(self.items)
        chosen(item)
        return f"{chosen.__name__} {item}"

    # -- what the model says -------------------------------------------------------------------------------------------

    def is_covered(self, item: str) -> bool:
        """Whether every project file that changes the item, or did when it was agreed to, is as it was agreed to for it."""
        path, known = self.place(item, user=False), self.agreed.get((item, PLACES[item][0]), set())
        return path.read_bytes() in known if path.exists() else not known or item in self.agreed_gone

    def covered_marks(self, item: str) -> set[str]:
        """The marks in the covered files that an item's text is made of."""
        texts = [self.clone.path(FILES[item]).read_text()]
        if self.place(item, user=True).exists():
            texts.append(self.place(item, user=True).read_text())
        if self.is_covered(item) and self.place(item, user=False).exists():
            texts.append(self.place(item, user=False).read_text())
        return set(_MARK.findall("\n".join(texts)))


# -- what the program says -----------------------------------------------------------------------------------------------


def handed_out(clone: Clone, item: str) -> Iterator[tuple[str, str | None]]:
    """What each command that hands out a text does: its name, and the text; None if it refuses."""
    kind, _, name = item.partition(":")
    uses: dict[str, Callable[[], str]] = {
        "mcp": lambda: ProjectItems(clone.library, clone.project).read(kind, name, runs=kind == "directive").text,
        "library": lambda: str(api.effective_item(clone.project, item, home=clone.folders).item.text),
    }
    if kind == "role":
        places = customization_places(clone.library, "rye", None, None)
        uses["prime"] = lambda: prime(clone.library, PrimeRequest(role="clerk", places=places)).prompt
    else:
        texts = {"issue": "1"} if kind == "formula" else {}
        uses["render"] = lambda: render(clone.library, RenderRequest(item, texts=texts)).prompt
    for use, call in uses.items():
        try:
            yield use, call()
        except RyeError as error:
            if error.code not in REFUSED:
                raise
            yield use, None


def judged(clone: Clone, item: str) -> dict[str, bool]:
    """Whether each command that judges finds the item's customizations agreed to."""
    kind, _, name = item.partition(":")
    rows = item_rows(clone.folders, clone.folder)
    state = next(row.state for row in rows if (row.kind, row.id) == (kind, name))
    [verified] = verify_items(clone.library, [FILES[item]])
    findings = audit(clone.library, clone.project).findings
    locked = read_lock(clone.project).items
    asked = project_changes(clone.folders, clone.project, load_manifest(clone.project), locked)
    return {
        "trust project and ci": not any((one.sort, one.item) == ("customization", item) for one in asked),
        "list": state != "not-agreed",
        "verify": not verified.not_agreed,
        "audit": not any(one.rule == "unapproved-change" and one.about == item for one in findings),
    }


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("covered"))


@pytest.fixture(scope="module")
def shop(world: World) -> Clone:
    """Someone who installed a directive, and has signed items of each kind of their own."""
    clone = world.installed("right", "1.1.0")
    clone.write("rye.toml", clone.path("rye.toml").read_text() + DEPLOYS)
    clone.ok("keys", "generate")
    for name in ("ship", "plan"):
        clone.sign(f"directives/work/{name}.md", directive(f"work/{name}"))
    clone.sign("formulas/flow.formula.toml", FORMULA.replace("version = 1\n", ""))
    clone.ok("sign", str(clone.new("role", "clerk").relative_to(clone.folder)))
    clone.accepts()
    return clone


@pytest.mark.parametrize("seed", rest_thorough(1, range(tries(4, 100))))
def test_what_is_handed_out_is_made_of_covered_bytes_and_all_commands_agree(
    world: World, shop: Clone, seed: int
) -> None:
    model = Model(world.copy(shop), random.Random(seed))
    story: list[str] = []
    for item in model.items:  # most of what can go wrong needs an agreement that something outlives
        model.write(item)
        model.agree(item)
    for _ in range(tries(4, 12)):
        story += [model.step() for _ in range(model.chance.randint(1, 4))]
        for item in model.items:
            covered, marks = model.is_covered(item), model.covered_marks(item)
            assert set(judged(model.clone, item).values()) == {covered}, (item, story, judged(model.clone, item))
            for use, text in handed_out(model.clone, item):
                if text is None:
                    assert not covered or item in model.tampered, (use, item, story)
                else:
                    assert covered, (use, item, story)
                    assert set(_MARK.findall(text)) <= marks, (use, item, story)
        _deployed(model, story)


def test_agreed_bytes_are_handed_out(world: World, shop: Clone) -> None:
    """The control: what the property forbids before the yes is there after it."""
    model = Model(world.copy(shop), random.Random(0))
    for item in PLACES:
        path = model.place(item, user=False)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(PLACES[item][1](model.mark()))
        assert {text for _, text in handed_out(model.clone, item)} == {None}
    model.agree("")
    for item in PLACES:
        marks = model.covered_marks(item)
        texts = [text or "" for _, text in handed_out(model.clone, item)]
        assert marks, item
        assert any(marks <= set(_MARK.findall(text)) for text in texts), item
    _deployed(model, [])


def _deployed(model: Model, story: list[str]) -> None:
    """What a deploy writes: of the installed item, and of own items that are signed and whose changes are agreed to."""
    written = model.clone.path(".claude")

    def right() -> dict[Path, bytes]:
        return {
            path: path.read_bytes() for path in written.rglob("*.md") if "right" in path.relative_to(written).as_posix()
        }

    before = right()
    try:
        done = deploy(model.clone.library, model.clone.project, DeployRequest())
    except RyeError as error:
        if error.code != "project-not-accepted" or model.is_covered(str(RIGHT)):
            raise
        return
    if not model.is_covered(str(RIGHT)):  # left out, and what was deployed of it stays as it is
        assert str(RIGHT) in {row.item for row in done.refused}, story
        assert right() == before, story
    if not done.refused and written.is_dir():
        text = "\n".join(path.read_text() for path in written.rglob("*.md"))
        covered = [item for item in FILES if model.is_covered(item) and item not in model.tampered]
        assert set(_MARK.findall(text)) <= {mark for item in covered for mark in model.covered_marks(item)}, story
