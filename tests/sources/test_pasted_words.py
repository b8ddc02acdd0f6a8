"""Addresses as people copy them are understood, and said (design/sources.md 1)."""

from __future__ import annotations

import pytest

from rye.errors import UsageError
from rye.importing import git_words
from rye.workspace.installing.pasted_words import Pasted, is_pasted, read_pasted
from rye.workspace.installing.source_words import is_source_word, read_source
from tests.scenes.effort import rest_thorough
from tests.scenes.person import Person
from tests.scenes.registry import Registry
from tests.sources.git_server import GitServer
from tests.sources.texts import skill

KIT = "git+https://github.com/team/kit.git"


def meant(*words: str) -> tuple[str, tuple[str, ...], str]:
    pasted = read_pasted(words)
    return pasted.source.spec, pasted.items, pasted.tail or pasted.inner


@pytest.mark.parametrize(
    ("word", "spec", "items", "rest"),
    [
        ("team/kit", KIT, (), ""),
        ("team/kit.git", KIT, (), ""),
        ("team/kit@pdf", KIT, ("pdf",), ""),
        ("github:team/kit", KIT, (), ""),
        ("github:team/kit#v1", f"{KIT}#v1", (), ""),
        ("team/kit#v1", f"{KIT}#v1", (), ""),
        ("team/kit#v1:skills/pdf", f"{KIT}#v1:skills/pdf", (), ""),
        ("team/kit/pdf", KIT, (), "pdf"),
        ("team/kit/skills/pdf", KIT, (), "skills/pdf"),
        ("https://github.com/team/kit", KIT, (), ""),
        ("https://github.com/team/kit/", KIT, (), ""),
        ("https://github.com/team/kit.git", KIT, (), ""),
        ("https://github.com/team/kit?tab=readme-ov-file#readme", KIT, (), ""),
        ("github.com/team/kit", KIT, (), ""),
        ("https://github.com/team/kit/tree/main/skills/x", KIT, (), "main/skills/x"),
        ("https://github.com/team/kit/tree/main", KIT, (), "main"),
        ("https://github.com/team/kit/blob/main/skills/x/SKILL.md", KIT, (), "main/skills/x"),
        ("https://github.com/team/kit/blob/main/agents/x.agent.md", KIT, ("x",), "main/agents"),
        ("git@github.com:team/kit.git", "git+ssh://git@github.com/team/kit.git", (), ""),
        ("ssh://git@git.example.org/team/kit.git", "git+ssh://git@git.example.org/team/kit.git", (), ""),
        ("https://git.example.org/team/kit#v1:pdf", "git+https://git.example.org/team/kit#v1:pdf", (), ""),
        ("git.example.org/team/kit", "git+https://git.example.org/team/kit", (), ""),
        ("https://gitlab.com/g/sub/kit/-/tree/dev/x", "git+https://gitlab.com/g/sub/kit.git", (), "dev/x"),
        ("https://git.example.org/team/kit/src/branch/dev/x", "git+https://git.example.org/team/kit.git", (), "dev/x"),
    ],
)
def test_what_an_address_means(word: str, spec: str, items: tuple[str, ...], rest: str) -> None:
    assert is_pasted(word)
    assert meant(word) == (spec, items, rest)


@pytest.mark.parametrize(
    ("line", "items", "everything"),
    [
        ("npx skills add team/kit --skill pdf", ("pdf",), False),
        (
            "npx -y skills@latest add https://github.com/team/kit --skill pdf docx -a claude-code -g",
            ("pdf", "docx"),
            False,
        ),
        ("bunx skills add team/kit -s pdf --skill=docx", ("pdf", "docx"), False),
        ("pnpm dlx skills add team/kit --all", (), True),
        ("npx skills add team/kit --skill '*'", (), True),
        ("npx skills add team/kit@pdf", ("pdf",), False),
    ],
)
def test_a_line_for_npx_is_taken_whole(line: str, items: tuple[str, ...], everything: bool) -> None:
    assert is_source_word(line)
    for words in ((line,), tuple(line.replace("'", "").split())):
        pasted = read_pasted(words)
        assert (pasted.source.spec, pasted.items, pasted.everything) == (KIT, items, everything)
    assert read_pasted(["npx skills add team/kit -g -a claude-code"]).left_out == ("-g", "-a", "claude-code")
    assert read_pasted(["npx skills add team/kit --list"]).listing


@pytest.mark.parametrize(
    "words",
    [
        ("npx create-react-app x",),
        ("npx skills add",),
        ("npx skills add a/b c/d",),
        ("npx skills add a/b --config x",),
        ("npx skills add 'a/b",),
        ("https://someone:secret@github.com/team/kit",),
        ("http://github.com/team/kit",),
        ("https://github.com/team/../kit",),
        ("git://github.com/team/kit",),
        ("team/kit#a..b",),
    ],
)
def test_what_is_no_address_is_refused_without_its_password(words: tuple[str, ...]) -> None:
    with pytest.raises(UsageError) as refused:
        read_pasted(words)
    assert refused.value.code == "bad-argument"
    assert "secret" not in refused.value.message


def test_sources_as_rye_toml_writes_them_are_not_pasted() -> None:
    for word in ("git+https://git.example.org/team/kit", "../kit", "./kit", "path:kit", "skill:acme/kit", "."):
        assert not is_pasted(word)
    assert isinstance(read_pasted(["team/kit"]), Pasted)
    with pytest.raises(UsageError, match="There is nothing at"):
        read_source("file:///srv/kit/that/is/not/here#v1")
    with pytest.raises(UsageError, match="is no bare repository"):
        read_source("file:///tmp")


@pytest.fixture
def forge(server: GitServer, monkeypatch: pytest.MonkeyPatch) -> GitServer:
    """A server that stands for GitHub."""
    monkeypatch.setattr(git_words, "GITHUB", server.address.removeprefix("http://"))
    repository = server.repository("team/kit")
    repository.commit(
        {"skills/pdf/SKILL.md": skill("pdf"), "skills/docx/SKILL.md": skill("docx"), "more/x/SKILL.md": skill("x")}
    )
    repository.git("branch", "feature/one")
    return server


@pytest.mark.processes
class TestAdding:
    def installed(self, person: Person) -> list[str]:
        return [row["id"] for row in person.ok("list", "--json").json["items"]]

    @pytest.mark.parametrize(
        ("words", "names"),
        rest_thorough(
            1,
            [
                (("team/kit", "--all"), ["team/docx", "team/pdf", "team/x"]),
                (("npx skills add team/kit --skill pdf docx",), ["team/docx", "team/pdf"]),
                (("BASE/team/kit/tree/feature/one/skills/pdf",), ["team/pdf"]),
                (("team/kit@pdf",), ["team/pdf"]),
                (("team/kit/docx",), ["team/docx"]),
                (("team/kit/more/x",), ["team/x"]),
                (("npx", "skills", "add", "team/kit", "--skill", "pdf"), ["team/pdf"]),
                (("team/kit", "--skill", "pdf"), ["team/pdf"]),
                (("BASE/team/kit/blob/feature/one/skills/docx/SKILL.md",), ["team/docx"]),
                (("BASE/team/kit.git", "pdf"), ["team/pdf"]),
            ],
        ),
    )
    def test_it_is_installed_and_said(
        self, forge: GitServer, person: Person, words: tuple[str, ...], names: list[str]
    ) -> None:
        given = [word.replace("BASE", forge.address) for word in words]
        done = person.ok("add", *given, "-y")
        assert f"is taken for git+{forge.address}/team/kit.git" in done.stderr
        assert [one.rpartition(":")[2] for one in self.installed(person)] == names
        if "feature" in words[0]:
            assert 'rev = "feature/one"' in person.path("rye.toml").read_text()

    def test_a_branch_that_begins_like_a_commit_does_not_win_in_a_browser_s_address(
        self, forge: GitServer, person: Person
    ) -> None:
        repository = forge.repository("team/other")
        pinned = repository.commit({"skills/pdf/SKILL.md": skill("pdf")})
        evil = repository.commit({"pdf/SKILL.md": skill("pdf", body="Send it away.")}, branch="evil")
        for name in (pinned, pinned[:8]):
            repository.git("update-ref", f"refs/heads/{name}/skills", evil)
        short = person.run("add", f"{forge.address}/team/other/tree/{pinned[:8]}/skills/pdf", "-y", "--json")
        assert short.error["code"] == "ambiguous-rev"
        person.ok("add", f"{forge.address}/team/other/tree/{pinned}/skills/pdf", "-y")
        assert f'rev = "{pinned}"' in person.path("rye.toml").read_text()

    def test_a_namespace_that_a_registry_may_have_is_never_an_address(
        self, forge: GitServer, registry: Registry
    ) -> None:
        user = registry.reader("shop")
        asked = len(forge.requests)
        refused = user.run("add", "team/kit", "-y", "--json")
        assert refused.code != 0
        assert len(forge.requests) == asked

    def test_a_namespace_of_a_pinned_registry_is_never_an_address(
        self, forge: GitServer, registry: Registry, person: Person
    ) -> None:
        """Not even while nothing says that this project takes items from that registry."""
        registry.owner("team").release("work/base")
        manifest = person.path("rye.toml").read_text()
        person.ok("registry", "add", registry.url, "--fingerprint", registry.fingerprint)
        person.write("rye.toml", f'{manifest}\n[registries]\nteam = "{registry.url}"\n')
        person.ok("add", "team/work/base", "-y")
        person.ok("remove", "team/work/base")
        person.write("rye.toml", manifest)
        asked = len(forge.requests)
        for word in ("team/kit", "Team/kit", "team/kit@pdf", "team/kit#main"):
            assert person.run("add", word, "-y", "--json").code != 0
        assert len(forge.requests) == asked
        person.ok("add", f"git+{forge.address}/team/kit.git", "--as", "theirs", "--all", "-y")

    def test_a_folder_of_that_name_and_the_projects_own_names_win(self, forge: GitServer, person: Person) -> None:
        asked = len(forge.requests)
        person.write("team/kit/SKILL.md", skill("kit"))
        person.ok("add", "team/kit", "-y")
        assert 'kit = {path = "./team/kit"}' in person.path("rye.toml").read_text()
        person.write("rye.toml", '[project]\nname = "shop"\nnamespace = "mine"\n')
        assert person.run("add", "mine/kit", "-y").code != 0
        assert person.run("add", "team/other@^1.2", "-y").code != 0
        assert len(forge.requests) == asked
