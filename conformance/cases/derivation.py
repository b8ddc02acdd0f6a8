"""What releases say about their items is derived from the bytes: versions, relations, capabilities, hooks."""

from __future__ import annotations

from collections.abc import Callable

from conformance.cases.items import CLIENT, DERIVED, DIRECTIVE, PLAIN, RELEASE, A, fetched
from conformance.simulator import items
from conformance.simulator.registry import Registry

DERIVE = ("derivation",)
TOOLS = ("rye.file-system.write", "shell.run")


def directive(
    name: str,
    quote: str,
    *refuses: str,
    page: str = RELEASE,
    text: str = "",
    note: Callable[[str], str] = lambda t: t,
    identity: str = DIRECTIVE,
    **lines: object,
) -> None:
    """A release of a directive with rights, a hook and relations; by default its note says what the bytes say."""

    def publish(registry: Registry) -> None:
        for other in ("directive:acme/tools/test", "directive:acme/old"):
            short = other.rpartition("/")[2]
            registry.release(
                other, data=items.signed(items.directive(short), A), suffix=".md", capabilities=["rye.search.tool.*"]
            )
        body = text or items.directive("build", depends=[("acme/tools/test", "^1.0.0")], conflicts=[("acme/old", "*")])
        members: dict[str, object] = {
            "relations": [
                ("depends_on", "acme/tools/test directive:acme/tools/test ^1.0.0"),
                ("conflicts_with", "acme/old directive:acme/old *"),
            ],
            "capabilities": ["rye.search.tool.*"],
            **lines,
        }
        registry.release(identity, data=items.signed(body, A), suffix=".md", edit=note, **members)  # type: ignore[arg-type]

    fetched(f"derived-{name}", page, quote, *refuses, item=identity, needs=DERIVE, publish=publish)


DEPENDS, CONFLICTS = "acme/tools/test directive:acme/tools/test ^1.0.0", "acme/old directive:acme/old *"
directive("as-the-bytes-say", DERIVED)
directive("without-a-dependency", DERIVED, "mismatch", relations=[("conflicts_with", CONFLICTS)])
directive("without-a-conflict", DERIVED, "mismatch", relations=[("depends_on", DEPENDS)])
directive(
    "with-a-dependency-more",
    DERIVED,
    "mismatch",
    relations=[("depends_on", DEPENDS), ("depends_on", "acme/x tool:acme/x *"), ("conflicts_with", CONFLICTS)],
)
directive(
    "with-another-range",
    DERIVED,
    "mismatch",
    relations=[("depends_on", DEPENDS.replace("^1.0.0", "^2.0.0")), ("conflicts_with", CONFLICTS)],
)
directive(
    "with-another-identity",
    "the identity is what the publisher resolved it to",
    "mismatch",
    relations=[("depends_on", "acme/tools/test directive:evil/tools/test ^1.0.0"), ("conflicts_with", CONFLICTS)],
)
directive(
    "with-another-kind-of-the-same-name",
    "The reference is as written in the item",
    relations=[("depends_on", "acme/tools/test tool:acme/tools/test ^1.0.0"), ("conflicts_with", CONFLICTS)],
)
directive(
    "with-a-requirement-instead-of-a-dependency",
    DERIVED,
    "mismatch",
    relations=[("requires", DEPENDS), ("conflicts_with", CONFLICTS)],
)
directive("without-its-capability", DERIVED, "mismatch", capabilities=[])
directive(
    "with-a-capability-more", DERIVED, "mismatch", capabilities=["rye.execute.tool.shell.run", "rye.search.tool.*"]
)
directive("with-a-hook-that-is-not-there", DERIVED, "mismatch", hooks=["tool acme/tools/x"])
directive(
    "of-another-version",
    "The release's version is that in its file",
    "mismatch",
    text=items.directive("build", "1.0.1", depends=[("acme/tools/test", "^1.0.0")], conflicts=[("acme/old", "*")]),
)
directive(
    "of-another-name",
    "the last segment of its id is the name in its file",
    "mismatch",
    "malformed",
    text=items.directive("other", depends=[("acme/tools/test", "^1.0.0")], conflicts=[("acme/old", "*")]),
)
directive(
    "of-a-file-that-is-no-directive",
    "The file follows the format of its kind",
    "malformed",
    text="# build\n\nNothing here.\n",
)
IN_RELATIONS = "another attribute or an element in it is an error"
directive(
    "with-an-element-in-a-relation",
    IN_RELATIONS,
    "malformed",
    page="../how-to/directives.md",
    text=items.directive("build", depends=[("acme/tools/test<version>^2.0.0</version>", "^1.0.0")]),
    relations=[("depends_on", DEPENDS)],
)
directive(
    "with-another-attribute-of-a-relation",
    IN_RELATIONS,
    "malformed",
    page="../how-to/directives.md",
    text=items.directive("build", depends=[("acme/tools/test", '^1.0.0" optional="true')]),
    relations=[("depends_on", DEPENDS)],
)
directive(
    "by-bare-name-in-the-same-folder",
    "means `acme/a/b/name`, then `acme/a/name`, then `acme/name`",
    text=items.directive("build", depends=[("test", "*")]),
    relations=[("depends_on", "test directive:acme/tools/test *")],
)
directive(
    "by-bare-name-in-a-folder-above",
    "means `acme/a/b/name`, then `acme/a/name`, then `acme/name`",
    text=items.directive("build", depends=[("old", "*")]),
    relations=[("depends_on", "old directive:acme/old *")],
)
directive(
    "by-bare-name-elsewhere",
    "means `acme/a/b/name`, then `acme/a/name`, then `acme/name`",
    "mismatch",
    text=items.directive("build", depends=[("test", "*")]),
    relations=[("depends_on", "test directive:acme/other/test *")],
)
directive(
    "by-a-name-with-another-separator",
    "`-` and `_` are the same letter",
    text=items.directive("build", depends=[("acme/tools_x/test", "*")]),
    relations=[("depends_on", "acme/tools_x/test directive:acme/tools-x/test *")],
)
fetched(
    "below-a-folder-of-a-flat-kind",
    CLIENT,
    "An item of a flat kind (agent, role, formula, skill, bundle) is directly below its namespace",
    "mismatch",
    item="skill:acme/tools/pdf",
    publish=lambda r: r.release("skill:acme/tools/pdf", data=PLAIN),
)
fetched(
    "not-UTF-8",
    "item-signatures.md",
    "Files are UTF-8",
    "malformed",
    publish=lambda r: r.release(data=PLAIN + b"\xff\n"),
)


REQUIRES = "or `-` for a feature of the environment (only in `requires`)"
directive(
    "requirement-of-a-feature",
    REQUIRES,
    text=items.directive("build", requires=[("git", "*")]),
    relations=[("requires", "git - *")],
)
directive(
    "requirement-of-an-item-as-a-feature",
    REQUIRES,
    "mismatch",
    text=items.directive("build", requires=[("tool:acme/tools/git", "*")]),
    relations=[("requires", "tool:acme/tools/git - *")],
)
directive(
    "requirement-of-an-item",
    REQUIRES,
    text=items.directive("build", requires=[("acme/tools/test", "*")]),
    relations=[("requires", "acme/tools/test directive:acme/tools/test *")],
)
directive(
    "reference-with-another-kind",
    "The reference is as written in the item (`[kind:]id` or a bare name)",
    "mismatch",
    text=items.directive("build", depends=[("tool:acme/tools/test", "*")]),
    relations=[("depends_on", "tool:acme/tools/test directive:acme/tools/test *")],
)
directive(
    "several-capabilities",
    DERIVED,
    text=items.directive("build", tools=("shell.run", "acme.build", "zip.all")),
    relations=[],
    capabilities=["rye.execute.tool.acme.build", "rye.execute.tool.shell.run", "rye.execute.tool.zip.all"],
)
fetched(
    "a-file-without-a-version",
    RELEASE,
    "The release's version is that in its file, if it has one",
    needs=DERIVE,
    publish=lambda r: r.release(
        data=items.signed("---\nname: pdf\ndescription: Fills in forms\n---\n\n# pdf\n\nText.\n", A)
    ),
)
fetched(
    "a-skill-with-a-right",
    "kinds.md#what-a-release-says-of-it",
    "Only a directive has `capability` and `hook` lines",
    "mismatch",
    needs=DERIVE,
    publish=lambda r: r.release(capabilities=["rye.search.tool.*"]),
)
fetched(
    "a-skill-with-a-hook",
    "kinds.md#what-a-release-says-of-it",
    "Only a directive has `capability` and `hook` lines",
    "mismatch",
    needs=DERIVE,
    publish=lambda r: r.release(hooks=["tool acme/tools/x"]),
)
fetched(
    "a-file-with-CR-LF",
    "kinds.md",
    "Files are UTF-8 with LF line endings.",
    "malformed",
    needs=DERIVE,
    publish=lambda r: r.release(data=PLAIN.replace(b"\n", b"\r\n")),
)
directive(
    "without-a-model",
    "The file follows the format of its kind",
    "malformed",
    text=items.directive("build").replace('<model tier="low"/>', ""),
    relations=[],
)
