"""Follow what was fetched or decoded until something runs it, through pipes, substitutions, variables and saved files.

A rule makes a :class:`~rye.text.facts.flow.passes.Flow` of what it takes for a source. Its passes read the logical lines that can
matter, command by command, and do with each :class:`~rye.text.facts.flow.step.FlowStep` the same:

* :mod:`~rye.text.facts.flow.passing`: what the command reads, brings in and passes on, and
  :mod:`~rye.text.facts.flow.blocks` for loops and blocks.
* :mod:`~rye.text.facts.flow.running`: what it hands to an interpreter; :mod:`~rye.text.facts.flow.starting`: which file it
  starts; :mod:`~rye.text.facts.flow.loading`: which words name a file that it loads; :mod:`~rye.text.facts.flow.meant`: which
  foreign file a path means; :mod:`~rye.text.facts.flow.quoted`: when all that is only quoted, printed or explained.
* :mod:`~rye.text.facts.flow.functions`: what the file's own functions do, and so each call of one.
* :mod:`~rye.text.facts.flow.keeping`: what it saves, assigns, moves or unpacks, for later lines to use. All of that is in
  :mod:`~rye.text.facts.flow.kept`.

``pipe_to_shell`` and ``decode_and_run`` define sources; what runs them is the same for both. ``across`` does the same between the
files of an item, and ``exfiltration.commands`` follows secrets until a command sends them.
"""
