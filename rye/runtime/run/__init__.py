"""``rye run``: a directive run from its first turn to its return, by a model of the user's own choice
(docs/how-to/running.md).

:mod:`models` says which models there are, :mod:`conversation` what is said, :mod:`dialects` how a provider wants it said,
:mod:`endpoint` sends it, :mod:`loop` decides what happens next, :mod:`hooks` what the directive wants done besides, and
:mod:`children` starts a directive that another one asked for, as a process of its own.
"""
