"""The text of a new directive with only the required parts; it passes ``rye validate --strict`` as it is."""

from __future__ import annotations

import re

from rye.errors import UsageError
from rye.items.directive.xml_document import escape
from rye.items.identity import is_id
from rye.text.lazy import lazy_pattern

_NAME = lazy_pattern(r"[a-z][a-z0-9_]{0,63}")

_TEXT = """\
# {title}

{introduction}

```xml
<directive name="{name}" version="0.1.0">
  <metadata>
    <description>{description}</description>
    <category>{category}</category>
    <author>{author}</author>
    <model tier="general" />
    <permissions>
      <search>
        <knowledge>*</knowledge>
      </search>
    </permissions>
    <cost>
      <context estimated_usage="low" turns="6">4096</context>
    </cost>
  </metadata>

  <inputs>
    <input name="subject" type="string" required="true">
      What to work on
    </input>
  </inputs>

  <outputs>
    <output name="summary">What was done, in a few sentences</output>
  </outputs>
</directive>
```

## Process

<process>
  <step name="gather_knowledge">
    Find what this project's files and knowledge say about {{input:subject}}. If there is a tool named rye_search, use it:
    `rye_search(item_type="knowledge", query="{{input:subject}}")`
  </step>

  <step name="summarize">
    Say in a few sentences what was found, and name its sources.
  </step>
</process>

## Rules

- State here what must never happen.

## Success criteria

<success_criteria>
  <criterion>The summary names every source that it uses</criterion>
</success_criteria>
"""


def template(name: str, category: str, author: str | None = None) -> str:
    """What ``rye new directive`` writes: :func:`new_directive` with its placeholder description."""
    return new_directive(name, category, author=author)


def new_directive(name: str, category: str, description: str | None = None, author: str | None = None) -> str:
    """Return a valid directive for ``directives/<category>/<name>.md``. Raises UsageError for an invalid name or category."""
    if _NAME.fullmatch(name) is None:
        raise UsageError(
            "bad-argument",
            f"{name!r} is not a valid directive name: names are snake_case.",
            "Use lower-case letters, digits and `_`, starting with a letter.",
            what="item name",
        )
    if not is_id(category):
        raise UsageError(
            "bad-argument",
            f"{category!r} is not a valid category: categories are lower-case folders joined by '/'.",
            "Use a category such as workflows or team/release.",
            what="category",
        )
    words = " ".join((description or "").split()) or f"Say here what {name} does"
    title = name.replace("_", " ").capitalize()
    return _TEXT.format(
        title=title,
        introduction=_plain(words),
        name=name,
        description=escape(words),
        category=category,
        author=escape(" ".join((author or "your-name").split()) or "your-name"),
    )


def _plain(words: str) -> str:
    """Escape a sentence so that it opens no block and no tag in Markdown: a description must not start a fence or a process."""
    shown = re.sub(r"([\\`*<>#~\[\]{}]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))", r"\\\1", words)
    shown = re.sub(r"^([-+=]|\d+(?=[.)]))", r"\\\1", shown)
    return shown if shown.endswith((".", "!", "?")) else f"{shown}."
