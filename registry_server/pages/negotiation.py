"""Choose the form of a page from ``Accept`` (RFC 9110 §12.5.1). Pure.

A page is HTML unless the request prefers JSON by name. An error is a page only if the request names HTML: programs that
accept anything get the JSON error document, as they do everywhere else.
"""

from __future__ import annotations

from typing import Literal

from registry_server.pages.limits import PAGES

Form = Literal["html", "json"]
_HTML, _JSON = ("text/html", "text/*"), ("application/json", "application/*")


def form_of(accept: str) -> Form:
    """Return the form of a page."""
    weights = _weights(accept)
    json = max((weights.get(name, 0.0) for name in _JSON), default=0.0)
    html = _first(weights, *_HTML, "*/*") if weights else 1.0
    return "json" if json > 0 and json > html else "html"


def wants_html(accept: str) -> bool:
    """Whether a request names HTML and does not prefer JSON to it."""
    weights = _weights(accept)
    html = _first(weights, *_HTML)
    return html > 0 and html >= _first(weights, *_JSON)


def _first(weights: dict[str, float], *names: str) -> float:
    """Return the weight of the first of these ranges that the request has."""
    return next((weights[name] for name in names if name in weights), 0.0)


def _weights(accept: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for part in accept[: PAGES.accept_characters].lower().split(","):
        name, _, parameters = part.partition(";")
        if name.strip():
            found[name.strip()] = _weight(parameters)
    return found


def _weight(parameters: str) -> float:
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return min(max(float(value), 0.0), 1.0)
            except ValueError:
                return 0.0
    return 1.0
