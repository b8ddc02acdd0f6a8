"""The server on standard input and output; the only module that uses the protocol's library.

Each keystroke updates the text at once; completion and hover use that text. Checking waits for a short pause in typing, then
runs in a separate process; findings are only sent if the text has not changed since. The server never writes files, uses the
network, or runs anything from a project. The library's own document store is not used: it ends lines where the protocol does
not (U+2028, form feeds).
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

from lsprotocol import types
from pygls import uris
from pygls.capabilities import ServerCapabilitiesBuilder
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, default_converter, lsp_method

from rye import __version__
from rye.errors import RyeError
from rye.items.identity import is_id
from rye.items.mentions import mentions_of, names_in
from rye.limits import EDITOR
from rye.lsp.checker import Checker
from rye.lsp.cursor import word_at
from rye.lsp.explanations import described, explain
from rye.lsp.offers import Offer, offers_in_directive, offers_in_frontmatter, offers_in_manifest
from rye.lsp.outline import outline
from rye.lsp.positions import Encoding, Text
from rye.lsp.ranges import span_of
from rye.lsp.repairs import Repair, fixable_as_a_whole, repairs_of, whole_file
from rye.storage.home import Home
from rye.text.diagnostics import Diagnostic
from rye.workspace.authoring.renaming import Renaming, rename_item, renameable
from rye.workspace.authoring.validating import fixed_text
from rye.workspace.completion.names import names
from rye.workspace.context import LibraryContext
from rye.workspace.items.item_summary import ItemPlace, describe, item_at, item_place, item_places, own_texts

_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "notice": types.DiagnosticSeverity.Information,
    "info": types.DiagnosticSeverity.Hint,
}
_KINDS = {
    "element": types.CompletionItemKind.Class,
    "attribute": types.CompletionItemKind.Property,
    "value": types.CompletionItemKind.EnumMember,
    "id": types.CompletionItemKind.Module,
    "capability": types.CompletionItemKind.Value,
    "input": types.CompletionItemKind.Variable,
}
_PARTS = {
    "heading": types.SymbolKind.String,
    "step": types.SymbolKind.Event,
    "input": types.SymbolKind.Variable,
    "output": types.SymbolKind.Field,
    "table": types.SymbolKind.Namespace,
    "key": types.SymbolKind.Key,
}
_ITEMS = {
    "directive": types.SymbolKind.Event,
    "tool": types.SymbolKind.Function,
    "agent": types.SymbolKind.Class,
    "role": types.SymbolKind.Interface,
    "formula": types.SymbolKind.Struct,
    "skill": types.SymbolKind.Module,
    "bundle": types.SymbolKind.Package,
}
"""The symbols that stand for items in a list of the workspace's."""
_T = TypeVar("_T")
_TRIGGERS = ["<", '"', "{", ":", "/", ".", " "]


class OpenDocument:
    """An open document and its findings."""

    def __init__(self, uri: str, version: int, text: Text) -> None:
        self.uri = uri
        self.version = version
        self.text = text
        self.path = _local(uri)
        self.findings: tuple[Diagnostic, ...] = ()
        self.checked: int | None = None
        """The version that the findings belong to."""
        self.waiting: asyncio.TimerHandle | None = None

    @property
    def folder(self) -> Path | None:
        """The folder of the file; None for a document that is not a file."""
        return self.path.parent if self.path is not None else None

    @property
    def is_manifest(self) -> bool:
        """Whether it is a rye.toml."""
        return self.path is not None and self.path.name == "rye.toml"

    @property
    def is_directive(self) -> bool:
        """Whether it looks like a directive."""
        return "<directive" in self.text.text


class Desk:
    """The open documents, and a cache of the names in their projects."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.documents: dict[str, OpenDocument] = {}
        self.encoding: Encoding = "utf-16"
        self.environment = environment
        self._names: dict[tuple[str, str], tuple[float, list[str]]] = {}

    def names(self, folder: Path | None, kind: str) -> list[str]:
        """Return the names of a kind of value, cached for ``EDITOR.names_seconds``."""
        if folder is None:
            return []
        key, now = (str(folder), kind), time.monotonic()
        known = self._names.get(key)
        if known is None or now - known[0] > EDITOR.names_seconds:
            found = names(kind, str(folder), self.environment)
            if kind == "published":
                found = sorted({*found, *names("item", str(folder), self.environment)})
            self._names[key] = known = (now, found)
        return known[1]

    def offers(self, document: OpenDocument, offset: int) -> list[Offer]:
        """Return the completions at an offset."""
        text = document.text.text

        def known(kind: str) -> list[str]:
            return self.names(document.folder, kind)

        if document.is_manifest:
            return offers_in_manifest(text, offset, known)
        return offers_in_frontmatter(text, offset, known) or (
            offers_in_directive(text, offset, known) if document.is_directive else []
        )


class Protocol(LanguageServerProtocol):
    """The library's protocol without its document store, which splits lines differently than the protocol."""

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> Iterator[Any]:
        """Only call our handler."""
        yield self.fm.features[types.TEXT_DOCUMENT_DID_OPEN], (params,), None

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> Iterator[Any]:
        """Only call our handler."""
        yield self.fm.features[types.TEXT_DOCUMENT_DID_CHANGE], (params,), None

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> Iterator[Any]:
        """Only call our handler."""
        yield self.fm.features[types.TEXT_DOCUMENT_DID_CLOSE], (params,), None


class Server(LanguageServer):
    """The language server with its handlers."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        super().__init__(
            "rye",
            __version__,
            types.TextDocumentSyncKind.Incremental,
            protocol_cls=Protocol,
            converter_factory=default_converter,
        )
        self.desk = Desk(environment)
        self.checker = Checker()
        self.reader = ThreadPoolExecutor(1, thread_name_prefix="items")
        self.tasks: set[asyncio.Task[None]] = set()
        self.ended = False
        """Whether the client sent ``shutdown``."""
        self._register()

    def report_server_error(self, error: Exception, source: object) -> None:
        """Do nothing: the library logs the error on stderr, and editors should not show a popup for each one."""

    def _register(self) -> None:
        def on(name: str, handler: Callable[[Any], Any], options: Any = None) -> None:
            self.feature(name, options)(_function(handler))

        on(types.INITIALIZE, self._initialize)
        on(types.SHUTDOWN, self._shutdown)
        on(types.TEXT_DOCUMENT_DID_OPEN, self._open)
        on(types.TEXT_DOCUMENT_DID_CHANGE, self._change)
        on(types.TEXT_DOCUMENT_DID_SAVE, self._save)
        on(types.TEXT_DOCUMENT_DID_CLOSE, self._close)
        on(types.TEXT_DOCUMENT_COMPLETION, self._complete, types.CompletionOptions(trigger_characters=_TRIGGERS))
        on(types.TEXT_DOCUMENT_HOVER, self._hover)
        on(types.TEXT_DOCUMENT_DEFINITION, self._definition)
        on(types.TEXT_DOCUMENT_REFERENCES, self._references)
        on(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, self._symbols)
        on(types.WORKSPACE_SYMBOL, self._items)
        on(types.TEXT_DOCUMENT_PREPARE_RENAME, self._prepare_rename)
        on(types.TEXT_DOCUMENT_RENAME, self._rename, types.RenameOptions(prepare_provider=True))
        kinds = [types.CodeActionKind.QuickFix, types.CodeActionKind.SourceFixAll]
        on(types.TEXT_DOCUMENT_CODE_ACTION, self._actions, types.CodeActionOptions(code_action_kinds=kinds))

    # -- documents -----------------------------------------------------------------------------------------------------

    def _initialize(self, params: types.InitializeParams) -> None:
        chosen = ServerCapabilitiesBuilder.choose_position_encoding(params.capabilities)
        self.desk.encoding = cast("Encoding", str(getattr(chosen, "value", chosen)))

    def _shutdown(self, params: None) -> None:
        self.ended = True

    def _open(self, params: types.DidOpenTextDocumentParams) -> None:
        item = params.text_document
        self.desk.documents[item.uri] = OpenDocument(item.uri, item.version, Text(item.text, self.desk.encoding))
        self._check_soon(item.uri, 0)

    def _change(self, params: types.DidChangeTextDocumentParams) -> None:
        document = self.desk.documents.get(params.text_document.uri)
        if document is None:
            return
        for change in params.content_changes:
            if isinstance(change, types.TextDocumentContentChangePartial):
                start, end = change.range.start, change.range.end
                places = ((start.line, start.character), (end.line, end.character))
                document.text = document.text.changed(*places, change.text)
            else:
                document.text = Text(change.text, self.desk.encoding)
        document.version = params.text_document.version
        self._check_soon(document.uri, EDITOR.quiet_seconds)

    def _save(self, params: types.DidSaveTextDocumentParams) -> None:
        self._check_soon(params.text_document.uri, 0)

    def _close(self, params: types.DidCloseTextDocumentParams) -> None:
        document = self.desk.documents.pop(params.text_document.uri, None)
        if document is not None:
            if document.waiting is not None:
                document.waiting.cancel()
            self._publish(document.uri, None, [])

    # -- findings ------------------------------------------------------------------------------------------------------

    def _check_soon(self, uri: str, seconds: float) -> None:
        document = self.desk.documents.get(uri)
        if document is None or document.path is None:
            return
        if document.waiting is not None:
            document.waiting.cancel()
        loop = asyncio.get_running_loop()
        document.waiting = loop.call_later(seconds, lambda: self._start(loop, uri))

    def _start(self, loop: asyncio.AbstractEventLoop, uri: str) -> None:
        task = loop.create_task(self._check(uri))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        task.add_done_callback(lambda done: None if done.cancelled() else done.exception())

    async def _check(self, uri: str) -> None:
        document = self.desk.documents.get(uri)
        if document is None or document.path is None:
            return
        version, text = document.version, document.text
        if len(text.text) > EDITOR.text_characters:
            message = f"The text is longer than {EDITOR.text_characters:,} characters, so it is not checked."
            findings: tuple[Diagnostic, ...] = (Diagnostic("error", "C01", message),)
        else:
            findings = await self.checker.ask(document.path, text.text, lambda: self._is_current(document, version))
        if not self._is_current(document, version):
            return
        document.findings, document.checked = findings, version
        self._publish(uri, version, [_diagnostic(text, finding) for finding in findings])

    def _is_current(self, document: OpenDocument, version: int) -> bool:
        return self.desk.documents.get(document.uri) is document and document.version == version

    def _publish(self, uri: str, version: int | None, found: list[types.Diagnostic]) -> None:
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found, version))

    # -- questions -----------------------------------------------------------------------------------------------------

    def _at(self, uri: str, position: types.Position) -> tuple[OpenDocument, int] | None:
        document = self.desk.documents.get(uri)
        if document is None or len(document.text.text) > EDITOR.text_characters:
            return None
        return document, document.text.offset(position.line, position.character)

    def _complete(self, params: types.CompletionParams) -> types.CompletionList:
        found = self._at(params.text_document.uri, params.position)
        if found is None:
            return types.CompletionList(False, [])
        document, offset = found
        offers = self.desk.offers(document, offset)
        shown = [_item(document.text, offer, offset) for offer in offers[: EDITOR.completions]]
        return types.CompletionList(len(offers) > EDITOR.completions, shown)

    async def _hover(self, params: types.HoverParams) -> types.Hover | None:
        found = self._at(params.text_document.uri, params.position)
        if found is None:
            return None
        document, offset = found
        explained = explain(document.text.text, offset, directive=document.is_directive)
        if explained is None:
            return None
        text, shown = document.text, explained.text
        if explained.reference:
            if document.folder is None:
                return None
            shown = described(await self._read(describe, self._context(document.folder), explained.reference))
        content = types.MarkupContent(types.MarkupKind.PlainText, shown)
        return types.Hover(content, _range(text, explained.start, explained.end))

    async def _definition(self, params: types.DefinitionParams) -> types.Location | None:
        found = await self._named(params.text_document.uri, params.position)
        if found is None:
            return None
        start = types.Position(0, 0)
        return types.Location(uris.from_fs_path(str(found.path)) or "", types.Range(start, start))

    async def _references(self, params: types.ReferenceParams) -> list[types.Location]:
        document = self.desk.documents.get(params.text_document.uri)
        item = await self._named(params.text_document.uri, params.position)
        if item is None or document is None or document.folder is None:
            return []
        files = await self._read(lambda context: list(own_texts(context)), self._context(document.folder))
        opened = {each.path: each for each in self.desk.documents.values() if each.path is not None}
        found: list[types.Location] = []
        for path, saved in files:
            text = opened[path].text if path in opened else Text(saved, self.desk.encoding)
            uri = opened[path].uri if path in opened else uris.from_fs_path(str(path)) or ""
            spans = mentions_of(text.text, item.kind, item.id)
            found += [types.Location(uri, _range(text, start, end)) for start, end in spans]
        return found[: EDITOR.occurrences]

    def _symbols(self, params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
        document = self.desk.documents.get(params.text_document.uri)
        if document is None or len(document.text.text) > EDITOR.text_characters:
            return []
        text = document.text
        return [
            types.DocumentSymbol(part.name, _PARTS[part.sort], where := _range(text, part.start, part.end), where)
            for part in outline(text.text, manifest=document.is_manifest)
        ]

    async def _items(self, params: types.WorkspaceSymbolParams) -> list[types.WorkspaceSymbol]:
        folders = {str(path): path for path in map(_local, self.workspace.folders) if path is not None}
        root = _local(self.workspace.root_uri) if self.workspace.root_uri else None
        if root is not None:
            folders.setdefault(str(root), root)
        places: dict[Path, ItemPlace] = {}
        for folder in folders.values():
            for place in await self._read(item_places, self._context(folder), params.query[: EDITOR.typed_characters]):
                places.setdefault(place.path, place)
        start = types.Range(types.Position(0, 0), types.Position(0, 0))
        return [
            types.WorkspaceSymbol(
                types.Location(uris.from_fs_path(str(place.path)) or "", start),
                place.id,
                _ITEMS.get(place.kind, types.SymbolKind.File),
                container_name=place.kind,
            )
            for place in list(places.values())[: EDITOR.occurrences]
        ]

    # -- renaming ------------------------------------------------------------------------------------------------------

    async def _renamed(self, uri: str, position: types.Position) -> tuple[OpenDocument, int, int, str]:
        """Return the document, the span at a position that names an own item, and its ``[kind:]id``. Raises JsonRpcException."""
        found = self._at(uri, position)
        if found is None or found[0].folder is None:
            raise _refused("There is no id here.")
        document, offset = found
        word = word_at(document.text.text, offset)
        reference: str | None = None
        if word is not None and word.is_capability:
            parts = word.text.split(".", 3)
            reference = f"{parts[2]}:{parts[3].replace('.', '/')}" if len(parts) == 4 else None
            start, end = word.start + word.text.rfind(parts[-1]), word.start + len(word.text)
        elif word is not None:
            reference = word.text
            start, end = word.start + len(word.text.rpartition(":")[0]) + (":" in word.text), word.end
        elif (
            document.folder is not None
            and document.path is not None
            and (own := await self._read(item_at, self._context(document.folder), document.path))
        ):
            spans = [
                span for span in names_in(document.text.text, own.id.rpartition("/")[2]) if span[0] <= offset <= span[1]
            ]
            if spans:
                reference, (start, end) = f"{own.kind}:{own.id}", spans[0]
        if reference is None or not is_id(reference.rpartition(":")[2]):
            raise _refused("There is no id here.")
        return document, start, end, reference

    async def _prepare_rename(self, params: types.PrepareRenameParams) -> types.PrepareRenamePlaceholder:
        document, start, end, reference = await self._renamed(params.text_document.uri, params.position)
        try:
            await self._read(renameable, self._context(document.folder or Path()), reference)
        except RyeError as error:
            raise _refused(error.message) from error
        return types.PrepareRenamePlaceholder(_range(document.text, start, end), document.text.text[start:end])

    async def _rename(self, params: types.RenameParams) -> types.WorkspaceEdit:
        document, start, end, reference = await self._renamed(params.text_document.uri, params.position)
        can = self.client_capabilities.workspace and self.client_capabilities.workspace.workspace_edit
        moves = can and can.document_changes and types.ResourceOperationKind.Rename in (can.resource_operations or ())
        if not moves:
            raise _refused(
                "This editor cannot move files for a language server, and an item's id is where its file is."
            )
        dotted = "/" not in document.text.text[start:end] and "." in document.text.text[start:end]
        new = params.new_name.replace(".", "/") if dotted else params.new_name
        opened = {each.path: each for each in self.desk.documents.values() if each.path is not None}
        texts = {path: each.text.text for path, each in opened.items()}
        try:
            renaming = await self._read(rename_item, self._context(document.folder or Path()), reference, new, texts)
        except RyeError as error:
            raise _refused(error.message) from error
        self._say_after(renaming)
        edits: list[types.TextDocumentEdit | types.RenameFile | types.CreateFile | types.DeleteFile] = []
        for change in renaming.changes:
            one = opened.get(change.path)
            text = one.text if one is not None else Text(change.text, self.desk.encoding)
            uri = one.uri if one is not None else uris.from_fs_path(str(change.path)) or ""
            target = types.OptionalVersionedTextDocumentIdentifier(uri, one.version if one is not None else None)
            replaced = [types.TextEdit(_range(text, each.start, each.end), each.text) for each in change.edits]
            edits.append(types.TextDocumentEdit(target, replaced))
        if renaming.source != renaming.target:
            old, new_uri = (uris.from_fs_path(str(path)) or "" for path in (renaming.source, renaming.target))
            edits.append(types.RenameFile(old, new_uri, options=types.RenameFileOptions(overwrite=False)))
        return types.WorkspaceEdit(document_changes=edits)

    def _say_after(self, renaming: Renaming) -> None:
        """Show what the edits do not do: signatures, and what :attr:`Renaming.notes` says."""
        said = list(renaming.notes)
        signed = [
            str(change.path.name if change.path != renaming.source else renaming.target.name)
            for change in renaming.changes
            if change.signed
        ]
        if signed:
            said.insert(0, f"These files need a new signature (`rye sign`): {', '.join(signed)}.")
        if said:
            message = f"{renaming.old} is now {renaming.new}. {' '.join(said)}"
            self.window_show_message(types.ShowMessageParams(types.MessageType.Warning, message))

    async def _named(self, uri: str, position: types.Position) -> ItemPlace | None:
        """Return the item whose id is at a position."""
        found = self._at(uri, position)
        if found is None:
            return None
        document, offset = found
        word = word_at(document.text.text, offset)
        if word is None or word.is_capability or document.folder is None:
            return None
        return await self._read(item_place, self._context(document.folder), word.text)

    def _context(self, folder: Path) -> LibraryContext:
        environment = self.desk.environment
        return LibraryContext(
            cwd=folder, home=Home.from_environment(environment), offline=True, environment=environment
        )

    async def _read(self, read: Callable[..., _T], *given: object) -> _T:
        """Read items in a thread, so that typing is not delayed."""
        return await asyncio.get_running_loop().run_in_executor(self.reader, partial(read, *given))

    def _actions(self, params: types.CodeActionParams) -> list[types.CodeAction]:
        document = self.desk.documents.get(params.text_document.uri)
        if document is None or document.path is None or document.checked != document.version:
            return []
        only = params.context.only
        text = document.text
        first = text.offset(params.range.start.line, params.range.start.character)
        last = text.offset(params.range.end.line, params.range.end.character)
        here = [
            finding
            for finding in document.findings
            if (span := span_of(text, finding)) and span[0] <= last and first <= span[1]
        ]
        actions: list[types.CodeAction] = []
        if _wanted(types.CodeActionKind.QuickFix, only):
            actions += [self._action(document, fix, types.CodeActionKind.QuickFix) for fix in repairs_of(text, here)]
        if fixable_as_a_whole(document.findings):
            fixed, changes = fixed_text(document.path, text.text)
            if fixed != text.text:
                repair = whole_file(text, fixed, changes)
                if fixable_as_a_whole(here) and _wanted(types.CodeActionKind.QuickFix, only):
                    actions.append(self._action(document, repair, types.CodeActionKind.QuickFix))
                if _wanted(types.CodeActionKind.SourceFixAll, only):
                    actions.append(self._action(document, repair, types.CodeActionKind.SourceFixAll))
        return actions

    def _action(self, document: OpenDocument, repair: Repair, kind: types.CodeActionKind) -> types.CodeAction:
        text = document.text
        edits = [types.TextEdit(_range(text, edit.start, edit.end), edit.text) for edit in repair.edits]
        target = types.OptionalVersionedTextDocumentIdentifier(document.uri, document.version)
        change = types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(target, list(edits))])
        finding = [_diagnostic(text, repair.finding)] if repair.finding is not None else None
        return types.CodeAction(
            repair.title, kind, finding, edit=change, is_preferred=not repair.title.startswith("Grant ")
        )


def serve(environment: Mapping[str, str]) -> int:
    """Serve on standard input and output until the client disconnects. Return the exit code: 1 if it did not send
    ``shutdown`` first.

    The library gets a separate stream, because it closes its stream and no other output may reach the client.
    """
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    server = Server(environment)
    server.start_io(stdout=out)
    server.checker.stop()
    server.reader.shutdown(wait=False, cancel_futures=True)
    return 0 if server.ended else 1


def _function(method: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Wrap a method in a plain function, because the library sets attributes on handlers."""
    if asyncio.iscoroutinefunction(method):

        async def answer(params: Any) -> Any:
            return await method(params)

        return answer
    return lambda params: method(params)


def _refused(message: str) -> JsonRpcException:
    return JsonRpcException(message, types.LSPErrorCodes.RequestFailed.value)


def _local(uri: str) -> Path | None:
    path = uris.to_fs_path(uri) if uri.startswith("file:") else None
    return Path(path) if path else None


def _wanted(kind: types.CodeActionKind, only: object) -> bool:
    """Whether the client wants actions of this kind. An empty list means all kinds; a kind includes its subkinds."""
    asked = [str(getattr(one, "value", one)) for one in only] if isinstance(only, list | tuple) else []
    return not asked or any(kind.value == one or kind.value.startswith(f"{one}.") for one in asked)


def _range(text: Text, start: int, end: int) -> types.Range:
    return types.Range(types.Position(*text.place(start)), types.Position(*text.place(end)))


def _diagnostic(text: Text, finding: Diagnostic) -> types.Diagnostic:
    start, end = span_of(text, finding)
    message = f"{finding.message}\n{finding.hint}" if finding.hint else finding.message
    severity = _SEVERITIES[finding.severity]
    return types.Diagnostic(_range(text, start, end), message, severity, finding.code, source="rye")


def _item(text: Text, offer: Offer, offset: int) -> types.CompletionItem:
    edit = types.TextEdit(_range(text, offer.start, offset), offer.text)
    return types.CompletionItem(offer.text, kind=_KINDS[offer.kind], detail=offer.detail or None, text_edit=edit)
