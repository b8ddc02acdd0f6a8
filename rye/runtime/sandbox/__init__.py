"""Tools in Python, JavaScript, TypeScript and shell, run in a sandbox. Without one that works, no tool runs."""
