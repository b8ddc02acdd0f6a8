"""From a project's own items to signed release notes: collecting, checking, resolving relations, ordering."""
