"""The packages that every tool installs: a graph of packages, each with one small text."""

from __future__ import annotations

TEXT = """# {name}

A small directive for measuring.

```xml
<directive name="{name}" version="1.0.0">
  <metadata>
    <description>Measured item {name}</description>
    <category>bench</category>
    <author>bench</author>
    <model tier="fast">any</model>
    <limits max_turns="5" max_tokens="1000"/>
    <permissions><search><tool>*</tool></search><execute><tool>bench.read</tool></execute></permissions>
    <context>{needs}</context>
  </metadata>
  <inputs><input name="what" type="string" required="true">What to work on</input></inputs>
  <outputs><output name="result">What came of it</output></outputs>
</directive>
```

<process>
  <step name="look">Look at {{input:what}} and describe what is there in a few words.</step>
  <step name="tell">Tell what came of it.</step>
</process>
"""


def name_of(number: int) -> str:
    """Letters that no tool's naming rules treat as equal."""
    return "p" + "".join("abcdefghjk"[int(digit)] for digit in f"{number:05d}")


def graph(size: int) -> dict[str, list[str]]:
    """Package → what it depends on. One in twenty is at the top; every other package is needed by another."""
    tops = max(1, size // 20)
    needs: dict[str, list[str]] = {name_of(number): [] for number in range(size)}
    for number in range(tops, size):
        by = (number - tops) // 4 if number < tops * 5 else (number - tops * 5) % (tops * 4) + tops
        needs[name_of(by)].append(name_of(number))
    return needs


def tops_of(size: int) -> list[str]:
    """The project's direct dependencies."""
    return [name_of(number) for number in range(max(1, size // 20))]
