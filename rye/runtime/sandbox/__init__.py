"""Runs tools in Python, JavaScript, TypeScript and shell in a sandbox. Without a working sandbox, no tool runs."""
