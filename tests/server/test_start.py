"""What a server loads before it serves: not what only some registries, or rare requests, need."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

LATER = ("authlib", "httpx", "joserfc", "rye.text.facts.finding")
"""Packages for issuers of tokens and for sign-in, and the rules of facts: half of the processor time of a start."""


@pytest.mark.thorough
def test_a_server_starts_without_what_few_requests_need() -> None:
    code = "import json, sys, registry_server.api.service; print(json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert not set(LATER) & set(json.loads(done.stdout))
