"""Rye: package manager and verifiable registry for the text that steers software agents.

The rooms, from the ground up. A module imports from its own room and from rooms above it in this list, never from below;
``tests/test_rooms.py`` enforces this, including imports inside functions.

* :mod:`rye.errors`, :mod:`rye.limits`, :mod:`rye.deprecations`, :mod:`rye.layout`: what every room may use
* :mod:`rye.storage`: files on disk, the user's folders, what was verified on this machine
* :mod:`rye.text`: text before it is an item
* :mod:`rye.resolution`: versions, ranges and the solver
* :mod:`rye.items`: what the kinds of items are, parsed and validated
* :mod:`rye.signing` signs and verifies; :mod:`rye.permissions` decides what an item may do
* :mod:`rye.rendering`: the prompt that an agent gets
* :mod:`rye.project`: manifest, lock and the spaces that items are looked up in
* :mod:`rye.registry`: fetches and proves
* :mod:`rye.sources`: items from git repositories and folders, where nobody proves anything
* :mod:`rye.importing`: other tools' locks and manifests
* :mod:`rye.publishing` writes to a registry; :mod:`rye.customization` keeps local changes through upgrades
* :mod:`rye.installation`: plans a change of the project and makes it as one transaction
* :mod:`rye.workspace`: the use cases, free of any face
* :mod:`rye.runtime`: what a call may do, what it did, and tools in a sandbox
* :mod:`rye.deployment`: what is installed, written where agent programs read it
* :mod:`rye.cli`: commands, words and printing
"""

__version__ = "0.1.0"
