"""The person's browser."""

from __future__ import annotations

import sys
import webbrowser
from collections.abc import Mapping

_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")


def open_page(address: str, environment: Mapping[str, str]) -> bool:
    """Open an address; False if there is no browser, or it does not start.

    Without a display there are only browsers of the terminal, which would take it away from the command.
    """
    if sys.platform not in ("darwin", "win32") and not any(environment.get(name) for name in _DISPLAYS):
        return False
    try:
        return webbrowser.open_new_tab(address)
    except (webbrowser.Error, OSError):
        return False
