"""``rye run``: runs a directive from its first turn to its return, with a model that the user chooses
(docs/how-to/running.md).

:mod:`models` reads the user's models, :mod:`conversation` holds the messages, :mod:`dialects` writes them for a provider,
:mod:`endpoint` sends them, :mod:`loop` decides what happens next, :mod:`hooks` runs the directive's hooks, and :mod:`children`
starts a directive that another one called, in a separate process.
"""
