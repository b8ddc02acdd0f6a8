"""Files of items with their signature line (docs/reference/item-signatures.md)."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence

from conformance.simulator.keys import Key, sha256

SIGNED_AT = "2026-01-01T00:00:00Z"


def skill(name: str = "pdf", version: str = "1.0.0", body: str = "Fill in forms.") -> str:
    return f'---\nname: {name}\ndescription: Fills in forms\nmetadata:\n  version: "{version}"\n---\n\n# {name}\n\n{body}\n'


def directive(
    name: str,
    version: str = "1.0.0",
    *,
    tools: Sequence[str] = (),
    depends: Sequence[tuple[str, str]] = (),
    conflicts: Sequence[tuple[str, str]] = (),
    requires: Sequence[tuple[str, str]] = (),
    hooks: Sequence[str] = (),
) -> str:
    """``tools`` that it may execute, relations as (reference, range), ``hooks``: the tools that they execute."""
    rights = "".join(f"<tool>{tool}</tool>" for tool in tools)
    permissions = f"<execute>{rights}</execute>" if rights else "<search><tool>*</tool></search>"
    pairs = (("depends_on", depends), ("requires", requires), ("conflicts_with", conflicts))
    related = "".join(
        f'<{relation} version="{wanted}">{reference}</{relation}>'
        for relation, listed in pairs
        for reference, wanted in listed
    )
    hooked = "".join(
        f'<hook><when>cost.current &gt; 1</when><execute item_type="tool">{tool}</execute></hook>' for tool in hooks
    )
    return f"""# {name}

Do the work.

```xml
<directive name="{name}" version="{version}">
  <metadata>
    <description>Do the work</description>
    <category>tools</category>
    <author>acme</author>
    <model tier="low"/>
    <limits turns="3" tokens="2048"/>
    <permissions>{permissions}</permissions>
    <context>{related}</context>
    {f"<hooks>{hooked}</hooks>" if hooked else ""}
  </metadata>
  <outputs><output name="result">What came of it</output></outputs>
</directive>
```

<process>
  <step name="only">Do the work.</step>
</process>
"""


def signature_line(
    rest: str,
    key: Key,
    *,
    marker: str = "rye",
    time: str = SIGNED_AT,
    damage: Callable[[bytes], bytes] = bytes,
    key_id: str | None = None,
) -> str:
    """``rye:signed:…`` over a text, in the current form, without its comment. ``key_id``: another than the key's."""
    digest = sha256(rest)
    encoded = base64.urlsafe_b64encode(damage(key.sign(digest.encode()))).decode()
    return f"{marker}:signed:{time}:{digest}:{encoded}:{key_id or key.item_key_id}"


def with_line(rest: str, line: str) -> str:
    """The text with a signature line at its canonical place: line 2 of frontmatter and below a shebang, otherwise line 1."""
    if rest.startswith(("---\n", "#!")):
        first, _, body = rest.partition("\n")
        return f"{first}\n# {line}\n{body}"
    return f"<!-- {line} -->\n{rest}"


def signed(rest: str, key: Key) -> bytes:
    """A Markdown file as its author publishes it."""
    return with_line(rest, signature_line(rest, key)).encode()
