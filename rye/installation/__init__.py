"""Changing a project: what will change, who agrees to it, and one atomic switch."""
