"""Directives: XML in Markdown (``spec/003``, DECISIONS Directives)."""
