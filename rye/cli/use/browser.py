"""The person's browser."""

from __future__ import annotations

import os
import sys
import webbrowser

_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")


def open_page(address: str) -> bool:
    """Open an address; False if there is no browser, or it does not start.

    Without a display there are only browsers of the terminal, which would take it away from the command.
    """
    if sys.platform not in ("darwin", "win32") and not any(os.environ.get(name) for name in _DISPLAYS):
        return False
    try:
        return webbrowser.open_new_tab(address)
    except (webbrowser.Error, OSError):
        return False
