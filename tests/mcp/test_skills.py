"""The protocol's extension for skills: entries, manifests and folders, with an anchor of trust (SEP-2640; design: agents 3.1)."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import Request, RequestParams, Result

from rye.mcp import skills
from rye.mcp.skills import SkillFiles
from rye.runtime.project_items import ProjectItems
from tests.mcp.sessions import Caller, own_directive, play, project_with_key
from tests.scenes.installed import install
from tests.scenes.item_texts import skill
from tests.scenes.person import Person

pytestmark = pytest.mark.processes
ERAS = pytest.mark.parametrize("mode", ["legacy", "auto"])
FORMS, BINARY = b"# Forms\n", b"\xff\x00\x01"


class Asked(RequestParams):
    uri: str | None = None


class AnyRequest(Request[Asked, str]):
    method: str
    params: Asked


class AnyResult(Result):
    model_config = {"extra": "allow"}


async def ask(caller: Caller, method: str, uri: str | None = None) -> dict[str, Any]:
    request = AnyRequest(method=method, params=Asked(uri=uri))
    result = await caller.client.session.send_request(request, AnyResult)
    return result.model_dump(by_alias=True)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Person:
    made = project_with_key(tmp_path_factory.mktemp("skills"))
    files = {"references/forms.md": FORMS, "references/deep/a.txt": b"a", "a.bin": BINARY}
    install(made, "skill", "acme/pdf", skill("pdf"), attached=files)
    install(made, "skill", "acme/other", skill("other"))
    own_directive(made, "work/ship")
    return made


@ERAS
def test_an_entry_has_the_frontmatter_and_every_file(shop: Person, mode: str) -> None:
    async def story(caller: Caller) -> None:
        if mode == "auto":  # the older era has no field for it
            extensions = caller.client.server_capabilities.extensions or {}
            assert extensions[skills.EXTENSION] == {"directoryRead": True}
        listed = await ask(caller, "skills/list")
        found = {each["uri"]: each for each in listed["skills"]}
        assert set(found) == {"skill://acme/pdf/SKILL.md", "skill://acme/other/SKILL.md"}
        entry = found["skill://acme/pdf/SKILL.md"]
        assert entry["frontmatter"]["name"] == "pdf"
        assert entry["frontmatter"]["metadata"] == {"version": "1.0.0"}
        assert [each["uri"].removeprefix("skill://acme/pdf/") for each in entry["resources"]] == [
            "SKILL.md",
            "a.bin",
            "references/deep/a.txt",
            "references/forms.md",
        ]
        for each in entry["resources"]:
            contents = (await caller.client.read_resource(each["uri"])).contents[0]
            text, blob = getattr(contents, "text", None), getattr(contents, "blob", None)
            data = text.encode() if text is not None else base64.b64decode(blob or "")
            assert each["digest"] == f"sha256:{hashlib.sha256(data).hexdigest()}"
            assert each["size"] == len(data)
        one = await ask(caller, "skills/get", "skill://acme/pdf/SKILL.md")
        assert one["skill"] == entry
        if mode == "auto":
            assert {"resultType", "ttlMs", "cacheScope"} <= set(listed) & set(one)

    play(shop, story, as_=None, mode=mode)


def test_an_entry_says_who_signed_it_and_where_it_is_in_the_log(shop: Person) -> None:
    async def story(caller: Caller) -> None:
        meta = (await ask(caller, "skills/get", "skill://acme/pdf/SKILL.md"))["skill"]["_meta"]
        assert meta["signer"].startswith("SHA256:")
        assert meta["release"] == {"id": "skill:acme/pdf", "version": "1.0.0", "registry": "registry.example", "log": 1}
        assert meta["tlog-proof"] is None, "this user's rye never saw that registry"

    play(shop, story, as_=None)


def test_an_entry_gives_no_more_than_a_list_of_what_a_person_is_asked_about(tmp_path: Path) -> None:
    """Frontmatter can hold any text, and was returned without a question and without a line in the log."""
    made = project_with_key(tmp_path)
    install(made, "skill", "acme/pdf", skill("pdf"))
    made.write("rye.toml", f'{made.path("rye.toml").read_text()}\n[policy.approval]\n"rye.load.skill.*" = "ask"\n')

    async def story(caller: Caller) -> None:
        (listed,) = (await ask(caller, "skills/list"))["skills"]
        one = (await ask(caller, "skills/get", "skill://acme/pdf/SKILL.md"))["skill"]
        assert listed["frontmatter"] == one["frontmatter"] == {"name": "pdf", "description": "Does it."}
        with pytest.raises(MCPError, match="approval-required"):
            await caller.client.read_resource("skill://acme/pdf/SKILL.md")

    play(made, story, as_=None)


def test_folders_list_their_direct_children(shop: Person) -> None:
    async def story(caller: Caller) -> None:
        root = await ask(caller, "resources/directory/read", "skill://acme/pdf")
        assert [(each["name"], each["mimeType"]) for each in root["resources"]] == [
            ("SKILL.md", "text/markdown"),
            ("a.bin", "application/octet-stream"),
            ("references", "inode/directory"),
        ]
        below = await ask(caller, "resources/directory/read", "skill://acme/pdf/references")
        assert [each["name"] for each in below["resources"]] == ["forms.md", "deep"]

    play(shop, story, as_=None)


@pytest.mark.parametrize(
    ("method", "uri"),
    [
        ("skills/get", "skill://acme/none/SKILL.md"),
        ("skills/get", "skill://acme/pdf"),
        ("skills/get", "skill://acme/pdf/a.bin"),
        ("skills/get", "https://acme/pdf/SKILL.md"),
        ("resources/directory/read", "skill://acme/pdf/SKILL.md"),
        ("resources/directory/read", "skill://acme/pdf/none"),
        ("resources/directory/read", "skill://acme"),
        ("resources/directory/read", "skill://acme/pdf/../other"),
        ("resources/directory/read", "file:///etc"),
    ],
)
def test_what_is_not_served_is_invalid(shop: Person, method: str, uri: str) -> None:
    async def story(caller: Caller) -> None:
        with pytest.raises(MCPError) as caught:
            await ask(caller, method, uri)
        assert caught.value.code == -32602

    play(shop, story, as_=None)


@pytest.mark.parametrize(
    "uri",
    [
        "skill://acme/pdf/../other/SKILL.md",
        "skill://acme/pdf/%2e%2e/x",
        "skill://acme/pdf//etc/passwd",
        "skill://acme/pdf/",
    ],
)
def test_no_address_leads_out_of_a_skill(shop: Person, uri: str) -> None:
    async def story(caller: Caller) -> None:
        with pytest.raises(MCPError):
            await caller.client.read_resource(uri)

    play(shop, story, as_=None)


def test_a_run_without_the_right_sees_no_skills(shop: Person) -> None:
    async def story(caller: Caller) -> None:
        assert (await ask(caller, "skills/list"))["skills"] == []
        with pytest.raises(MCPError):
            await ask(caller, "skills/get", "skill://acme/pdf/SKILL.md")
        with pytest.raises(MCPError):
            await caller.client.read_resource("skill://acme/pdf/SKILL.md")

    play(shop, story)


def test_an_attached_file_that_was_changed_takes_the_skill_away(tmp_path: Path) -> None:
    shop = project_with_key(tmp_path)
    install(shop, "skill", "acme/pdf", skill("pdf"), attached={"forms.md": FORMS})
    shop.path(".ai/packages/acme/skills/pdf/forms.md").write_bytes(b"# Other\n")

    async def story(caller: Caller) -> None:
        assert (await ask(caller, "skills/list"))["skills"] == []
        with pytest.raises(MCPError):
            await caller.client.read_resource("skill://acme/pdf/forms.md")

    play(shop, story, as_=None)


def test_attached_files_of_an_own_skill_are_served_once_this_user_agreed_to_them(tmp_path: Path) -> None:
    shop = project_with_key(tmp_path)
    shop.sign("skills/notes/SKILL.md", skill("notes"))
    address = "skill://acme/notes/forms.md"
    shop.write(".ai/skills/notes/forms.md", FORMS)  # as a commit brings one

    async def refused(caller: Caller) -> None:
        assert (await ask(caller, "skills/list"))["skills"] == []
        with pytest.raises(MCPError):
            await caller.client.read_resource(address)

    async def served(caller: Caller) -> None:
        assert [each["uri"] for each in (await ask(caller, "skills/list"))["skills"]] == ["skill://acme/notes/SKILL.md"]
        await caller.client.read_resource(address)

    play(shop, refused, as_=None)
    shop.ok("sign", ".ai/skills/notes")
    play(shop, served, as_=None)
    shop.write(".ai/skills/notes/forms.md", b"# Other\n")
    play(shop, refused, as_=None)


def test_a_skill_that_not_every_host_takes_is_not_listed() -> None:
    item = Any
    assert skills.fits(SkillFiles(item, {str(n): b"" for n in range(512)}))  # type: ignore[arg-type]
    assert not skills.fits(SkillFiles(item, {str(n): b"" for n in range(513)}))  # type: ignore[arg-type]
    assert not skills.fits(SkillFiles(item, {"a": b"x" * (16 * 1024 * 1024 + 1)}))  # type: ignore[arg-type]


def test_a_skill_that_is_replaced_while_it_is_read_is_no_mixture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The call was decided about one version, and the files of the next one were served for it."""
    shop = project_with_key(tmp_path)
    install(shop, "skill", "acme/pdf", skill("pdf"), attached={"a.md": b"old"})
    attached = ProjectItems.attached

    def replaced(self: ProjectItems, *words: Any) -> dict[str, bytes]:
        newer = skill("pdf").replace("# ", "# Newer ")
        assert newer != skill("pdf")
        install(shop, "skill", "acme/pdf", newer, attached={"a.md": b"new"})
        return attached(self, *words)

    async def story(caller: Caller) -> None:
        monkeypatch.setattr(ProjectItems, "attached", replaced)
        with pytest.raises(MCPError, match="modified"):
            await caller.client.read_resource("skill://acme/pdf/a.md")
        monkeypatch.setattr(ProjectItems, "attached", attached)
        read = await caller.client.read_resource("skill://acme/pdf/a.md")
        assert read.contents[0].text == "new"  # type: ignore[union-attr]

    play(shop, story, as_=None)
