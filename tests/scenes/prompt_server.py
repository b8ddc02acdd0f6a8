"""A web server in the process of the tests, for clients that keep their connections and hang up when they have seen enough."""

from __future__ import annotations

import socket
import sys
from http.server import ThreadingHTTPServer
from typing import Any


class PromptServer(ThreadingHTTPServer):
    """Sends at once what a handler writes: an answer's body would otherwise wait 40 ms for the client's word that its head
    arrived. Says nothing about clients that hang up; standard error is the program's under test.
    """

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
        return connection, address

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)
