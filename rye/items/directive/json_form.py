"""A directive as the JSON that ``rye show`` prints (DESIGN §9). The form is stable: fields are only ever added."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from rye.items.directive.input_values import InputDeclaration
from rye.items.directive.model import RELATIONS, Context, Cost, Directive, Hook, LegacyOutputs, Output, Process, Step


def as_json(directive: Directive) -> dict[str, Any]:
    """Return the parsed directive for ``rye show`` (DESIGN §9). Missing parts are null, an empty list or an empty object."""
    model = directive.model
    return {
        "name": directive.name,
        "version": directive.version,
        "description": directive.description,
        "category": directive.category,
        "author": directive.author,
        "title": directive.title,
        "introduction": directive.introduction,
        "model": None
        if model is None
        else {
            "tier": model.tier,
            "id": model.id,
            "fallback": model.fallback,
            "fallback_id": model.fallback_id,
            "text": model.text,
        },
        "limits": {name: _number(value) for name, value in directive.limits.items()},
        "permissions": [permission.capability for permission in directive.permissions],
        "cost": _cost_json(directive.cost),
        "context": _context_json(directive.context),
        "hooks": [_hook_json(hook) for hook in directive.hooks],
        "inputs": [_input_json(declaration) for declaration in directive.inputs],
        "outputs": _outputs_json(directive.outputs),
        "sections": [
            {"kind": section.kind, "attributes": dict(section.attributes), "text": section.text, "line": section.line}
            for section in directive.sections
        ],
        "process": None if directive.process is None else _process_json(directive.process),
        "success_criteria": [criterion.text for criterion in directive.success_criteria],
    }


def _number(value: int | Decimal | str) -> int | float | str:
    return float(value) if isinstance(value, Decimal) else value


def _cost_json(cost: Cost | None) -> dict[str, Any] | None:
    if cost is None:
        return None
    context, spend = cost.context, cost.spend
    return {
        "context": None
        if context is None
        else {
            "estimated_usage": context.estimated_usage,
            "turns": context.turns,
            "spawn_threshold": context.spawn_threshold,
            "max_tokens": context.max_tokens,
        },
        "duration": cost.duration,
        "spend": None if spend is None else {"currency": spend.currency, "amount": _number(spend.amount)},
    }


def _context_json(context: Context) -> dict[str, Any]:
    """The six relations by name. Each entry has the reference and its version range."""
    relations = {
        relation: [
            {"reference": found.reference, "version": found.range}
            for found in context.relations
            if found.relation == relation
        ]
        for relation in RELATIONS
    }
    return {"related_files": list(context.related_files), "dependencies": list(context.dependencies), **relations}


def _hook_json(hook: Hook) -> dict[str, Any]:
    execute = {"item_type": hook.item_type, "item_id": hook.item_id}
    return {"when": hook.when, "execute": execute, "inputs": dict(hook.inputs), "line": hook.line}


def _input_json(declaration: InputDeclaration) -> dict[str, Any]:
    return {
        "name": declaration.name,
        "type": declaration.type,
        "required": declaration.required,
        "default": declaration.default,
        "description": declaration.description,
    }


def _outputs_json(outputs: tuple[Output, ...] | LegacyOutputs) -> list[dict[str, Any]] | dict[str, str]:
    if isinstance(outputs, LegacyOutputs):
        given = (("success", outputs.success), ("failure", outputs.failure))
        return {name: text for name, text in given if text is not None}
    return [{"name": output.name, "type": output.type, "description": output.description} for output in outputs]


def _process_json(process: Process) -> dict[str, Any]:
    return {
        "steps": [_step_json(step) for step in process.steps],
        "text": process.text.strip("\n"),
        "line": process.line,
    }


def _step_json(step: Step) -> dict[str, Any]:
    actions = [
        {
            "primary": action.primary,
            "item_type": action.item_type,
            "item_id": action.item_id,
            "attributes": dict(action.attributes),
            "params": dict(action.params),
            "line": action.line,
        }
        for action in step.actions
    ]
    return {
        "name": step.name,
        "text": step.text,
        "description": step.description,
        "actions": actions,
        "line": step.line,
    }
