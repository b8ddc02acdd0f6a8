"""Runs a directive for a person: sets up models, directive and inputs, and starts the loop (``rye run``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from threading import Event
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from rye.errors import RyeError
from rye.items.directive.model import Directive
from rye.project.context import require_project
from rye.rendering.inputs import resolve
from rye.rendering.prompt import first_uses, render, source_of
from rye.runtime.chain import Chain, Level
from rye.runtime.effects import Ask, Tools
from rye.runtime.limits import Limits
from rye.runtime.opening import Opened, open_session
from rye.runtime.project_items import ProjectItems
from rye.runtime.rules import Rules
from rye.runtime.run.child_messages import ChildStart
from rye.runtime.run.children import Children, for_child
from rye.runtime.run.endpoint import Endpoint, Post
from rye.runtime.run.hooks import Hooks, Loops
from rye.runtime.run.http_post import HttpPost
from rye.runtime.run.loop import Loop, Progress, Watch, unpriced
from rye.runtime.run.models import candidates, with_choices
from rye.runtime.run.result import RunResult
from rye.runtime.run.user_models import Keys, user_models
from rye.runtime.sandboxed_tools import SandboxedTools
from rye.workspace.context import Context

AskInput = Callable[[str, str, str], str]
"""Asks a person for an input's value, given its name, type and description."""


class RunRequest(Struct, frozen=True):
    """What to run."""

    reference: str
    """``[directive:]ID[@VERSION]``."""
    texts: Mapping[str, str] = {}
    """Inputs as text."""
    values: Mapping[str, Any] = {}
    """Inputs as JSON."""
    choices: Mapping[str, str] = {}
    """``--model TIER=…``."""
    max_spend: Decimal | None = None
    """Dollars."""


class Faces(Struct, frozen=True):
    """How a run shows progress and asks questions."""

    watch: Watch = lambda progress: None
    ask: Ask = lambda question: None
    """Asks for approval of a call; None: no one can be asked."""
    ask_input: AskInput | None = None
    passphrase: Callable[[str], str] = lambda question: ""
    cancel: Event | None = None
    """Set to cancel the run."""


def run_directive(context: Context, request: RunRequest, faces: Faces, post: Post | None = None) -> RunResult:
    """Run a directive to its end. Raises RyeError if it cannot start: ``no-model``, ``unpriced-model``, invalid inputs, or an
    item that may not be used."""
    own = user_models(context.home, context.environment)
    limits = Limits(spend=request.max_spend) if request.max_spend is not None else None
    chosen = Keys(with_choices(own.models, request.choices, context.home.settings_file), own.keys)
    for tier, value in request.choices.items():
        if value not in own.models:
            where = f"{value!r} is used as the name of a model at {own.models[tier].url}"
            context.warn(f"[models.{value}] does not exist, so {where}; its prices are unknown.")
    return _run(context, chosen, own.names, faces, request, post, limits=limits)


def run_child(context: Context, start: ChildStart, faces: Faces, post: Post | None = None) -> RunResult:
    """Run a directive for another run. Raises RyeError; ``modified-item`` if the directive changed since the parent read it."""
    keys = Keys(start.models, start.keys)
    request = RunRequest(start.reference, values=start.inputs)
    return _run(
        context,
        keys,
        keys.names,
        faces,
        request,
        post,
        limits=start.limits,
        above=start.above,
        as_read=start.level,
        rules=start.rules,
    )


def _run(
    context: Context,
    keys: Keys,
    withheld: frozenset[str],
    faces: Faces,
    request: RunRequest,
    post: Post | None,
    limits: Limits | None = None,
    above: tuple[Level, ...] = (),
    as_read: Level | None = None,
    rules: Rules | None = None,
) -> RunResult:
    withheld |= keys.names
    children = _children(context, keys, withheld, faces)

    def tools(items: ProjectItems) -> Tools:
        return SandboxedTools(context, items, withheld)

    opened = open_session(
        context,
        request.reference,
        tools,
        ask=faces.ask,
        passphrase=faces.passphrase,
        children=children,
        binding="exclusive",
        above=above,
        limits=limits,
        rules=rules,
        secrets=keys.secrets,
    )
    session, item = opened.session, opened.directive
    assert item is not None
    assert item.directive is not None
    if as_read is not None and session.chain.caller != as_read:
        raise RyeError("modified-item", f"{item.label} changed after the parent run read it.", "Run it again.")
    children.session = session
    wanted = candidates(item.directive.model, keys.models, context.home.settings_file)
    if not wanted[0].priced and session.meter.left("spend") is not None:
        hint = f"Add input-price and output-price to [models.{wanted[0].tier}] in {context.home.settings_file}."
        raise RyeError("unpriced-model", unpriced(wanted[0]).message, hint)
    _require_dollars(item.directive, session.meter.left("spend") is not None)
    prompt = _prompt(item.directive, request, faces.ask_input)
    loops = Loops()
    watch, cancel = faces.watch, faces.cancel or Event()

    def told(hook: Any, how: str) -> None:
        watch(
            Progress(
                what="hook", turn=0, spend=None, text=f"{hook.item_type}:{hook.item_id}", outcome=how, run=session.run
            )
        )

    def wait(seconds: float) -> None:
        watch(
            Progress(
                what="asking",
                turn=0,
                spend=None,
                text=f"the endpoint is busy or unreachable; waiting {seconds:.0f} s",
                run=session.run,
            )
        )
        if cancel.wait(seconds):
            raise KeyboardInterrupt  # the signal may have come where a library swallows the exception

    http = HttpPost()
    try:
        loop = Loop(
            session,
            prompt,
            wanted,
            Endpoint(post or http, keys.keys, wait, context.now),
            Hooks(session, item.directive, session.chain.caller, loops, told),
            loops,
            cancel=cancel,
            watch=watch,
            log=_log(opened),
        )
        result = loop.run()
        return replace(result, priced=result.priced and children.priced)
    finally:
        http.close()


def _require_dollars(directive: Directive, limited: bool) -> None:
    """Raise RyeError ``unpriced-model`` for a limit in another currency, unless a limit in dollars also applies."""
    spend = directive.cost.spend if directive.cost is not None else None
    if spend is not None and not spend.in_dollars and not limited:
        message = f"The directive's limit is {spend.amount} {spend.currency}, but prices of models are in dollars."
        raise RyeError("unpriced-model", message, "Set a limit in dollars with --max-spend N.")


def _prompt(directive: Directive, request: RunRequest, ask: AskInput | None) -> str:
    source = source_of(directive)
    uses = first_uses(source)
    texts = dict(request.texts)
    if ask is not None:
        for declared in directive.inputs:
            given = declared.name in texts or declared.name in request.values
            if declared.required and declared.default is None and not given:
                texts[declared.name] = ask(declared.name, declared.type, declared.description)
    return render(source, resolve(directive.inputs, texts, request.values, uses=uses))


def _children(context: Context, keys: Keys, withheld: frozenset[str], faces: Faces) -> Children:
    root = require_project(context.cwd).root

    def start(reference: str, inputs: Mapping[str, object], chain: Chain, limits: Limits, rules: Rules) -> ChildStart:
        return ChildStart(
            project=str(root),
            reference=reference,
            level=chain.caller,
            inputs=dict(inputs),
            above=chain.levels[:-1],
            limits=limits,
            rules=rules,
            models=dict(keys.models),
            keys=dict(keys.keys),
            registry=context.registry,
            offline=context.offline,
        )

    return Children(start, for_child(context.environment, withheld, root), faces.ask, faces.watch)


def _log(opened: Opened) -> str:
    return opened.session.recording.path.relative_to(opened.project.root).as_posix()
