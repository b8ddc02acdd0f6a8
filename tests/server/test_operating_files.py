"""``operating/`` and the operator's pages in ``docs/how-to``: their examples are run, or checked as far as this machine can."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from registry_server.embedded import start_embedded, stop_embedded
from registry_server.settings import ENVIRONMENT_PREFIX, Settings
from tests.scenes.registry_process import init, run

pytestmark = pytest.mark.processes

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "operating"
HOW_TO = ROOT / "docs" / "how-to"
START, UPKEEP, ACCESS = (
    (HOW_TO / name).read_text("utf-8") for name in ("registry.md", "registry-upkeep.md", "registry-access.md")
)
REQUIREMENTS = (ROOT / "requirements" / "runtime.txt").read_text("utf-8")
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


@pytest.mark.thorough
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


INSTRUCTIONS = re.findall(
    r"^([A-Z]+) (.*)$",
    re.sub(r" *\\\n *", " ", (FOLDER / "Containerfile").read_text("utf-8")),
    re.MULTILINE,
)


def values(name: str) -> list[str]:
    """The values of every instruction of the Containerfile with this name."""
    return [value for instruction, value in INSTRUCTIONS if instruction == name]


def copied() -> set[str]:
    """The files and folders of this repository that the image is built from."""
    return {source for line in values("COPY") if "--from=" not in line for source in line.split()[:-1]}


def in_git(*command: str) -> subprocess.CompletedProcess[str]:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("this is not a checkout")
    return subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True, timeout=30)


def test_the_image_is_built_from_files_that_git_has() -> None:
    for source in copied():
        assert in_git("ls-files", "--error-unmatch", source).returncode == 0, source


def test_the_image_installs_only_what_has_a_hash() -> None:
    installs = [line for line in values("RUN") if "pip install" in line]
    assert [("--require-hashes" in line, "--no-deps --no-build-isolation ." in line) for line in installs] == [
        (True, False), (False, True),
    ]  # fmt: skip
    pinned = re.findall(r"^([a-z0-9._-]+)==\S+(.*?)(?=^[a-z]|\Z)", REQUIREMENTS, re.MULTILINE | re.DOTALL)
    assert len(pinned) > 50
    assert [name for name, rest in pinned if "--hash=sha256:" not in rest] == []
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    wanted = [
        *project["build-system"]["requires"],  # nothing is fetched for the build either
        *project["project"]["dependencies"],
        *project["project"]["optional-dependencies"]["server"],
    ]
    names = {re.split(r"[^a-z0-9.-]", line)[0].replace(".", "-") for line in wanted}
    assert names <= {name for name, _ in pinned}


def test_the_image_runs_without_root_and_keeps_its_data_in_the_volume() -> None:
    assert values("USER") == ["10001:10001"]
    assert "useradd --uid 10001" in " ".join(values("RUN"))
    assert "install -d -o 10001 -g 10001 -m 0750 /srv/rye" in " ".join(values("RUN"))
    assert values("VOLUME") == ["/srv/rye"]
    # `init` creates its folder, which it cannot do for the volume's own root.
    assert re.search(r"RYE_REGISTRY_DATA=/srv/rye/\w+", " ".join(values("ENV")))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert json.loads(values("ENTRYPOINT")[0])[0] in project["project"]["scripts"]
    assert INSTRUCTIONS[-1] == ("CMD", '["serve"]')


def test_the_image_s_health_check_tells_a_server_that_runs_from_one_that_does_not(tmp_path: Path) -> None:
    options, _, command = values("HEALTHCHECK")[0].partition(" CMD ")
    assert "--start-period=60s" in options
    program, flag, code = json.loads(command)
    assert (program, flag) == ("python", "-c")
    assert f":{Settings(data=tmp_path).port}/livez" in code
    assert values("EXPOSE") == [str(Settings(data=tmp_path).port)]

    def checked(url: str) -> int:
        here = code.replace(f"http://127.0.0.1:{Settings(data=tmp_path).port}", url)
        return subprocess.run([sys.executable, "-c", here], capture_output=True, timeout=60).returncode

    init(tmp_path / "data")
    process, url = start_embedded(tmp_path / "data")
    try:
        assert checked(url) == 0
    finally:
        stop_embedded(process)
    assert checked(url) != 0


def test_every_way_to_run_it_waits_longer_for_its_end_than_the_server_takes(tmp_path: Path) -> None:
    words = (
        (r"--stop-timeout=(\d+)", "Containerfile"),
        (r"registry:/srv/rye(?s:.*?)stop_grace_period: (\d+)s", "compose.yaml"),
        (r"TimeoutStopSec=(\d+)", "rye-registry.service"),
    )
    for pattern, name in words:
        found = re.search(pattern, (FOLDER / name).read_text("utf-8"))
        assert found is not None
        assert int(found[1]) > Settings(data=tmp_path).stop_seconds


def test_an_engine_is_sent_neither_secrets_nor_anything_else_that_the_image_does_not_need() -> None:
    lines = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    assert next(line for line in lines if not line.startswith("#")) == "*"
    assert {line[1:] for line in lines if line.startswith("!")} == copied()


def test_git_ignores_the_secrets_of_the_compose_file() -> None:
    found = YAML(typ="safe").load((FOLDER / "compose.yaml").read_text("utf-8"))
    for secret in found["secrets"].values():
        assert in_git("check-ignore", "-q", str(FOLDER / secret["file"])).returncode == 0


def test_the_compose_file_holds_no_secret_and_fits_together() -> None:
    found: dict[str, Any] = YAML(typ="safe").load((FOLDER / "compose.yaml").read_text("utf-8"))
    services = found["services"]
    assert set(services) == {"registry", "postgres", "store", "proxy"}
    assert (FOLDER / services["registry"]["build"]["context"] / services["registry"]["build"]["dockerfile"]).is_file()
    for service in services.values():
        assert set(service.get("secrets", ())) <= set(found["secrets"])
        assert set(service.get("networks", ())) <= set(found["networks"])
        assert {volume.split(":")[0] for volume in service.get("volumes", ())} <= set(found["volumes"])
        for key, value in (service.get("environment") or {}).items():
            assert "SECRET" not in key or value.startswith("/run/secrets/")
            assert "PASSWORD" not in key or value.startswith("/run/secrets/")
    for name, needed in services["registry"]["depends_on"].items():
        assert needed == {"condition": "service_healthy"}
        assert "healthcheck" in services[name]
    # Docker gives files their mode on the host: PostgreSQL's user and ours both read the password.
    assert "chmod 0444" in (FOLDER / "compose.yaml").read_text("utf-8")
    assert services["registry"]["read_only"] is True
    assert (services["registry"]["cap_drop"], services["registry"]["tmpfs"]) == (["ALL"], ["/tmp"])
    assert "ports" not in services["registry"]  # only the proxy can be reached from outside
    bucket = services["registry"]["environment"]["RYE_REGISTRY_OBJECTS"].removeprefix("s3://").split("/")[0]
    assert f"mkdir -p /data/{bucket}\n" in services["store"]["entrypoint"][2]
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
