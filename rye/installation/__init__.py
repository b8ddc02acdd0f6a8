"""Writing to a project: what will change, who agrees to it, and a switch that happens whole or not at all."""
