"""What every error code means: a table of all codes, with examples. `rye explain` and docs/reference/errors are made from it.

Only `rye explain`, the generator of the pages and tests read the table, so no other command pays for it.
"""
