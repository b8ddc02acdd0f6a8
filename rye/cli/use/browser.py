"""The person's browser."""

from __future__ import annotations

import webbrowser


def open_page(address: str) -> bool:
    """Open an address; False if there is no browser, or it does not start."""
    try:
        return webbrowser.open_new_tab(address)
    except (webbrowser.Error, OSError):
        return False
