"""Convert an agent written entirely in YAML to Markdown (DECISIONS Agents 10, 11), keeping every field and the prompt, or refuse.

If possible, the result keeps the author's own lines, including comments, and only cuts out ``systemPrompt``; otherwise it
rewrites each field. Either way, the result is read back and must equal the original.
"""

from __future__ import annotations

import json
from typing import Any

from rye.errors import RyeError
from rye.items.agent.prompt import extract_prompt
from rye.text.frontmatter import FrontmatterError, split
from rye.text.markdown_outline import outline
from rye.text.yaml_reading import YamlDocument, YamlError, json_safe, read_yaml

_PROMPT = "systemPrompt"


def migrate(text: str) -> str:
    """Return the Markdown file for an agent's YAML. Raises RyeError if it is malformed or would not survive the round trip.

    One final newline does not count as part of the prompt (DECISIONS Agents 11).
    """
    try:
        document = read_yaml(text)
    except YamlError as error:
        raise RyeError("malformed-yaml", f"Line {error.line}: {error.message}.") from None
    fields = document.value
    if not isinstance(fields, dict):
        raise RyeError("malformed-agent", "The file is not a YAML mapping, so it is not an agent.")
    prompt = fields.get(_PROMPT)
    if not isinstance(prompt, str) or not prompt.strip():
        raise RyeError("no-system-prompt", f"The file has no text under {_PROMPT}.", "Check that it is an agent.")
    prompt = prompt.removesuffix("\n")
    kept = {key: value for key, value in fields.items() if key != _PROMPT}
    body = f"\n# {_title(kept)}\n\n## System Prompt\n\n{prompt}\n"
    _check_prompt(body, prompt)
    for frontmatter in (_cut(text, document), _written(kept)):
        result = f"---\n{frontmatter}---\n{body}"
        if frontmatter and _fields(result) == repr(kept):
            return result
    raise RyeError(
        "fields-would-change", "The fields would not have the same values in Markdown.", "Simplify the YAML first."
    )


def _title(fields: dict[str, Any]) -> str:
    for key in ("displayName", "name"):
        value = fields.get(key)
        if isinstance(value, str) and value.strip() and "\n" not in value.strip():
            return value.strip()
    return "Agent"


def _check_prompt(body: str, prompt: str) -> None:
    found, _ = extract_prompt(body)
    if found == prompt:
        return
    if prompt != prompt.strip():
        why = "it starts or ends with whitespace, which Markdown does not preserve"
    else:
        ends = [h for h in outline(prompt).headings if h.level <= 2]
        where = f"line {ends[0].line + 1} of the prompt ({ends[0].text!r})" if ends else "a line of dashes in it"
        why = f"{where} would end or repeat the System Prompt section"
    hint = "Use headings of level 3 and deeper in the prompt, and *** for thematic breaks."
    raise RyeError("prompt-would-change", f"The prompt cannot be kept unchanged: {why}.", hint)


def _cut(text: str, document: YamlDocument) -> str | None:
    """The author's lines without ``systemPrompt``; None if the keys are not at the start of their lines."""
    keys = sorted(place for path, place in document.marks.items() if len(path) == 1)
    if any(column != 1 for _, column in keys):
        return None
    lines = text.split("\n")
    first = document.line(_PROMPT)
    last = next((line for line, _ in keys if line > first), len(lines) + 1)
    # Comments and blank lines right above the next key belong to that key.
    while last - 1 > first and last <= len(lines) and (not lines[last - 2].strip() or lines[last - 2].startswith("#")):
        last -= 1
    rest = [line for line in lines[: first - 1] + lines[last - 1 :] if line.rstrip() not in ("---", "...")]
    return "\n".join(rest).strip("\n") + "\n"


def _written(fields: dict[str, Any]) -> str:
    """One line per field; JSON is YAML."""
    dumped = ((key, json.dumps(json_safe(value), ensure_ascii=False)) for key, value in fields.items())
    return "".join(f"{json.dumps(key, ensure_ascii=False)}: {value}\n" for key, value in dumped)


def _fields(markdown: str) -> str | None:
    """The fields of the frontmatter as JSON, which distinguishes 1, 1.0 and true."""
    try:
        return repr(read_yaml(split(markdown).yaml).value)
    except (FrontmatterError, YamlError):
        return None
