"""Requirements: the highest versions that fit together, and releases that are not chosen."""

from __future__ import annotations

from collections.abc import Callable

from conformance.cases import case
from conformance.play import Play
from conformance.simulator import items
from conformance.simulator.keys import Key, sha256
from conformance.simulator.registry import Registry

PROJECTS, YANK, TAKEDOWN = "projects.md", "statements.md#ryeyankv1", "statements.md#ryetakedownv1"
A = Key("acme 1")
PDF = "skill:acme/pdf"


def tool(
    registry: Registry,
    name: str,
    version: str = "1.0.0",
    *depends: tuple[str, str],
    conflicts: tuple[tuple[str, str], ...] = (),
) -> None:
    """A directive ``directive:acme/tools/NAME`` that depends on others there."""
    needs, clash = ([(f"acme/tools/{other}", wanted) for other, wanted in some] for some in (depends, conflicts))
    text = items.directive(name, version, depends=needs, conflicts=clash)
    rows = [("depends_on", f"{other} directive:{other} {wanted}") for other, wanted in needs]
    rows += [("conflicts_with", f"{other} directive:{other} {wanted}") for other, wanted in clash]
    registry.release(
        f"directive:acme/tools/{name}",
        version,
        data=items.signed(text, A),
        suffix=".md",
        relations=rows,
        capabilities=["rye.search.tool.*"],
    )


def solved(
    name: str,
    page: str,
    quote: str,
    *refuses: str,
    wanted: dict[str, str],
    publish: Callable[[Registry], object],
    chosen: dict[str, str] | None = None,
) -> None:
    @case(f"solving/{name}", page, quote, *refuses, needs=("solving",))
    def play_solved(play: Play) -> None:
        registry = Registry.fresh()
        for version in ("1.0.0", "1.1.0", "2.0.0-rc.1", "1.0.1"):
            registry.release(version=version)
        publish(registry)
        registry.publish()
        play.start(registry)
        found = play.decisive("resolve", requirements=wanted)
        if chosen is not None:
            play.expect("the choice", found["chosen"], chosen)


def full(**names: str) -> dict[str, str]:
    return {f"directive:acme/tools/{name}": version for name, version in names.items()}


HIGHEST = "Of the versions that fit together the highest are chosen"
solved("the-highest", PROJECTS, HIGHEST, wanted={PDF: "*"}, publish=lambda r: None, chosen={PDF: "1.1.0"})
solved("in-a-range", PROJECTS, HIGHEST, wanted={PDF: "<1.1.0"}, publish=lambda r: None, chosen={PDF: "1.0.1"})
solved("exactly", PROJECTS, HIGHEST, wanted={PDF: "1.0.0"}, publish=lambda r: None, chosen={PDF: "1.0.0"})
solved(
    "a-pre-release-that-is-named",
    PROJECTS,
    HIGHEST,
    wanted={PDF: "2.0.0-rc.1"},
    publish=lambda r: None,
    chosen={PDF: "2.0.0-rc.1"},
)
solved("nothing-in-the-range", PROJECTS, HIGHEST, "unsolvable", wanted={PDF: ">=3.0.0"}, publish=lambda r: None)
solved(
    "not-a-yanked-one", YANK, "rye.yank/v1", wanted={PDF: "*"}, publish=lambda r: r.yank("1.1.0"), chosen={PDF: "1.0.1"}
)
solved(
    "not-one-that-was-taken-down",
    TAKEDOWN,
    "Clients do not install the release",
    wanted={PDF: "*"},
    publish=lambda r: r.take_down([sha256(items.signed(items.skill("pdf", "1.1.0"), A))], "1.1.0"),
    chosen={PDF: "1.0.1"},
)
solved(
    "nothing-that-is-not-yanked",
    YANK,
    "rye.yank/v1",
    "unsolvable",
    wanted={PDF: "1.1.0"},
    publish=lambda r: r.yank("1.1.0"),
)
solved(
    "not-one-of-a-revoked-key",
    "statements.md#ryekeysetv1",
    "position 0 revokes all",
    "unsolvable",
    wanted={PDF: "*"},
    publish=lambda r: r.claim("acme", Key("acme 2"), revoked=[(A, 0)], by=r.by("acme", A, Key("acme 2"))),
)
solved(
    "a-dependency",
    PROJECTS,
    HIGHEST,
    wanted=full(a="*"),
    publish=lambda r: (
        tool(r, "b", "1.0.0"),
        tool(r, "b", "1.2.0"),
        tool(r, "b", "2.0.0"),
        tool(r, "a", "1.0.0", ("b", "^1.0.0")),
    ),
    chosen=full(a="1.0.0", b="1.2.0"),
)
solved(
    "a-dependency-that-two-share",
    PROJECTS,
    HIGHEST,
    wanted=full(a="*", c="*"),
    publish=lambda r: (
        tool(r, "b", "1.0.0"),
        tool(r, "b", "1.2.0"),
        tool(r, "a", "1.0.0", ("b", "^1.0.0")),
        tool(r, "c", "1.0.0", ("b", "<1.2.0")),
    ),
    chosen=full(a="1.0.0", b="1.0.0", c="1.0.0"),
)
solved(
    "an-older-version-whose-dependency-exists",
    PROJECTS,
    HIGHEST,
    wanted=full(a="*"),
    publish=lambda r: (
        tool(r, "b", "1.0.0"),
        tool(r, "a", "1.0.0", ("b", "^1.0.0")),
        tool(r, "a", "2.0.0", ("b", "^2.0.0")),
    ),
    chosen=full(a="1.0.0", b="1.0.0"),
)
solved(
    "no-version-that-fits-both",
    PROJECTS,
    HIGHEST,
    "unsolvable",
    wanted=full(a="*", c="*"),
    publish=lambda r: (
        tool(r, "b", "1.0.0"),
        tool(r, "b", "2.0.0"),
        tool(r, "a", "1.0.0", ("b", "^1.0.0")),
        tool(r, "c", "1.0.0", ("b", "^2.0.0")),
    ),
)
solved(
    "a-conflict",
    PROJECTS,
    HIGHEST,
    "unsolvable",
    wanted=full(a="*", b="*"),
    publish=lambda r: (tool(r, "b", "1.0.0"), tool(r, "a", "1.0.0", conflicts=(("b", "*"),))),
)
solved(
    "a-conflict-with-another-version",
    PROJECTS,
    HIGHEST,
    wanted=full(a="*", b="*"),
    publish=lambda r: (
        tool(r, "b", "1.0.0"),
        tool(r, "b", "2.0.0"),
        tool(r, "a", "1.0.0", conflicts=(("b", ">=2.0.0"),)),
    ),
    chosen=full(a="1.0.0", b="1.0.0"),
)
