"""``clients/js/check.html``, opened from disk in a real browser: what it says of a proof, and of one that somebody changed."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser

from rye.registry.protocol.notes import VerifierKey
from tests.browser.chromium import NARROW, Visit
from tests.clients_js.node import CLIENT
from tests.scenes.registry import Registry
