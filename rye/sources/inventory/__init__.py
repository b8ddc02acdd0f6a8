"""Which items a source holds, found from the list of its files. Pure.

Four layouts, in this order. If several items have the same identity, the first that can be used counts and the others are
reported:

1. a Rye project: ``.ai/<kind folder>/…`` (:mod:`rye.items.location`), without what it installed;
2. a plugin marketplace: ``.claude-plugin/marketplace.json`` and the plugins in the repository; a plugin: the folder of a
   ``.claude-plugin/plugin.json``. Its skills and agents are in ``skills`` and ``agents``, and where the two files say;
3. agent programs' folders: ``.claude/skills``, ``.agents/skills``; agents where a program reads them, at most eight folders deep
   (:mod:`rye.items.agent.program_forms`); Markdown files with a name and a description anywhere below a folder that is called
   ``agents``, which collections have for people to copy; those of a source's own folder that is called so;
4. folders of skills: every ``SKILL.md`` at most eight folders deep, hidden folders included. The source's own folder may be one
   skill.

Within one of these, what is deeper counts less, and what lies in a folder of copies, translations or examples
(:mod:`order`) or is a link counts least.

A skill is called what its ``SKILL.md`` says, whatever its folder is called: programs go by the declared name, too. Characters
that ids do not have are replaced in both kinds. A name of which nothing is left, a link that leads to no file of the source, a
submodule or an unsafe path makes that item unusable, with a reason. The other items are not affected. What Rye has no kind for,
such as prompts and hooks, is counted in a note.

:mod:`layouts` goes through them. What it reads on the way: :mod:`plugins` (what a marketplace and plugins declare), :mod:`signs`
(what a file's path and first lines say) and :mod:`skill_folders` (what belongs to a skill). :mod:`names` settles which of
several files a name means.
"""
