"""The process of a child run, ``python -P -m rye.runtime.run.child DESCRIPTOR``: :mod:`rye.runtime.run.children` starts it."""

from __future__ import annotations

import os
import queue
import signal
import socket
import sys
import threading
from pathlib import Path

from rye.errors import RyeError
from rye.runtime.approvals import Question
from rye.runtime.effects import Reply
from rye.runtime.run.child_messages import Answers, Asks, Channel, ChildStart, Ends, Watched
from rye.runtime.run.loop import Progress
from rye.runtime.run.running import Faces, run_child
from rye.storage.home import Home
from rye.workspace.context import LibraryContext


def main(descriptor: int) -> int:
    """Run what the parent sends over the socket ``descriptor``, and return the exit status."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background parent may pass it on as ignored
    channel = Channel(socket.socket(fileno=descriptor))
    os.set_inheritable(descriptor, False)
    start = channel.receive(ChildStart)
    if start is None:
        return 1
    answers: queue.SimpleQueue[Reply | None] = queue.SimpleQueue()
    cancel = threading.Event()
    threading.Thread(target=_listen, args=(channel, answers, cancel), daemon=True).start()

    def ask(question: Question) -> Reply | None:
        channel.send(Asks(question))
        return answers.get()

    def watch(progress: Progress) -> None:
        channel.send(Watched(progress))

    context = LibraryContext(
        cwd=Path(start.project),
        home=Home.from_environment(os.environ),
        registry=start.registry,
        offline=start.offline,
        environment=os.environ,
    )
    try:
        ended = _ended(context, start, Faces(watch, ask, cancel=cancel))
        channel.send(ended)
    except (KeyboardInterrupt, OSError):  # the parent is gone
        return 1
    return 0


def _ended(context: LibraryContext, start: ChildStart, faces: Faces) -> Ends:
    try:
        return Ends(run_child(context, start, faces))
    except RyeError as error:
        return Ends(None, error.code, error.message)


def _listen(channel: Channel, answers: queue.SimpleQueue[Reply | None], cancel: threading.Event) -> None:
    """Pass answers on. When the parent is gone, end the run: a real signal interrupts the main thread wherever it waits."""
    try:
        while (said := channel.receive(Answers)) is not None:
            answers.put(said.reply)
    except (OSError, ValueError):
        pass
    cancel.set()
    answers.put(None)
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
