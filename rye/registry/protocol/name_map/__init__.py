"""The name map: which index file contains the statements about a name (docs/reference/name-map.md).

It is a radix tree over the SHA-256 of names. Each node is named by its own SHA-256, and a set of names has exactly one
tree. :mod:`~rye.registry.protocol.name_map.nodes` reads and writes single nodes
and looks names up, :mod:`~rye.registry.protocol.name_map.changes` adds names
and compares two trees. Everything is pure: nodes are passed in as bytes, wherever they come from.
"""

from rye.registry.protocol.name_map.changes import Update, changed_names, update
from rye.registry.protocol.name_map.nodes import (
    EMPTY_MAP,
    EMPTY_MAP_SHA256,
    LEAF_NAMES,
    MAX_NODE_BYTES,
    Child,
    Inner,
    Leaf,
    MapEntry,
    NameMapError,
    Node,
    Place,
    decode_node,
    encode_node,
    find,
    leaves,
    load,
    missing,
    node_path,
    open_node,
    root_place,
)

__all__ = [
    "EMPTY_MAP",
    "EMPTY_MAP_SHA256",
    "LEAF_NAMES",
    "MAX_NODE_BYTES",
    "Child",
    "Inner",
    "Leaf",
    "MapEntry",
    "NameMapError",
    "Node",
    "Place",
    "Update",
    "changed_names",
    "decode_node",
    "encode_node",
    "find",
    "leaves",
    "load",
    "missing",
    "node_path",
    "open_node",
    "root_place",
    "update",
]
