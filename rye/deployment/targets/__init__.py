"""One module for each agent program (:data:`rye.project.agent_programs.PROGRAMS`), and what they all are."""
