"""What a team changes locally: overrides, overlays, role directives."""
