"""Texts of items of every kind but directives (:mod:`tests.scenes.directive_text`), short and valid."""

from __future__ import annotations

from tests.scenes.directive_text import SHELL, directive

SKILL = """---
name: {name}
description: {description}
{more}metadata:
  version: "1.0.0"
---

# {name}

{body}
"""
AGENT = """---
name: {name}
displayName: {name}
whenToUse: |
  Use it when: "{name}" is needed
{tools}transitions:
  onSuccess: complete
limits:
  maxIterations: 7
  timeout: 60000
provider:
  name: claude
  model: sonnet
metadata:
  version: 1.0.0
---

# {name}

## System Prompt

You are {name}.
"""
ROLE = """# Release Manager — Nexus SDLC Agent

> Ships what is done.

## Identity

You ship.

## When This Agent Is Invoked

When a release is due.

## Responsibilities

- Ship.
"""
KNOWLEDGE = """```yaml
name: {name}
title: "{title}"
entry_type: reference
category: notes
version: "1.0.0"
description: {description}
```

# {title}

Write short sentences.
"""
FORMULA = """formula = "{name}"
type = "workflow"
description = "How to ship"
version = 1

[vars.what]
description = "What to ship"
required = true

[[steps]]
id = "build"
title = "Build {{{{what}}}}"
description = "Build it."

[[steps]]
id = "ship"
title = "Ship"
description = "Ship it."
needs = ["build"]
"""
READ_ONLY = "tools:\n  allowed: [Read, Glob, Grep]\n"


def skill(name: str, *, more: str = "", body: str = "Do it.", description: str = "Does it.") -> str:
    return SKILL.format(name=name, description=description, more=more, body=body)


def agent(name: str, tools: str = READ_ONLY) -> str:
    return AGENT.format(name=name, tools=tools)


def knowledge(name: str, title: str = "Style", description: str = "How we write") -> str:
    return KNOWLEDGE.format(name=name, title=title, description=description)


def wrapped(name: str = "work/plan") -> str:
    """A directive without execute rights."""
    return directive(name)


def bound(name: str = "work/ship") -> str:
    """A directive with execute rights."""
    return directive(name, permissions=SHELL)
