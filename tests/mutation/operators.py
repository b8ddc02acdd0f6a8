"""The mutants of a module: every small change to its syntax tree that a test should notice.

* comparisons: a different boundary, the opposite; conditions negated; ``and`` for ``or``; one operand removed
* integers one more and one less; strings and bytes changed (codes, keys, separators; not prose for people); True for False
* arithmetic; ``any`` for ``all`` and other pairs of calls; ``return`` of None; an early ``return`` removed
* statements removed: calls, ``raise``, ``del``, assignments to attributes and items, repeated assignments; ``break`` for
  ``continue``
* members of tuples, lists, sets and tables removed; exceptions no longer caught; filters of comprehensions removed

Deliberately not mutated: annotations, docstrings, texts of messages, ``if TYPE_CHECKING``, ``__all__``, imports.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct

Edit = tuple[ast.AST, str, int | None, Any]
"""Parent, field, index in the field's list or None, new value (:data:`GONE`: removed from the list)."""
GONE = object()

_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.Add,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
}
_PAIRS = [
    ("any", "all"), ("min", "max"), ("startswith", "endswith"), ("lower", "upper"), ("removeprefix", "removesuffix"),
    ("find", "rfind"), ("issubset", "issuperset"), ("partition", "rpartition"), ("lstrip", "rstrip"), ("split", "rsplit"),
]  # fmt: skip
_CALLS = {**dict(_PAIRS), **{b: a for a, b in _PAIRS}, "fullmatch": "match", "sorted": "list", "reversed": "list"}
_TABLES = {"frozenset", "set", "tuple", "any", "all", "isinstance", "dict", "MappingProxyType"}
_TALK = {"message", "subject", "said", "hint", "found_text"}
"""Names that hold prose for people."""
_PROSE = re.compile(r"[A-Za-z’',;:]+ [A-Za-z`{]+ ")
_STRUCT_WORDS = {"frozen", "kw_only", "slots", "eq", "order", "gc", "cache_hash", "weakref", "repr_omit_defaults"}


class Mutant(Struct, frozen=True, kw_only=True):
    """One change to one module."""

    number: int
    function: str
    """Qualified name, ``<module>`` outside functions."""
    line: int
    end: int
    """Last line of the statement's head: a test that ran none of ``line`` to ``end`` cannot notice the mutant."""
    source: str
    """The line's text."""
    before: str
    after: str
    edit: Edit
    inside: bool
    """Whether it is within a function's body, so that importing the module does not run it."""

    @property
    def change(self) -> str:
        return f"{self.before} → {self.after}"

    @property
    def key(self) -> tuple[str, str, str]:
        """A key that stays the same when lines move."""
        return self.function, self.source, self.change


def apply(edit: Edit) -> Callable[[], None]:
    """Change the tree in place. The returned function undoes the change."""
    parent, field, index, new = edit
    if index is None:
        old = getattr(parent, field)
        setattr(parent, field, new)
        return lambda: setattr(parent, field, old)
    values: list[Any] = getattr(parent, field)
    saved = list(values)
    if new is GONE:
        del values[index]
        if isinstance(parent, ast.Dict):
            other = parent.values if field == "keys" else parent.keys
            saved_other: list[Any] = list(other)
            del other[index]

            def undo_both() -> None:
                values[:] = saved
                other[:] = saved_other

            return undo_both
    else:
        values[index] = new

    def undo() -> None:
        values[:] = saved

    return undo


def mutants(tree: ast.Module, text: str) -> list[Mutant]:
    """All mutants of a module, in the order of its lines. Their edits apply to this tree object only."""
    lines = text.splitlines()
    found: list[Mutant] = []
    seen: Counter[tuple[str, str, str]] = Counter()
    for place in _Walk().places(tree):
        node = place.node
        source = lines[node.lineno - 1].strip()
        for shown, edit in _edits(place):
            before = _text(shown)
            replaced = _at(edit) is shown
            undo = apply(edit)
            after = _text(edit[3] if replaced else shown)
            undo()
            key = (place.function, source, f"{before} → {after}")
            seen[key] += 1
            if seen[key] > 1:
                after += f" ({seen[key]})"
            line, end = place.span
            found.append(
                Mutant(
                    number=len(found),
                    function=place.function,
                    line=line,
                    end=end,
                    source=source,
                    before=before,
                    after=after,
                    edit=edit,
                    inside=place.inside,
                )
            )
    return found


def _at(edit: Edit) -> object:
    parent, field, index, _ = edit
    value = getattr(parent, field)
    return value if index is None else value[index]


def _text(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 160 else text[:159] + "…"


class _Place(Struct, frozen=True, kw_only=True):
    """A node and its context."""

    node: Any
    parent: Any
    field: str
    index: int | None
    function: str
    span: tuple[int, int]
    inside: bool
    assigned: frozenset[str]
    """Names that the function has already assigned."""
    nested: bool
    """Whether it is a statement within another statement of its function."""

    def replaced(self, new: ast.AST) -> Edit:
        return self.parent, self.field, self.index, ast.fix_missing_locations(ast.copy_location(new, self.node))

    def left_out(self) -> Edit:
        return self.replaced(ast.Pass())


class _Walk:
    """Every node that may be mutated, with its context."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._span = (1, 1)
        self._inside = False
        self._assigned: set[str] = set()
        self._depth = 0

    def places(self, tree: ast.Module) -> Iterator[_Place]:
        yield from self._children(tree)

    def _children(self, node: ast.AST, skip: frozenset[str] = frozenset()) -> Iterator[_Place]:
        for field, value in ast.iter_fields(node):
            if field in skip:
                continue
            if isinstance(value, list):
                for index, item in enumerate(value):
                    if isinstance(item, ast.AST):
                        yield from self._visit(item, node, field, index)
            elif isinstance(value, ast.AST):
                yield from self._visit(value, node, field, None)

    def _visit(self, node: Any, parent: ast.AST, field: str, index: int | None) -> Iterator[_Place]:
        if _no_code(node, parent, field):
            return
        old_span = self._span
        if isinstance(node, ast.stmt):
            self._span = _head(node)
        if hasattr(node, "lineno"):
            yield _Place(
                node=node,
                parent=parent,
                field=field,
                index=index,
                function=".".join(self._names) or "<module>",
                span=self._span,
                inside=self._inside,
                assigned=frozenset(self._assigned),
                nested=self._depth > 0,
            )
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from self._function(node)
        elif isinstance(node, ast.ClassDef):
            self._names.append(node.name)
            yield from self._children(node, frozenset({"decorator_list", "bases"}))
            self._names.pop()
        elif isinstance(node, ast.stmt):
            nests = isinstance(node, ast.If | ast.For | ast.While | ast.With | ast.Try)
            self._depth += nests
            yield from self._children(node, frozenset({"annotation"}))
            self._depth -= nests
            self._assigned |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        else:
            yield from self._children(node)
        self._span = old_span

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[_Place]:
        self._names.append(node.name)
        for index, default in enumerate(node.args.defaults):
            yield from self._visit(default, node.args, "defaults", index)
        for index, optional in enumerate(node.args.kw_defaults):
            if optional is not None:
                yield from self._visit(optional, node.args, "kw_defaults", index)
        outer = self._inside, self._assigned, self._depth
        self._inside, self._depth = True, 0
        self._assigned = {arg.arg for arg in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}
        for index, statement in enumerate(node.body):
            yield from self._visit(statement, node, "body", index)
        self._inside, self._assigned, self._depth = outer
        self._names.pop()


def _no_code(node: ast.AST, parent: ast.AST, field: str) -> bool:
    """Whether a node decides nothing: docstrings, annotations, imports, prose."""
    if (
        isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and node.value.id in ("Literal", "Callable")
    ):
        return True
    if isinstance(node, ast.Import | ast.ImportFrom | ast.arguments | ast.expr_context):
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return True
    if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
        return True
    if isinstance(node, ast.keyword) and isinstance(parent, ast.ClassDef) and node.arg in _STRUCT_WORDS:
        return True
    if isinstance(node, ast.keyword) and node.arg in ("message", "hint", "encoding"):
        return True
    if isinstance(parent, ast.Call) and _names_an_encoding(parent) and field == "args":
        return True
    if _is_string(node):
        if _PROSE.search(_constant_parts(node)):
            return True
        if isinstance(parent, ast.Assign) and any(isinstance(t, ast.Name) and t.id in _TALK for t in parent.targets):
            return True
        return isinstance(parent, ast.Call) and field == "args" and _raises(parent) and parent.args[0] is not node
    return False


def _names_an_encoding(call: ast.Call) -> bool:
    return (
        isinstance(call.func, ast.Attribute)
        and call.func.attr in ("encode", "decode")
        and len(call.args) == 1
        and (isinstance(call.args[0], ast.Constant) and isinstance(call.args[0].value, str))
    )


def _is_string(node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _is_string(node.left) or _is_string(node.right)
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _constant_parts(node: ast.AST) -> str:
    parts = [n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    return "{}".join(parts)


def _raises(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return name.endswith(("Error", "error")) or name in ("_refuse", "refuse", "fail", "_fail")


def _head(node: ast.stmt) -> tuple[int, int]:
    """The lines of a statement without the statements in it."""
    body = getattr(node, "body", None)
    if isinstance(body, list) and body:
        return node.lineno, max(node.lineno, body[0].lineno - 1)
    return node.lineno, node.end_lineno or node.lineno


def _edits(place: _Place) -> Iterator[tuple[ast.AST, Edit]]:
    """The changes to one node: a label for each, and the edit."""
    node = place.node
    if isinstance(node, ast.stmt):
        yield from _statement_edits(place)
    elif isinstance(node, ast.Compare):
        for index, op in enumerate(node.ops):
            for other in _COMPARISONS[type(op)]:
                yield node, (node, "ops", index, other())
    elif isinstance(node, ast.BoolOp):
        yield node, (node, "op", None, ast.Or() if isinstance(node.op, ast.And) else ast.And())
        for index in range(len(node.values)):
            rest = [value for at, value in enumerate(node.values) if at != index]
            yield node, place.replaced(rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield node, place.replaced(node.operand)
    elif isinstance(node, ast.BinOp):
        yield node, (node, "op", None, _ARITHMETIC[type(node.op)]())
    elif isinstance(node, ast.Constant):
        yield from ((node, place.replaced(ast.Constant(value))) for value in _other_values(node.value))
    elif isinstance(node, ast.IfExp):
        yield node, place.replaced(ast.IfExp(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse))
    elif isinstance(node, ast.Call):
        yield from _call_edits(place)
    elif isinstance(node, ast.ExceptHandler):
        if isinstance(node.type, ast.Tuple):
            for index in range(len(node.type.elts)):
                yield node.type, (node.type, "elts", index, GONE)
        elif node.type is not None:
            yield node.type, (node, "type", None, _located(ast.Tuple([], ast.Load()), node.type))
    elif isinstance(node, ast.Tuple | ast.List | ast.Set) and _is_table(place):
        for index in range(len(node.elts)):
            yield node, (node, "elts", index, GONE)
    elif isinstance(node, ast.Dict) and not place.inside:
        for index in range(len(node.keys)):
            yield node, (node, "keys", index, GONE)
    if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
        for generator in node.generators:
            for index in range(len(generator.ifs)):
                yield node, (generator, "ifs", index, GONE)


def _statement_edits(place: _Place) -> Iterator[tuple[ast.AST, Edit]]:
    node = place.node
    if isinstance(node, ast.If | ast.While) and not isinstance(node.test, ast.Compare | ast.BoolOp):
        test = node.test
        if not (isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)) and not isinstance(test, ast.Constant):
            yield test, (node, "test", None, _located(ast.UnaryOp(ast.Not(), test), test))
    elif isinstance(node, ast.Expr):
        if not isinstance(node.value, ast.Yield | ast.YieldFrom):
            yield node, place.left_out()
    elif isinstance(node, ast.Raise | ast.Delete | ast.AugAssign):
        yield node, place.left_out()
    elif isinstance(node, ast.Assign):
        target = node.targets[0]
        if isinstance(target, ast.Attribute | ast.Subscript) or (
            place.inside and isinstance(target, ast.Name) and target.id in place.assigned
        ):
            yield node, place.left_out()
    elif isinstance(node, ast.Return):
        if node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None):
            yield node, (node, "value", None, None)
        if place.nested:
            yield node, place.left_out()
    elif isinstance(node, ast.Break):
        yield node, place.replaced(ast.Continue())
    elif isinstance(node, ast.Continue):
        yield node, place.replaced(ast.Break())


def _call_edits(place: _Place) -> Iterator[tuple[ast.AST, Edit]]:
    node = place.node
    if isinstance(node.func, ast.Name) and node.func.id in _CALLS:
        yield node, (node, "func", None, _located(ast.Name(_CALLS[node.func.id], ast.Load()), node.func))
    elif isinstance(node.func, ast.Attribute) and node.func.attr in ("split", "rsplit") and len(node.args) < 2:
        return  # without a limit they are the same
    elif isinstance(node.func, ast.Attribute) and node.func.attr in _CALLS:
        yield node, (node.func, "attr", None, _CALLS[node.func.attr])


def _is_table(place: _Place) -> bool:
    """A collection whose members are conditions or rows, not the parts of one value."""
    parent = place.parent
    if isinstance(place.node.ctx if hasattr(place.node, "ctx") else ast.Load(), ast.Store) or not place.node.elts:
        return False
    if isinstance(parent, ast.Compare):
        return place.field == "comparators" and isinstance(parent.ops[-1], ast.In | ast.NotIn)
    if isinstance(parent, ast.For | ast.comprehension):
        return place.field == "iter"
    if isinstance(parent, ast.Call):
        name = parent.func.id if isinstance(parent.func, ast.Name) else ""
        return name in _TABLES
    return isinstance(parent, ast.Assign | ast.AnnAssign) and not place.inside


def _other_values(value: object) -> list[Any]:
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1]
    if isinstance(value, str):
        return [value + "~"] if value else ["~"]
    if isinstance(value, bytes):
        return [value + b"~"] if value else [b"~"]
    return []


def _located(new: ast.expr, old: ast.expr) -> ast.expr:
    return ast.fix_missing_locations(ast.copy_location(new, old))
