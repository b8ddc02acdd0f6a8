"""Rye: package manager and verifiable registry for the text that steers software agents.

Other programs import :mod:`rye.api`. Every other module is private and changes at any time.

The rooms, from the ground up. This is the only list: a new room is a line here, and the tests read the floors from it. A module
imports from its own room and from the rooms in the lines above its own, also inside functions (``tests/house/test_rooms.py``).

* :mod:`rye.errors`: what every room may raise
* :mod:`rye.limits`, :mod:`rye.extras`, :mod:`rye.deprecations`, :mod:`rye.layout`, :mod:`rye.shipped`,
  :mod:`rye.explaining`: what every room may use
* :mod:`rye.storage`: atomic files, private files, the user's folders, the file of remembered results
* :mod:`rye.text`: text before it is an item: content rules, Markdown, YAML, TOML, JSON, spelling, secrets, facts
* :mod:`rye.resolution`: versions, ranges and the solver
* :mod:`rye.items`: the kinds of items and their readers
* :mod:`rye.signing` signs and verifies; :mod:`rye.permissions` decides what an item may do
* :mod:`rye.rendering`: the prompt that an agent gets; :mod:`rye.describing`: what people are told about an item
* :mod:`rye.registry`: fetches and proves. Up to here it is the library, which the server uses too
* :mod:`rye.witness`: signs that any log has only grown
* :mod:`rye.consent`: what needs a person's yes, and who gave it
* :mod:`rye.project`: manifest, lock and the spaces that items are looked up in
* :mod:`rye.sources`: items from git repositories and folders, where nobody proves anything
* :mod:`rye.verified`: what was verified on this machine, and whether it still matches
* :mod:`rye.publishing` writes to a registry; :mod:`rye.customization` keeps local changes through upgrades;
  :mod:`rye.importing` reads other tools' locks and manifests
* :mod:`rye.installation`: plans a change of the project and makes it as one transaction
* :mod:`rye.workspace`: the use cases, free of any face
* :mod:`rye.runtime`: what a call may do, what it did, and tools in a sandbox
* :mod:`rye.deployment`: what is installed, written where agent programs read it; :mod:`rye.mcp`: the MCP server;
  :mod:`rye.lsp`: the language server
* :mod:`rye.api`: what other programs may import, loaded on first use
* :mod:`rye.schemas`: JSON schemas of what Rye reads and writes
* :mod:`rye.cli`: commands, words and printing
* :mod:`rye.__main__`: ``python -m rye``
"""

__version__ = "0.1.0"
