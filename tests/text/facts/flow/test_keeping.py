"""Where an archive is unpacked."""

from __future__ import annotations

import pytest

from rye.text.facts.flow.keeping import unpacked_into

FOLDERS = {
    "xzf a.tgz -C /opt/d": "/opt/d",
    "-xzC /opt/d": "/opt/d",
    "a.zip -d d": "d",
    "a.zip -DestinationPath d": "d",
    "x a.7z -o/opt/d": "/opt/d",
    "x a.7z -o": "",
    "xzf a.tgz": "",
    "a.zip -d": "",
}


@pytest.mark.parametrize(("arguments", "folder"), FOLDERS.items(), ids=FOLDERS)
def test_an_option_names_the_folder(arguments: str, folder: str) -> None:
    assert unpacked_into(arguments.split()) == folder
