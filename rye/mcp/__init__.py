"""The MCP server for agent programs over stdio and HTTP, its tokens, and the entries for programs' settings."""
