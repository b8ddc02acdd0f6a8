"""JSON schemas of what Rye reads and writes, made from the types and the tables that the parsers use (``rye schema``).

:mod:`rye.schemas.catalog` lists them. Documents that msgspec reads come from their types, with the rules that their parsers add;
rye.toml and the kinds' own metadata, which are read by hand, come from the tables of those readers, and
``tests/schemas`` holds reader and schema together with documents made at random.
"""
