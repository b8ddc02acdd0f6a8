"""A directive's text as an author writes it: valid by default, with every part replaceable."""

from __future__ import annotations

from collections.abc import Sequence

_DIRECTIVE = """# {name}

{text}

```xml
<directive name="{name}" version="{version}">
  <metadata>
    <description>{text}</description>
    <category>{category}</category>
    <author>tester</author>
    <model tier="fast">any</model>
    <limits max_turns="5" max_tokens="1000"/>
    <permissions>{permissions}</permissions>
    <cost>
      <context estimated_usage="low" turns="5">1000</context>
      <duration>60</duration>
      <spawn_threshold>1</spawn_threshold>
    </cost>
    <context>{relations}</context>
    {hooks}
  </metadata>
  <outputs><output name="result">What came of it</output></outputs>
</directive>
```

<process>
  <step name="only">{text}</step>
</process>
"""
_HOOK = '<hook><when>{when}</when><execute item_type="tool">{item}</execute><inputs><amount>{amount}</amount></inputs></hook>'
SEARCH = "<search><tool>*</tool></search>"
SHELL = SEARCH + "<execute><tool>shell.run</tool></execute>"


def directive(
    local_id: str,
    version: str = "1.0.0",
    *,
    text: str = "Do the work.",
    permissions: str = SEARCH,
    depends: Sequence[tuple[str, str]] = (),
    conflicts: Sequence[tuple[str, str]] = (),
    hooks: Sequence[tuple[str, str, str]] = (),
) -> str:
    """The text, unsigned. ``depends``, ``conflicts``: (reference, range); ``hooks``: (when, tool, amount)."""
    category, _, name = local_id.rpartition("/")
    listed = "".join(_HOOK.format(when=when, item=item, amount=amount) for when, item, amount in hooks)
    return _DIRECTIVE.format(
        name=name,
        version=version,
        category=category,
        text=text,
        permissions=permissions,
        relations="".join(
            f'<{relation} version="{wanted}">{reference}</{relation}>'
            for relation, pairs in (("depends_on", depends), ("conflicts_with", conflicts))
            for reference, wanted in pairs
        ),
        hooks=f"<hooks>{listed}</hooks>" if listed else "",
    )
