"""One unsigned file of every kind and comment style, with a sample of each region that a reader distinguishes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

NOW = datetime(2026, 3, 1, 12, 30, 5, tzinfo=UTC)


@dataclass(frozen=True)
class Sample:
    """``regions``: name → text that occurs once in the file. ``line``: the number of the signature line, from 1."""

    name: str
    kind: str
    file_name: str
    text: str
    prefix: str
    line: int
    regions: dict[str, str]


_DIRECTIVE = """\
# Deploy

Deploys the service.

```xml
<directive name="deploy" version="1.0.0">
  <metadata>
    <description>Deploy</description>
    <permissions><search>*</search></permissions>
  </metadata>
</directive>
```

<process>
  <step name="go">Run it.</step>
</process>

<success_criteria>
<criterion>It ran</criterion>
</success_criteria>
"""
_FENCED_KNOWLEDGE = "```yaml\nname: facts\nversion: 1.0.0\n```\n\n# Facts\n\nWater is wet.\n"
_FRONT_KNOWLEDGE = "---\nname: facts\nversion: 1.0.0\n---\n\n# Facts\n\nWater is wet.\n"
_AGENT = (
    '---\nname: planner\nwhenToUse: "To plan"\n---\n\n# Planner\n\n## System Prompt\n\nYou plan.\n\n## Notes\n\nnone\n'
)
_ROLE = "# Builder — Nexus SDLC Agent\n\n> Builds things.\n\n## Identity\n\nYou build.\n"
_SKILL = "---\nname: pdf-tools\ndescription: Read PDF files.\n---\n\n# PDF\n\nUse the script.\n"
_FORMULA = 'formula = "tidy"\nversion = 1\n\n[[steps]]\nid = "sweep"\ntitle = "Sweep"\n'
_BUNDLE = 'name = "starter"\nversion = "1.0.0"\n\n[[members]]\nid = "directive:acme/ops/deploy"\nversion = "1.2.0"\n'
_PY = '"""Greets."""\n\n__version__ = "1.0.0"\n\nprint("hello")\n'
_JS = 'const __version__ = "1.0.0";\nconsole.log("hello");\n'
_SH = '__version__="1.0.0"\necho hello\n'
_YAML = "name: fetch\nversion: 1.0.0\nrun: curl\n"

_DIRECTIVE_REGIONS = {
    "title": "# Deploy",
    "text before the fence": "Deploys the service.",
    "fence opener": "```xml",
    "permissions": "<search>*</search>",
    "fence closer": "</directive>\n```",
    "process": "Run it.",
    "criteria": "It ran",
}

SAMPLES: tuple[Sample, ...] = (
    Sample("directive", "directive", "deploy.md", _DIRECTIVE, "<!-- ", 1, _DIRECTIVE_REGIONS),
    Sample(
        "knowledge with a yaml fence",
        "knowledge",
        "facts.md",
        _FENCED_KNOWLEDGE,
        "<!-- ",
        1,
        {"fence": "name: facts", "title": "# Facts", "body": "wet"},
    ),
    Sample(
        "knowledge with frontmatter",
        "knowledge",
        "facts.md",
        _FRONT_KNOWLEDGE,
        "# ",
        2,
        {"frontmatter": "name: facts", "closer": "1.0.0\n---", "body": "wet"},
    ),
    Sample("python tool", "tool", "a.py", _PY, "# ", 1, {"docstring": "Greets", "version": "1.0.0", "code": "hello"}),
    Sample(
        "python tool with shebang",
        "tool",
        "a.py",
        "#!/usr/bin/env python3\n" + _PY,
        "# ",
        2,
        {"shebang": "env python3", "docstring": "Greets", "code": "hello"},
    ),
    Sample("javascript tool", "tool", "a.js", _JS, "// ", 1, {"version": "1.0.0", "code": "hello"}),
    Sample(
        "javascript tool with shebang",
        "tool",
        "a.js",
        "#!/usr/bin/env node\n" + _JS,
        "// ",
        2,
        {"shebang": "env node", "version": "1.0.0", "code": "hello"},
    ),
    Sample("typescript tool", "tool", "a.ts", _JS, "// ", 1, {"version": "1.0.0", "code": "hello"}),
    Sample("shell tool", "tool", "a.sh", _SH, "# ", 1, {"version": "1.0.0", "code": "hello"}),
    Sample(
        "shell tool with shebang",
        "tool",
        "a.sh",
        "#!/bin/sh\n" + _SH,
        "# ",
        2,
        {"shebang": "/bin/sh", "version": "1.0.0", "code": "hello"},
    ),
    Sample("yaml tool", "tool", "a.yaml", _YAML, "# ", 1, {"name": "fetch", "run": "curl"}),
    Sample("yaml tool with a marker", "tool", "a.yaml", "---\n" + _YAML, "# ", 2, {"name": "fetch", "run": "curl"}),
    Sample(
        "agent",
        "agent",
        "planner.md",
        _AGENT,
        "# ",
        2,
        {"frontmatter": "To plan", "prompt": "You plan", "notes": "none"},
    ),
    Sample("role", "role", "builder.md", _ROLE, "<!-- ", 1, {"title": "# Builder", "body": "You build"}),
    Sample("formula", "formula", "tidy.formula.toml", _FORMULA, "# ", 1, {"head": "tidy", "step": "Sweep"}),
    Sample("skill", "skill", "SKILL.md", _SKILL, "# ", 2, {"frontmatter": "Read PDF", "body": "Use the script"}),
    Sample("bundle", "bundle", "starter.bundle.toml", _BUNDLE, "# ", 1, {"head": "starter", "member": "1.2.0"}),
)
IDS = [sample.name for sample in SAMPLES]
