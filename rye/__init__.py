"""Rye: package manager and verifiable registry for the text that steers software agents.

The rooms, in the order an item passes through them: :mod:`rye.items` parses and validates, :mod:`rye.signing` signs and
verifies, :mod:`rye.permissions` says what an item may do, :mod:`rye.project` knows manifest, lock and spaces,
:mod:`rye.resolution` chooses versions, :mod:`rye.registry` fetches and proves, :mod:`rye.rendering` makes the prompt,
:mod:`rye.customization` keeps local changes, :mod:`rye.installation` writes to the project, :mod:`rye.cli` talks to people.
Imports point from the end of that list to its beginning, never back.
"""

__version__ = "0.1.0"
