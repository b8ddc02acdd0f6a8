"""Changes a project: plans the changes, gets consent, and applies them in one atomic transaction."""
