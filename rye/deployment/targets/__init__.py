"""One module for each agent program (:data:`rye.project.agent_programs.PROGRAMS`), and their common interface."""
