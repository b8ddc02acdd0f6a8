"""Who decodes with msgspec catches all that its decoders raise.

For a text that is not UTF-8, and for deep nesting, msgspec raises errors that are none of its own. So an ``except`` that names
its own alone is a traceback that waits for the wrong bytes; :data:`rye.text.json_reading.UNDECODABLE` names them all. The same
holds for ``tomllib``, whose numbers of thousands of digits are a plain ValueError.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_TOO_NARROW = re.compile(
    r"(?:except|suppress)\b[^:\n]*\b(?:msgspec\.(?:MsgspecError|DecodeError)|TOMLDecodeError|JSONDecodeError)"
)
WITH_REASON = {
    "rye/text/json_reading.py": "it is where the others come from; its own decoder gets text, with its depth checked before",
}


def too_narrow(source: str) -> list[int]:
    return [number for number, line in enumerate(source.split("\n"), 1) if _TOO_NARROW.search(line)]


@pytest.mark.slow
def test_no_handler_names_the_decoders_own_errors_alone() -> None:
    files = (path for room in ("rye", "registry_server") for path in sorted((ROOT / room).rglob("*.py")))
    found = {path.relative_to(ROOT).as_posix(): too_narrow(path.read_text("utf-8")) for path in files}
    assert {path: lines for path, lines in found.items() if lines and path not in WITH_REASON} == {}


def test_the_rule_sees_each_form() -> None:
    source = """
except msgspec.MsgspecError:
except (OSError, msgspec.DecodeError) as error:
with contextlib.suppress(msgspec.MsgspecError):
except (tomllib.TOMLDecodeError, RecursionError):
except msgspec.ValidationError:
except (OSError, *UNDECODABLE):
"""
    assert too_narrow(source) == [2, 3, 4, 5]
