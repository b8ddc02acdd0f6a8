"""``operating/`` and the operator's pages in ``docs/how-to``: their examples are run, or checked as far as this machine can."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from registry_server.embedded import start_embedded, stop_embedded
from registry_server.settings import ENVIRONMENT_PREFIX, Settings
from tests.registry_process import run

pytestmark = pytest.mark.processes

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "operating"
HOW_TO = ROOT / "docs" / "how-to"
START, UPKEEP, ACCESS = (
    (HOW_TO / name).read_text("utf-8") for name in ("registry.md", "registry-upkeep.md", "registry-access.md")
)
PAGE = START + UPKEEP
PLAYED = dict(re.findall(r"^<!-- played: ([a-z ]+) -->\n```\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
SECTIONS = ["Try it", "Run it", "Secure it", "Watch it", "Back it up", "Restore it", "Upgrade it", "Grow it"]


def test_the_pages_follow_an_operators_life() -> None:
    headings = re.findall(r"^## (.+)$", PAGE, re.MULTILINE)
    assert headings[: len(SECTIONS)] == SECTIONS
    for page in (START, UPKEEP, ACCESS):
        links = re.findall(r"\]\(#([a-z0-9-]+)\)", page)
        every = re.findall(r"^##+ (.+)$", page, re.MULTILINE)
        places = {re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-") for heading in every}
        assert set(links) <= places


def test_its_commands_work_one_after_the_other(tmp_path: Path) -> None:
    assert list(PLAYED) == ["try", "run", "back up", "restore", "upgrade"]
    serving = None
    try:
        for line in (line for block in PLAYED.values() for line in block.splitlines()):
            words = shlex.split(line, comments=True)
            assert words[0] == "rye-registry"
            words = [re.sub(r"^/(srv|mnt)/", f"{tmp_path}/", word) for word in words[1:]]
            if words[0] == "serve":
                assert words[1:] == ["--data", f"{tmp_path}/rye", "--port", "8420"]
                serving, _ = start_embedded(tmp_path / "rye")
                continue
            done = run(*words, check=False, RYE_REGISTRY_PASSPHRASE="of three words")
            assert done.returncode == 0, (line, done.stdout, done.stderr)
    finally:
        if serving is not None:
            stop_embedded(serving)
    assert (tmp_path / "copy" / "head").read_bytes() == (tmp_path / "new" / "public" / "head").read_bytes()


def settings_named(text: str) -> set[str]:
    return {name.lower() for name in re.findall(rf"\b{ENVIRONMENT_PREFIX}([A-Z0-9_]+)", text)} - {"data", "passphrase"}


@pytest.mark.parametrize("name", ["Containerfile", "compose.yaml", "rye-registry.service"])
def test_the_settings_that_are_named_exist(name: str) -> None:
    named = settings_named((FOLDER / name).read_text("utf-8"))
    assert named
    assert named <= {field.name for field in fields(Settings)}


def test_the_image_is_made_of_what_there_is_and_runs_without_root() -> None:
    text = (FOLDER / "Containerfile").read_text("utf-8")
    for sources in re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.MULTILINE):
        for source in sources.split():
            assert (ROOT / source).exists(), source
    assert "--require-hashes" in text
    instructions = re.findall(r"^([A-Z]+) (.*)$", text, re.MULTILINE)
    assert [value for name, value in instructions if name == "USER"] == ["10001:10001"]
    assert instructions[-1] == ("CMD", '["serve"]')
    # `init` creates its folder, which it cannot do for the volume's own root.
    assert re.search(r"RYE_REGISTRY_DATA=/srv/rye/\w+", text)


def test_the_compose_file_holds_no_secret_and_fits_together() -> None:
    found: dict[str, Any] = YAML(typ="safe").load((FOLDER / "compose.yaml").read_text("utf-8"))
    services = found["services"]
    assert set(services) == {"registry", "postgres", "store", "bucket", "proxy"}
    assert (FOLDER / services["registry"]["build"]["context"] / services["registry"]["build"]["dockerfile"]).is_file()
    for service in services.values():
        assert set(service.get("secrets", ())) <= set(found["secrets"])
        assert set(service.get("networks", ())) <= set(found["networks"])
        assert {volume.split(":")[0] for volume in service.get("volumes", ())} <= set(found["volumes"])
        for key, value in (service.get("environment") or {}).items():
            assert "SECRET" not in key or value.startswith("/run/secrets/")
            assert "PASSWORD" not in key or value.startswith("/run/secrets/")
    assert "ports" not in services["registry"]  # only the proxy can be reached from outside
    subnet = found["networks"]["inside"]["ipam"]["config"][0]["subnet"]
    assert services["registry"]["environment"]["RYE_REGISTRY_TRUSTED_PROXIES"] == subnet


def test_the_unit_is_one_that_systemd_takes_and_finds_safe(tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not installed")
    text = (FOLDER / "rye-registry.service").read_text("utf-8").replace("/opt/rye/bin/rye-registry", "/bin/true")
    unit = tmp_path / "rye-registry.service"
    unit.write_text(text)
    verified = subprocess.run([program, "verify", str(unit)], capture_output=True, text=True, timeout=60)
    assert (verified.returncode, verified.stderr) == (0, "")
    rated = subprocess.run(
        [program, "security", "--offline=true", "--no-pager", "--threshold=20", str(unit)],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    if "Unknown" in rated.stderr or "unrecognized" in rated.stderr:
        pytest.skip("this systemd rates no files")
    assert rated.returncode == 0, rated.stdout[-300:]


def test_the_caddyfile(tmp_path: Path) -> None:
    program = shutil.which("caddy")
    text = (FOLDER / "Caddyfile").read_text("utf-8")
    depth = 0
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        depth += ("{" in words) - (words == ["}"])
        assert depth >= 0, line
    assert depth == 0
    named = set(re.findall(r"^\s*(@\w+)", text, re.MULTILINE))
    assert set(re.findall(r"(?:respond|header|handle) (@\w+)", text)) == named
    if program is None:
        pytest.skip("caddy is not installed: only the blocks were looked at")
    done = subprocess.run([program, "validate", "--adapter", "caddyfile", "--config", str(FOLDER / "Caddyfile")],
                          capture_output=True, text=True, timeout=60, cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
