"""One unsigned file of every kind and comment style, with a sample of each region that a reader distinguishes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

NOW = datetime(2026, 3, 1, 12, 30, 5, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
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
    Sample(
        name="directive",
        kind="directive",
        file_name="deploy.md",
        text=_DIRECTIVE,
        prefix="<!-- ",
        line=1,
        regions=_DIRECTIVE_REGIONS,
    ),
    Sample(
        name="knowledge with a yaml fence",
        kind="knowledge",
        file_name="facts.md",
        text=_FENCED_KNOWLEDGE,
        prefix="<!-- ",
        line=1,
        regions={"fence": "name: facts", "title": "# Facts", "body": "wet"},
    ),
    Sample(
        name="knowledge with frontmatter",
        kind="knowledge",
        file_name="facts.md",
        text=_FRONT_KNOWLEDGE,
        prefix="# ",
        line=2,
        regions={"frontmatter": "name: facts", "closer": "1.0.0\n---", "body": "wet"},
    ),
    Sample(
        name="python tool",
        kind="tool",
        file_name="a.py",
        text=_PY,
        prefix="# ",
        line=1,
        regions={"docstring": "Greets", "version": "1.0.0", "code": "hello"},
    ),
    Sample(
        name="python tool with shebang",
        kind="tool",
        file_name="a.py",
        text="#!/usr/bin/env python3\n" + _PY,
        prefix="# ",
        line=2,
        regions={"shebang": "env python3", "docstring": "Greets", "code": "hello"},
    ),
    Sample(
        name="javascript tool",
        kind="tool",
        file_name="a.js",
        text=_JS,
        prefix="// ",
        line=1,
        regions={"version": "1.0.0", "code": "hello"},
    ),
    Sample(
        name="javascript tool with shebang",
        kind="tool",
        file_name="a.js",
        text="#!/usr/bin/env node\n" + _JS,
        prefix="// ",
        line=2,
        regions={"shebang": "env node", "version": "1.0.0", "code": "hello"},
    ),
    Sample(
        name="typescript tool",
        kind="tool",
        file_name="a.ts",
        text=_JS,
        prefix="// ",
        line=1,
        regions={"version": "1.0.0", "code": "hello"},
    ),
    Sample(
        name="shell tool",
        kind="tool",
        file_name="a.sh",
        text=_SH,
        prefix="# ",
        line=1,
        regions={"version": "1.0.0", "code": "hello"},
    ),
    Sample(
        name="shell tool with shebang",
        kind="tool",
        file_name="a.sh",
        text="#!/bin/sh\n" + _SH,
        prefix="# ",
        line=2,
        regions={"shebang": "/bin/sh", "version": "1.0.0", "code": "hello"},
    ),
    Sample(
        name="yaml tool",
        kind="tool",
        file_name="a.yaml",
        text=_YAML,
        prefix="# ",
        line=1,
        regions={"name": "fetch", "run": "curl"},
    ),
    Sample(
        name="yaml tool with a marker",
        kind="tool",
        file_name="a.yaml",
        text="---\n" + _YAML,
        prefix="# ",
        line=2,
        regions={"name": "fetch", "run": "curl"},
    ),
    Sample(
        name="agent",
        kind="agent",
        file_name="planner.md",
        text=_AGENT,
        prefix="# ",
        line=2,
        regions={"frontmatter": "To plan", "prompt": "You plan", "notes": "none"},
    ),
    Sample(
        name="role",
        kind="role",
        file_name="builder.md",
        text=_ROLE,
        prefix="<!-- ",
        line=1,
        regions={"title": "# Builder", "body": "You build"},
    ),
    Sample(
        name="formula",
        kind="formula",
        file_name="tidy.formula.toml",
        text=_FORMULA,
        prefix="# ",
        line=1,
        regions={"head": "tidy", "step": "Sweep"},
    ),
    Sample(
        name="skill",
        kind="skill",
        file_name="SKILL.md",
        text=_SKILL,
        prefix="# ",
        line=2,
        regions={"frontmatter": "Read PDF", "body": "Use the script"},
    ),
    Sample(
        name="bundle",
        kind="bundle",
        file_name="starter.bundle.toml",
        text=_BUNDLE,
        prefix="# ",
        line=1,
        regions={"head": "starter", "member": "1.2.0"},
    ),
)
IDS = [sample.name for sample in SAMPLES]
