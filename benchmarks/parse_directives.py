"""Time to read 2,000 realistic directives in full, compared with the least that any reader must do.

The baselines in the same run: lxml alone on the fences' XML, without finding fences, positions or rules; and markdown-it-py on
the whole files, which a reader built on it would need first. Prints CPU seconds (other programs on the same core affect them
less than wall-clock time), time per file and ratios; exits with 1 if the 2,000 take two seconds or more. The rounds of all three
alternate, and the best of each counts.

    python benchmarks/parse_directives.py
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from random import Random

from lxml import etree
from markdown_it import MarkdownIt

from rye.items.directive.reader import read
from rye.items.reading import ReadOptions, Source

COUNT = 2_000
SECONDS = 2.0

_WORDS = [
    *("deploy", "verify", "collect", "report", "bundle", "registry", "staging"),
    *("release", "monitor", "index", "archive", "notify", "approve", "rotate"),
]


def directive(random: Random, number: int) -> str:
    """A realistic directive: one to five inputs, three to six steps, some with hooks and relations."""
    name = f"{random.choice(_WORDS)}_{random.choice(_WORDS)}_{number}"
    sentence = " ".join(random.choices(_WORDS, k=12))
    inputs = "".join(
        f'    <input name="{word}" type="string" required="true">\n      The {word} to use (e.g., "{word}-1")\n    </input>\n'
        for word in random.sample(_WORDS, random.randint(1, 5))
    )
    steps = "".join(
        f'  <step name="step_{index}">\n    {sentence.capitalize()}.\n\n    1. First & foremost\n    2. A ```xml fenced block\n'
        f'    `rye_execute(item_type="tool", item_id="rye/file-system/write", parameters={{"path": "{word}/{{ext}}"}})`\n'
        "  </step>\n\n"
        for index, word in enumerate(random.choices(_WORDS, k=random.randint(3, 6)))
    )
    hooks = (
        "    <hooks>\n      <hook>\n        <when>cost.current &gt; cost.limit * 0.9</when>\n"
        '        <execute item_type="directive">warn-cost</execute>\n      </hook>\n    </hooks>\n'
        if random.random() < 0.3
        else ""
    )
    return f"""<!-- rye:signed:2026-02-26T06:42:50Z:{random.getrandbits(256):064x}:{"A" * 86}==:4b987fd4e40303ac -->
# {name.replace("_", " ").title()}

{sentence.capitalize()}.

```xml
<directive name="{name}" version="1.{random.randint(0, 20)}.0">
  <metadata>
    <description>{sentence.capitalize()}</description>
    <category>team/{random.choice(_WORDS)}</category>
    <author>team</author>
    <model tier="fast" />
    <limits turns="8" tokens="4096" />
    <permissions>
      <execute>
        <tool>rye.file-system.*</tool>
      </execute>
      <search>
        <directive>*</directive>
      </search>
    </permissions>
    <cost>
      <context estimated_usage="medium" turns="8">4096</context>
    </cost>
    <context>
      <depends_on version="^1.2">team/{random.choice(_WORDS)}/{random.choice(_WORDS)}</depends_on>
    </context>
{hooks}  </metadata>

  <inputs>
{inputs}  </inputs>

  <outputs>
    <output name="path">Path to the file</output>
    <output name="signed">Whether it was signed</output>
  </outputs>
</directive>
```

<process>
{steps}</process>

<success_criteria>
  <criterion>The file exists</criterion>
  <criterion>{sentence.capitalize()}</criterion>
</success_criteria>
"""


Work = tuple[str, Callable[[str], object], list[str]]


def best(works: tuple[Work, ...], rounds: int = 5) -> list[tuple[str, float]]:
    """CPU seconds for all texts, for each reader: the fastest of a few alternating rounds."""
    times: dict[str, list[float]] = {}
    for _ in range(rounds):
        for name, work, texts in works:
            started = time.process_time()
            for text in texts:
                work(text)
            times.setdefault(name, []).append(time.process_time() - started)
    return [(name, min(taken)) for name, taken in times.items()]


def main() -> int:
    random = Random(1)
    texts = [directive(random, number) for number in range(COUNT)]
    fences = [text[text.index("<directive") : text.rindex("</directive>") + 12] for text in texts]
    options = ReadOptions()
    for text in texts[:50]:
        reading = read(Source(text), options)
        assert reading.ok
        assert reading.value is not None
        assert reading.value.process is not None
        assert reading.value.process.steps

    rows = best(
        (
            ("read in full", lambda text: read(Source(text), options), texts),
            ("bound: lxml alone", etree.fromstring, fences),
            ("bound: markdown-it-py", MarkdownIt("commonmark").parse, texts),
        )
    )
    whole = rows[0][1]
    print(f"{COUNT:,} directives of {sum(map(len, texts)) / COUNT:,.0f} characters on average")
    for name, seconds in rows:
        print(
            f"{name:24}{seconds:6.2f} s  {seconds / COUNT * 1e6:7.0f} µs each  read in full / this: {whole / seconds:6.2f}"
        )
    return 0 if whole < SECONDS else 1


if __name__ == "__main__":
    sys.exit(main())
