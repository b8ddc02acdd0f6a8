"""Every code that the source raises, found by following what reaches the ``code`` of an error, a finding or a refusal.

The search starts at the classes that carry a code (:data:`CARRIERS`, and every subclass of RyeError) and examines each
call of them. A literal is a code. A name is followed to its assignments or, if it is a parameter, to the calls of its
function. What cannot be followed (``error.code`` of an error that is passed on) is reported as such, and ``test_table``
gives the reason why each of those adds no code.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from tests.house.trees import tree, uncollected

ROOT = Path(__file__).parents[2]
CODE = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*|[A-Z]{1,2}\d{1,3}")
CARRIERS: Mapping[tuple[str, str], tuple[str, int]] = {
    ("rye.text.diagnostics", "Diagnostic"): ("code", 1),
    ("rye.runtime.calls", "CallError"): ("code", 0),
    ("rye.runtime.run.result", "RunProblem"): ("code", 0),
    ("rye.deployment.plan_values", "Refused"): ("code", 3),
    ("rye.deployment.targets.protocol", "Widening"): ("code", 1),
    ("rye.deployment.targets.protocol", "Refusal"): ("code", 1),
    ("rye.installation.audit.finding", "Finding"): ("rule", 0),
    ("rye.installation.completeness", "Problem"): ("rule", 0),
    ("rye.registry.trust.auditing", "Finding"): ("code", 1),
}
"""Class → the parameter that is a code, and its position, for classes that are not a RyeError."""
_BASE = ("rye.errors", "RyeError")
_Function = ast.FunctionDef | ast.AsyncFunctionDef
Key = tuple[str, str]


class Site(Struct, frozen=True):
    """One place that raises a code."""

    code: str
    carrier: str
    """The class that carries it: ``RyeError``, ``UsageError``, ``Diagnostic`` …"""
    status: int | None
    """The exit status of an error; None if it is not an error."""
    path: str
    line: int
    call: str
    """The call, as source text."""


class Sink(Struct, frozen=True):
    """A parameter that is a code."""

    parameter: str
    position: int
    carrier: str
    status: int | None


class Module(Struct):
    name: str
    path: str
    tree: ast.Module
    imports: dict[str, Key]
    assigned: dict[str, list[ast.expr]]


class Reading:
    """One reading of all modules; ``sites`` and ``unread`` hold the results."""

    def __init__(self, root: Path = ROOT, packages: tuple[str, ...] = ("rye", "registry_server")):
        self.modules: dict[str, Module] = {}
        self.parents: dict[ast.AST, ast.AST] = {}
        self.classes: dict[Key, ast.ClassDef] = {}
        self.functions: dict[Key, list[_Function]] = defaultdict(list)
        self.statuses: dict[Key, int] = {}
        self.sinks: dict[Key, set[Sink]] = defaultdict(set)
        self._heirs: dict[Key, set[str]] = defaultdict(set)
        self._calls: list[tuple[Module, ast.Call]] = []
        self.sites: set[Site] = set()
        self.unread: set[tuple[str, str]] = set()
        """Path and expression of each code that could not be followed."""
        with uncollected():
            for package in packages:
                for path in sorted((root / package).rglob("*.py")):
                    self._load(path, root)
        self._find_heirs()
        self._find_carriers()
        self._follow()

    # -- loading -------------------------------------------------------------------------------------------------------

    def _load(self, path: Path, root: Path) -> None:
        name = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
        module = Module(name, str(path.relative_to(root)), tree(path.read_text("utf-8")), {}, defaultdict(list))
        self.modules[name] = module
        waiting: list[ast.AST] = [module.tree]
        while waiting:
            node = waiting.pop()
            for child in _children(node):
                self.parents[child] = node
                waiting.append(child)
            if isinstance(node, ast.Call):
                self._calls.append((module, node))
            elif isinstance(node, ast.ImportFrom) and node.module:
                module.imports.update((one.asname or one.name, (node.module, one.name)) for one in node.names)
            elif isinstance(node, ast.ClassDef):
                self.classes[name, node.name] = node
            elif isinstance(node, _Function):
                self.functions[name, node.name].append(node)
        for statement in module.tree.body:
            for target, value in _assignments(statement):
                module.assigned[target].append(value)

    def _bases(self, key: Key) -> list[Key]:
        module = self.modules[key[0]]
        return [self._named(module, base) for base in self.classes[key].bases]

    def _named(self, module: Module, node: ast.expr) -> Key:
        if isinstance(node, ast.Attribute):
            inner = module.imports.get(node.value.id) if isinstance(node.value, ast.Name) else None
            if inner is None:
                return (module.name, node.attr)
            whole = ".".join(inner)
            return (whole if whole in self.modules else inner[0], node.attr)
        name = node.id if isinstance(node, ast.Name) else ""
        return module.imports.get(name, (module.name, name))

    def _find_heirs(self) -> None:
        """Class → the modules with a subclass of it."""
        for key in self.classes:
            waiting, seen = self._bases(key), set()
            while waiting:
                base = waiting.pop()
                if base in self.classes and base not in seen:
                    seen.add(base)
                    self._heirs[base].add(key[0])
                    waiting += self._bases(base)

    def _find_carriers(self) -> None:
        self.statuses[_BASE] = 1
        waiting = True
        while waiting:
            waiting = False
            for key in self.classes:
                base = next((one for one in self._bases(key) if one in self.statuses), None)
                if key not in self.statuses and base is not None:
                    self.statuses[key] = _own_status(self.classes[key], self.statuses[base])
                    waiting = True
        for key, status in self.statuses.items():
            own = next((one for one in self.functions[key[0], "__init__"] if self._class_of(one) == key[1]), None)
            if own is None or "code" in _names(own):
                self.sinks[key].add(Sink("code", 0, key[1], status))
        for key, (parameter, position) in CARRIERS.items():
            self.sinks[key].add(Sink(parameter, position, key[1], None))

    # -- following -----------------------------------------------------------------------------------------------------

    def _follow(self) -> None:
        known = -1
        while known != sum(map(len, self.sinks.values())):
            known = sum(map(len, self.sinks.values()))
            self.unread.clear()
            methods: dict[Key, set[Sink]] = defaultdict(set)
            for key, sinks in self.sinks.items():
                for inside in {self._class_of(one) for one in self.functions.get(key, ())} - {None}:
                    for name in {key[0], *self._heirs[key[0], str(inside)]}:
                        methods[_folder(name), key[1]] |= sinks
            for module, call in self._calls:
                for sink in self._reached(module, call, methods):
                    given = _argument(call, sink)
                    if given is not None:
                        for code in self._values(module, given, sink, call):
                            self.sites.add(self._site(module, call, code, sink))

    def _site(self, module: Module, call: ast.Call, code: str, sink: Sink) -> Site:
        return Site(code, sink.carrier, sink.status, module.path, call.lineno, ast.unparse(call))

    def _reached(self, module: Module, call: ast.Call, methods: Mapping[Key, set[Sink]]) -> set[Sink]:
        function = call.func
        if isinstance(function, ast.Attribute):
            if ast.unparse(function.value) == "super()":
                inside = self._enclosing(call, ast.ClassDef)
                assert isinstance(inside, ast.ClassDef)
                key = (module.name, inside.name)
                above = {sink for base in self._bases(key) for sink in self.sinks.get(base, ())}
                return {replace(sink, carrier=key[1], status=self.statuses.get(key)) for sink in above}
            named = self._named(module, function)
            if named in self.sinks:
                return self.sinks[named]
            return set() if function.attr.startswith("_") else methods.get((_folder(module.name), function.attr), set())
        if isinstance(function, ast.Name):
            return self.sinks.get(self._named(module, function), set())
        return set()

    def _values(self, module: Module, node: ast.expr, sink: Sink, call: ast.AST, depth: int = 0) -> Iterator[str]:
        """The possible codes of an expression; what cannot be followed is added to ``unread``."""
        followed = self._step(module, node, sink, call) if depth < 6 else None
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str) and CODE.fullmatch(node.value):
                yield node.value
        elif followed is None:
            self.unread.add((module.path, ast.unparse(node)))
        else:
            for where, one in followed:
                yield from self._values(where, one, sink, call, depth + 1)

    def _step(self, module: Module, node: ast.expr, sink: Sink, call: ast.AST) -> list[tuple[Module, ast.expr]] | None:
        if isinstance(node, ast.IfExp):
            return [(module, node.body), (module, node.orelse)]
        if isinstance(node, ast.BoolOp):
            return [(module, one) for one in node.values]
        if isinstance(node, ast.Name):
            return self._name(module, node.id, sink, call)
        if isinstance(node, ast.Attribute) and self._named(module, node)[0] in self.modules:
            where, name = self._named(module, node)
            return [(self.modules[where], one) for one in self.modules[where].assigned.get(name, ())] or None
        table = _table(node)
        if table is not None:
            values = [value for value in self._constant(module, table) if isinstance(value, ast.Dict)]
            rest = node.args[1:] if isinstance(node, ast.Call) else []
            found = [one for value in values for one in value.values]
            return [(module, one) for one in (*found, *rest)] if values else None
        return None

    def _constant(self, module: Module, name: str) -> list[ast.expr]:
        return module.assigned.get(name, []) + [
            value for node in ast.walk(module.tree) for target, value in _assignments(node) if target == name
        ]

    def _name(self, module: Module, name: str, sink: Sink, call: ast.AST) -> list[tuple[Module, ast.expr]] | None:
        function = self._enclosing(call, _Function)
        while isinstance(function, _Function):
            if name in _names(function):
                self._grow(module, function, name, sink)
                default = _default(function, name)
                return [(module, default)] if default is not None else []
            given = [one for node in ast.walk(function) for one in self._bound(module, node, name)]
            if given:
                return [(module, one) for one in given]
            function = self._enclosing(self.parents[function], _Function)
        if name in module.assigned:
            return [(module, one) for one in module.assigned[name]]
        where = module.imports.get(name)
        if where is not None and where[0] in self.modules:
            other = self.modules[where[0]]
            return [(other, one) for one in other.assigned.get(where[1], ())] or None
        return None

    def _bound(self, module: Module, node: ast.AST, name: str) -> Iterator[ast.expr]:
        """What an assignment, or a loop over a literal, gives a name."""
        yield from (value for target, value in _assignments(node) if target == name)
        if isinstance(node, (ast.For, ast.comprehension)) and isinstance(node.iter, (ast.Tuple, ast.List)):
            for row in node.iter.elts:
                yield from _taken_apart(node.target, row, name)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                for value in self._tuples(module, node.value):
                    yield from _taken_apart(target, value, name)

    def _tuples(self, module: Module, node: ast.expr) -> list[ast.expr]:
        """The possible tuples of an expression: what a function of the module returns, or one of its dictionaries holds."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            functions = self.functions.get((module.name, node.func.id), [])
            returned = [one for each in functions for one in ast.walk(each) if isinstance(one, ast.Return)]
            return [one.value for one in returned if one.value is not None]
        table = _table(node)
        if table is not None:
            return [
                one for value in module.assigned.get(table, ()) if isinstance(value, ast.Dict) for one in value.values
            ]
        return [node]

    def _grow(self, module: Module, function: _Function, name: str, sink: Sink) -> None:
        """A function with a parameter that is a code also becomes a sink."""
        inside = self._class_of(function)
        position = _names(function).index(name)
        keyword_only = name in {one.arg for one in function.args.kwonlyargs}
        static = any(isinstance(one, ast.Name) and one.id == "staticmethod" for one in function.decorator_list)
        if inside is not None and not static:
            position -= 1
        known = inside if inside is not None and function.name == "__init__" else function.name
        self.sinks[module.name, known].add(Sink(name, 99 if keyword_only else position, sink.carrier, sink.status))

    def _class_of(self, function: _Function) -> str | None:
        parent = self.parents.get(function)
        return parent.name if isinstance(parent, ast.ClassDef) else None

    def _enclosing(self, node: ast.AST, kind: object) -> ast.AST | None:
        found: ast.AST | None = node
        while found is not None and not isinstance(found, kind):  # type: ignore[arg-type]
            found = self.parents.get(found)
        return found


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """Like :func:`ast.iter_child_nodes`, without the load and store markers; three times as fast."""
    for name in node._fields:
        value = getattr(node, name)
        if isinstance(value, list):
            yield from (one for one in value if isinstance(one, ast.AST))
        elif isinstance(value, ast.AST) and not isinstance(value, ast.expr_context):
            yield value


def _folder(module: str) -> str:
    """Methods are matched by name alone, within one folder."""
    return module.rpartition(".")[0]


def _own_status(node: ast.ClassDef, inherited: int) -> int:
    for statement in node.body:
        for target, value in _assignments(statement):
            if target == "exit_code" and isinstance(value, ast.Constant) and isinstance(value.value, int):
                return value.value
    return inherited


def _names(function: _Function) -> list[str]:
    arguments = function.args
    return [one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def _default(function: _Function, name: str) -> ast.expr | None:
    arguments = function.args
    plain = [one.arg for one in (*arguments.posonlyargs, *arguments.args)]
    found: dict[str, ast.expr | None] = dict(zip(reversed(plain), reversed(arguments.defaults), strict=False))
    found.update(zip((one.arg for one in arguments.kwonlyargs), arguments.kw_defaults, strict=True))
    return found.get(name)


def _argument(call: ast.Call, sink: Sink) -> ast.expr | None:
    for keyword in call.keywords:
        if keyword.arg == sink.parameter:
            return keyword.value
    before = call.args[: sink.position + 1]
    if len(before) > sink.position and not any(isinstance(one, ast.Starred) for one in before):
        return before[sink.position]
    return None


def _assignments(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Name):
                yield target.id, node.value
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
        yield node.target.id, node.value


def _taken_apart(target: ast.expr, value: ast.expr, name: str) -> Iterator[ast.expr]:
    """The element of a tuple that is assigned to a name."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        for one, part in zip(target.elts, value.elts, strict=True):
            if isinstance(one, ast.Name) and one.id == name:
                yield part


def _table(node: ast.expr) -> str | None:
    """The name of the dictionary in which an expression looks something up."""
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        return node.value.id
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
        return node.func.value.id if isinstance(node.func.value, ast.Name) else None
    return None


@cache
def reading() -> Reading:
    return Reading()
