"""Running items: deciding what a call may do, logging it, and doing it (docs/tools.md for tools in their sandbox)."""
