"""Overrides in the life of a project: where they are found, when they apply, what they must not do, and their commands."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tests.scenes.person import Person

pytestmark = pytest.mark.processes

HEAD = '---\nagent: {name}\nbase-version: "{version}"\nlast-reviewed: "2026-01-01"\n---\n\n'


def override(name: str, operation: str, target: str, content: str, version: str = "1.0.0") -> str:
    head = HEAD.format(name=name, version=version)
    return (
        f"{head}<!-- DIRECTIVE: {operation}\ntarget: {target}\nreason: ours\n-->\n{content}\n<!-- END DIRECTIVE -->\n"
    )


DIRECTIVE = """# Deploy

Deploys it.

```xml
<directive name="deploy" version="1.0.0">
  <metadata>
    <description>Deploys it</description>
    <category>workflows</category>
    <author>acme</author>
    <model tier="general" />
    <limits max_turns="5" max_tokens="1000" />
    <permissions>
      <execute><tool>acme/shell/run</tool></execute>
    </permissions>
  </metadata>
  <inputs />
  <outputs />
</directive>
```

## Steps

<process>
  <step name="go">
    <description>Run it.</description>
  </step>
</process>

## Notes

Published notes.
"""
AGENT = """---
name: sage
displayName: Sage
whenToUse: Always
transitions:
  onSuccess: complete
---

# Sage

## System Prompt

You are Sage.

### Rules

Old rules.
"""


@pytest.fixture
def person(tmp_path: Path) -> Person:
    made = Person(tmp_path)
    made.write("rye.toml", '[project]\nnamespace = "acme"\n')
    made.write(".ai/agents/sage.md", AGENT)
    made.write(".ai/directives/workflows/deploy.md", DIRECTIVE)
    made.write(
        ".ai/knowledge/facts/earth.md",
        "---\nname: earth\ntitle: Earth\nentry_type: reference\ncategory: facts\nversion: 1.0.0\n"
        "author: acme\ncreated_at: 2026-01-01T00:00:00Z\ntags: [a, b, c]\n---\n\n# Earth\n\n## Shape\n\nRound.\n",
    )
    return made


def user_file(person: Person, name: str, text: str) -> None:
    path = person.home / "ai" / "overrides" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


# Where they apply.


@pytest.mark.parametrize("identifier", ["sage", "agent:sage", "acme/sage", ".ai/agents/sage.md"])
def test_an_agent_is_rendered_with_its_override_however_it_is_named(person: Person, identifier: str) -> None:
    person.customize(".ai/overrides/sage.overrides.md", override("sage", "append", "### Rules", "New rule.", "any"))
    assert person.ok("render", identifier).stdout == "You are Sage.\n\n### Rules\n\nOld rules.\n\nNew rule.\n"
    assert person.ok("render", identifier, "--base").stdout == "You are Sage.\n\n### Rules\n\nOld rules.\n"


@pytest.mark.parametrize("file", ["workflows/deploy", "acme/workflows/deploy", "workflows/deploy.directive"])
def test_a_directive_s_override_may_have_either_id_in_its_name(person: Person, file: str) -> None:
    person.customize(
        f".ai/overrides/{file}.overrides.md", override("deploy", "replace", "## Notes", "## Notes\n\nOurs.")
    )
    shown = person.ok("show", "workflows/deploy", "--json")
    assert shown.json["overrides"] == [f".ai/overrides/{file}.overrides.md"]
    assert person.ok("show", "workflows/deploy", "--base", "--json").json["overrides"] == []


def test_knowledge_and_roles_have_overrides_too(person: Person) -> None:
    person.new("role", "clerk")
    person.customize(".ai/overrides/facts/earth.overrides.md", override("earth", "append", "## Shape", "Nearly."))
    person.customize(".ai/overrides/clerk.overrides.md", override("clerk", "append", "## Identity", "Be kind."))
    assert "Round.\n\nNearly." in person.ok("render", "facts/earth").stdout
    assert "Be kind." in person.ok("render", "clerk").stdout


def test_the_user_s_override_comes_first_and_the_project_s_has_the_last_word(person: Person) -> None:
    user_file(
        person, "sage.overrides.md", override("sage", "replace", "### Rules", "### Rules\n\nMine.\n\n#### Sub\n\nx")
    )
    person.customize(".ai/overrides/sage.overrides.md", override("sage", "replace", "#### Sub", "#### Sub\n\nTheirs."))
    result = person.ok("render", "sage")
    assert result.stdout.endswith("### Rules\n\nMine.\n\n#### Sub\n\nTheirs.\n")
    assert result.stderr == ""
    shown = person.ok("show", "sage", "--json").json["overrides"]
    assert shown == [str(person.home / "ai/overrides/sage.overrides.md"), ".ai/overrides/sage.overrides.md"]


def test_what_is_verified_and_validated_is_the_published_file(person: Person) -> None:
    person.customize(".ai/overrides/sage.overrides.md", override("sage", "replace", "## System Prompt", ""))
    assert person.run("validate", ".ai/agents/sage.md").code == 0


def test_the_signature_line_is_no_part_of_the_effective_text(person: Person) -> None:
    person.ok("keys", "generate", "--no-input")
    person.ok("sign", ".ai/agents/sage.md")
    before = person.path(".ai/agents/sage.md").read_bytes()
    assert b"rye:signed" in before
    person.customize(".ai/overrides/sage.overrides.md", override("sage", "append", "### Rules", "New."))
    assert "New." in person.ok("render", "sage").stdout
    assert person.ok("verify", ".ai/agents/sage.md").code == 0
    assert person.path(".ai/agents/sage.md").read_bytes() == before
    assert "rye:signed" not in person.ok("override", "show", "sage").stdout


def test_two_files_for_one_item_at_one_level_are_an_error(person: Person) -> None:
    for name in ("workflows/deploy", "acme/workflows/deploy"):
        person.customize(f".ai/overrides/{name}.overrides.md", override("deploy", "append", "## Notes", "x"))
    result = person.run("render", "workflows/deploy", "--json")
    assert (result.code, result.error["code"]) == (1, "ambiguous-overrides")


def test_the_kind_in_the_name_tells_two_items_of_one_id_apart(person: Person) -> None:
    text = person.path(".ai/knowledge/facts/earth.md").read_text()
    person.write(".ai/knowledge/workflows/deploy.md", text.replace("earth", "deploy").replace("facts", "workflows"))
    person.customize(
        ".ai/overrides/workflows/deploy.knowledge.overrides.md", override("deploy", "append", "## Shape", "K.")
    )
    person.customize(".ai/overrides/workflows/deploy.overrides.md", override("deploy", "append", "## Notes", "D."))
    assert "K." in person.ok("render", "knowledge:workflows/deploy").stdout
    assert person.ok("show", "directive:workflows/deploy", "--json").json["overrides"] == [
        ".ai/overrides/workflows/deploy.overrides.md"
    ]


# What is refused.


def widened(what: str) -> str:
    section = DIRECTIVE[: DIRECTIVE.index("## Steps")]
    return override("deploy", "replace", "# Deploy", section.replace("<tool>acme/shell/run</tool>", what))


@pytest.mark.parametrize(
    ("permission", "witness"),
    [
        ("<tool>acme/shell/*</tool>", "rye.execute.tool.acme.shell"),
        ("<tool>*</tool>", "rye.execute.tool."),
        ("<tool>acme/shell/ru[n-z]</tool>", "rye.execute.tool.acme.shell.ru"),
        ("<tool>acme/shell/run</tool><tool>acme/other</tool>", "rye.execute.tool.acme.other"),
    ],
)
def test_an_override_may_not_widen_what_a_directive_may_do(person: Person, permission: str, witness: str) -> None:
    text = widened(permission)
    text = text.replace("\n<!-- END", "\n## Steps\n\n<process>\n  <step name=\"go\"><description>Run.</description></step>\n"
                        "</process>\n<!-- END")  # fmt: skip
    person.customize(".ai/overrides/workflows/deploy.overrides.md", text)
    result = person.run("render", "workflows/deploy", "--json")
    assert (result.code, result.error["code"]) == (1, "override-widens")
    assert witness in result.error["message"]
    assert "allow-override-widening" in result.error["hint"]
    shown = person.run("show", "workflows/deploy", "--json")
    assert shown.code == 0
    assert shown.json["permissions"] == ["rye.execute.tool.acme.shell.run"]
    assert shown.json["overrides"] == []
    assert "is invalid and was skipped" in shown.stderr


ALLOWS = "[policy]\nallow-override-widening = true\n"


def test_the_projects_and_the_users_policy_together_allow_widening(person: Person) -> None:
    person.customize(".ai/overrides/workflows/deploy.overrides.md", widened("<tool>acme/shell/*</tool>"))
    person.write("rye.toml", f'[project]\nnamespace = "acme"\n{ALLOWS}')
    policy = person.home / "config" / "policy.toml"
    policy.parent.mkdir(exist_ok=True)
    policy.write_text(ALLOWS)
    shown = person.ok("show", "workflows/deploy", "--json")
    assert shown.json["permissions"] == ["rye.execute.tool.acme.shell.*"]


def test_a_repository_cannot_allow_its_own_override_to_widen(person: Person) -> None:
    person.customize(".ai/overrides/workflows/deploy.overrides.md", widened("<tool>*</tool>"))
    person.write("rye.toml", f'[project]\nnamespace = "acme"\n{ALLOWS}')
    action = ("workflows/deploy", "execute", "tool", "rye/shell/run")
    assert person.run("render", "workflows/deploy", "--json").error["code"] == "override-widens"
    assert person.run("permissions", "check", *action, "--json").error["code"] == "override-widens"


def test_narrowing_is_fine(person: Person) -> None:
    person.customize(".ai/overrides/workflows/deploy.overrides.md", widened("<tool>acme/shell/run</tool>"))
    narrowed = person.path(".ai/overrides/workflows/deploy.overrides.md").read_text()
    person.customize(
        ".ai/overrides/workflows/deploy.overrides.md",
        narrowed.replace("<execute><tool>acme/shell/run</tool></execute>", "<load><tool>acme/shell/run</tool></load>"),
    )
    assert person.run("render", "workflows/deploy", "--json").error["code"] == "override-widens"
    emptied = narrowed.replace("<execute><tool>acme/shell/run</tool></execute>", "")
    person.customize(".ai/overrides/workflows/deploy.overrides.md", emptied)
    result = person.run("show", "workflows/deploy", "--json")
    assert result.json["permissions"] in ([], ["rye.execute.tool.acme.shell.run"])


def test_an_override_may_not_add_a_hook(person: Person) -> None:
    hook = '<hooks><hook><when>true</when><execute item_type="tool" item_id="acme/evil"/></hook></hooks>\n  </metadata>'
    text = widened("<tool>acme/shell/run</tool>").replace("</metadata>", hook)
    person.customize(".ai/overrides/workflows/deploy.overrides.md", text)
    result = person.run("render", "workflows/deploy", "--json")
    assert result.code == 1
    assert result.error["code"] in ("override-adds-hook", "override-in-error")
    assert person.run("hooks", "list", "workflows/deploy", "--json").code == 1


def test_a_second_directive_in_an_override_is_an_error_of_the_override(person: Person) -> None:
    fence = '```xml\n<directive name="deploy" version="1.0.0"></directive>\n```'
    person.customize(".ai/overrides/workflows/deploy.overrides.md", override("deploy", "append", "## Notes", fence))
    assert person.run("render", "workflows/deploy", "--json").error["code"] == "override-in-error"


def test_hidden_characters_in_an_override_are_an_error(person: Person) -> None:
    person.customize(".ai/overrides/sage.overrides.md", override("sage", "append", "### Rules", "Be\u202e good."))
    result = person.run("render", "sage", "--json")
    assert (result.code, result.error["code"]) == (1, "override-in-error")


@pytest.mark.parametrize(
    "text",
    [
        "no frontmatter",
        override("other", "append", "### Rules", "x"),
        override("sage", "apend", "### Rules", "x"),
        override("sage", "append", "Rules", "x"),
        override("sage", "replace", "## System Prompt", ""),
        b"\xff",
    ],
)
def test_an_override_in_error_stops_rendering_and_show_warns(person: Person, text: str | bytes) -> None:
    person.customize(".ai/overrides/sage.overrides.md", text)
    result = person.run("render", "sage", "--json")
    assert result.code == 1
    assert "prompt" not in result.json
    if isinstance(text, str):
        shown = person.run("show", "sage")
        assert shown.code == 0
        assert "is invalid and was skipped" in shown.stderr
    assert person.run("render", "sage", "--base").code == 0


def test_an_orphan_is_a_warning_and_the_rest_applies(person: Person) -> None:
    text = (
        override("sage", "append", "## Gone", "x") + override("sage", "append", "### Rules", "New.").split("\n\n", 1)[1]
    )
    person.customize(".ai/overrides/sage.overrides.md", text)
    result = person.ok("render", "sage")
    assert "New." in result.stdout
    assert "orphaned-directive" in result.stderr


@pytest.mark.parametrize("link", ["file", "folder"])
def test_a_symlink_in_the_project_is_not_followed(person: Person, tmp_path: Path, link: str) -> None:
    secret = tmp_path / "elsewhere"
    secret.mkdir()
    (secret / "sage.overrides.md").write_text(override("sage", "append", "### Rules", "SECRET"))
    person.path(".ai").mkdir(exist_ok=True)
    if link == "folder":
        person.path(".ai/overrides").symlink_to(secret)
    else:
        person.path(".ai/overrides").mkdir()
        person.path(".ai/overrides/sage.overrides.md").symlink_to(secret / "sage.overrides.md")
    result = person.run("render", "sage", "--json")
    assert (result.code, result.error["code"]) == (1, "symlink")
    before = sorted(secret.iterdir())
    assert person.run("override", "new", "sage", "### Rules", "--append").code == 1
    assert sorted(secret.iterdir()) == before


# The commands.


def test_new_writes_a_complete_file_that_changes_nothing(person: Person) -> None:
    made = person.ok("override", "new", "sage", "### Rules", "--replace", "--reason", "ours", "--today", "2026-03-04")
    assert made.stdout == "created .ai/overrides/sage.overrides.md\n"
    assert person.path(".ai/overrides/sage.overrides.md").read_text() == (
        '---\nagent: "sage"\nbase-version: "unknown"\nlast-reviewed: "2026-03-04"\n---\n\n'
        "What is changed here and why, for reviewers.\n\n"
        "<!-- DIRECTIVE: replace\ntarget: ### Rules\nreason: ours\n-->\n### Rules\n\nOld rules.\n<!-- END DIRECTIVE -->\n"
    )
    assert person.ok("render", "sage").stdout == person.ok("render", "sage", "--base").stdout
    assert person.ok("override", "check", "--today", "2026-03-05").stdout.startswith("ok  agent:acme/sage  ")


@pytest.mark.parametrize("operation", ["append", "prepend", "insert-before", "insert-after"])
def test_new_with_another_operation_starts_empty_and_adds_to_the_file(person: Person, operation: str) -> None:
    person.ok("override", "new", "workflows/deploy", "## Notes")
    again = person.ok("override", "new", "workflows/deploy", "## Notes", f"--{operation}")
    assert again.stdout == "changed .ai/overrides/workflows/deploy.overrides.md\n"
    text = person.path(".ai/overrides/workflows/deploy.overrides.md").read_text()
    assert text.count("<!-- DIRECTIVE:") == 2
    assert 'base-version: "1.0.0"' in text
    assert person.ok("override", "show", "workflows/deploy", "--json").json["diff"] == ""


def test_new_takes_content_and_frontmatter_keys(person: Person) -> None:
    person.ok("override", "new", "sage", "### Rules", "--append", "--content", "-", stdin=b"New.\n")
    person.ok("override", "new", "sage", "--frontmatter-set", "displayName=The Sage")
    assert "New." in person.ok("render", "sage").stdout
    assert person.ok("show", "sage", "--json").json["display_name"] == "The Sage"


def test_new_in_the_user_s_space_and_for_the_text_that_it_made(person: Person) -> None:
    person.ok("override", "new", "sage", "### Rules", "--append", "--content", "-", "--user", stdin=b"#### Mine\n\nx\n")
    assert (person.home / "ai/overrides/sage.overrides.md").is_file()
    person.ok("override", "new", "sage", "#### Mine")
    assert "#### Mine\n\nx\n" in person.path(".ai/overrides/sage.overrides.md").read_text()


def test_new_of_a_section_that_is_not_there_says_what_was_meant(person: Person) -> None:
    result = person.run("override", "new", "sage", "### Ruls", "--json")
    assert (result.code, result.refusal) == (1, "no-such-entry section")
    assert "'### Rules'" in result.error["hint"]
    assert not person.path(".ai/overrides").exists()
    assert person.run("override", "new", "sage", "Rules", "--json").error["code"] == "bad-target"
    assert person.run("override", "new", "sgae", "## X", "--json").error["code"] == "no-such-item"


def test_new_refuses_what_would_not_conform_and_writes_nothing(person: Person) -> None:
    person.ok("override", "new", "sage")
    before = person.path(".ai/overrides/sage.overrides.md").read_bytes()
    for words in (["--frontmatter-set", "name=other"], ["--frontmatter-set", "x=[1"], ["--frontmatter-delete", "a b"]):
        assert person.run("override", "new", "sage", *words).code != 0
    assert person.path(".ai/overrides/sage.overrides.md").read_bytes() == before


def test_new_escapes_a_closing_line_in_the_section(person: Person) -> None:
    person.write(".ai/agents/sage.md", AGENT + "\n```\n<!-- END DIRECTIVE -->\n```\n")
    person.ok("override", "new", "sage", "### Rules")
    assert person.ok("override", "show", "sage", "--json").json["diff"] == ""


def test_formulas_tools_and_skills_take_no_overrides(person: Person) -> None:
    person.new("formula", "flow")
    result = person.run("override", "new", "flow", "## X", "--json")
    assert (result.code, result.refusal) == (2, "wrong-kind sections")
    assert "Change its file." in result.error["hint"]


def test_list_and_check_name_files_without_an_item(person: Person) -> None:
    person.customize(".ai/overrides/nobody.overrides.md", override("nobody", "append", "## X", "x"))
    person.customize(".ai/overrides/sage.overrides.md", override("sage", "append", "### Rules", "x"))
    person.customize(".ai/overrides/Bad Name.overrides.md", "x")
    listed = person.ok("override", "list", "--json").json["overrides"]
    assert [(one["id"], one["item"], one["state"]) for one in listed] == [
        ("Bad Name", None, "error"),
        ("nobody", None, "warning"),
        ("sage", "agent:acme/sage", "ok"),
    ]
    assert person.run("override", "check").code == 1
    assert person.run("override", "check", "sage", "--today", "2026-01-02").code == 0


def test_check_reports_orphans_versions_and_reviews_and_strict_stops(person: Person) -> None:
    text = override("deploy", "append", "## Gone", "x", version="0.9.0")
    person.customize(".ai/overrides/workflows/deploy.overrides.md", text)
    result = person.run("override", "check", "--today", "2026-12-31", "--json")
    assert result.code == 0
    (one,) = result.json["overrides"]
    codes = sorted(found["code"] for found in one["diagnostics"])
    assert codes == ["orphaned-directive", "stale-base-version", "stale-review"]
    assert person.run("override", "check", "--today", "2026-12-31", "--strict").code == 1


def test_show_explains_and_shows_the_difference(person: Person) -> None:
    person.customize(".ai/overrides/sage.overrides.md", override("sage", "append", "### Rules", "New."))
    shown = person.ok("override", "show", "sage")
    assert "line 7: append ### Rules: 1 line at the section's end" in shown.stdout
    assert "\n+New.\n" in shown.stdout


# Editing.


def editor(person: Person, script: str) -> dict[str, str]:
    path = person.home / "an editor"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return {"EDITOR": f"'{path}' --wait"}


def test_edit_without_a_change_writes_a_template_that_changes_nothing(person: Person) -> None:
    done = person.ok("override", "edit", "sage", env={"VISUAL": "true", "EDITOR": "false"})
    assert done.stdout == "created .ai/overrides/sage.overrides.md\n"
    assert person.ok("render", "sage").stdout == person.ok("render", "sage", "--base").stdout
    assert person.ok("override", "list", "--json").json["overrides"][0]["state"] == "ok"


def test_edit_saves_what_is_valid(person: Person) -> None:
    text = override("sage", "append", "### Rules", "Edited.")
    env = editor(person, f"cat > \"$2\" <<'EOF'\n{text}EOF")
    assert person.ok("override", "edit", "sage", env=env).stdout == "created .ai/overrides/sage.overrides.md\n"
    assert "Edited." in person.ok("render", "sage").stdout


def test_edit_gives_an_invalid_text_back_and_keeps_the_file(person: Person) -> None:
    good = override("sage", "append", "### Rules", "Good.")
    path = person.customize(".ai/overrides/sage.overrides.md", good)
    result = person.run("override", "edit", "sage", "--json", env=editor(person, 'echo broken > "$2"'))
    assert (result.code, result.error["code"]) == (1, "rejected-edit")
    assert path.read_text() == good
    assert path.with_name("sage.overrides.md.rejected").read_text() == "broken\n"
    assert [one["id"] for one in person.ok("override", "list", "--json").json["overrides"]] == ["sage"]


def test_edit_refuses_wider_rights_on_save(person: Person) -> None:
    text = widened("<tool>*</tool>")
    env = editor(person, f"cat > \"$2\" <<'EOF'\n{text}EOF")
    result = person.run("override", "edit", "workflows/deploy", "--json", env=env)
    assert result.error["code"] == "rejected-edit"
    assert not person.path(".ai/overrides/workflows/deploy.overrides.md").exists()


@pytest.mark.parametrize("env", [{}, {"EDITOR": "no-such-editor"}, {"EDITOR": "false"}, {"EDITOR": "'unclosed"}])
def test_an_editor_that_does_not_work_changes_nothing(person: Person, env: dict[str, str]) -> None:
    result = person.run("override", "edit", "sage", env=env)
    assert result.code == 1
    assert not person.path(".ai/overrides").exists()


def test_the_editor_is_no_shell(person: Person) -> None:
    person.run("override", "edit", "sage", env={"EDITOR": "true; touch pwned #"})
    assert not os.path.exists(person.folder / "pwned")
