"""YAML's event stream from ruamel.yaml. Any error of its scanner becomes a YamlError."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.error import YAMLError as LibraryError
from ruamel.yaml.reader import ReaderError

from rye.text.yaml_error import YamlError


def events(text: str, first_line: int) -> Iterator[Any]:
    """Yield the events of a text. ``first_line``: the file's line where it starts. Raises YamlError."""
    try:
        yield from YAML(typ="safe", pure=True).parse(text)
    except YamlError:
        raise
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        message = " ".join(part for part in (error.context, error.problem) if part)
        line = (mark.line if mark else 0) + first_line
        raise YamlError(" ".join(message.split()), line, mark.column + 1 if mark else None) from None
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + first_line
        raise YamlError("it contains a character that YAML does not allow", line) from None
    except LibraryError as error:
        raise YamlError(" ".join(str(error).split()), first_line) from None
    except (ValueError, IndexError, KeyError, AttributeError, TypeError, OverflowError, AssertionError, RecursionError):
        # The library's scanner fails with arbitrary exceptions on some malformed input, such as impossible escapes.
        raise YamlError("malformed YAML", first_line) from None
