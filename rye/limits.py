"""Every limit of the client and what it bounds. Sizes are in bytes, times in seconds. The server's limits are in its settings."""

from __future__ import annotations

from msgspec import Struct

KIB = 1024
MIB = 1024 * KIB
OWN_PORT = 8420
"""Where ``rye registry serve`` serves the user's own registry, unless it is told another port."""


class ContentLimits(Struct, frozen=True, kw_only=True):
    """The limits of one item (DESIGN §5 Content; DECISIONS Skills 1)."""

    item_bytes: int = 256 * KIB
    """The signed file itself."""
    attached_files: int = 200
    """Files attached to a skill."""
    attached_bytes: int = 8 * MIB
    """All attached files in total."""
    attached_path_characters: int = 200
    """One attached file's relative path."""
    yaml_depth: int = 32
    """Nesting of YAML collections."""
    json_depth: int = 64
    """Nesting of objects and arrays in JSON from the user: inputs, a context."""
    json_digits: int = 400
    """Digits of one number in such JSON."""
    yaml_aliases: int = 64
    """Aliases in one YAML document."""
    yaml_nodes: int = 20_000
    """Keys and values of one YAML document, with every alias counted as its expansion."""
    toml_depth: int = 32
    """Nesting of TOML tables and arrays, and parts of one dotted key."""
    ignore_file_bytes: int = 64 * KIB
    """A skill's ``.ryeignore``."""
    folder_entries: int = 10_000
    """Files and folders examined below a skill's folder, including ignored ones."""
    formula_chain: int = 16
    """Length of a chain of formulas that extend each other."""
    named_items: int = 500
    """Other items that one text names, as far as they are looked up."""
    formula_steps: int = 2_000
    """Steps of a formula after ``extends`` and ``compose.expand``."""
    formula_characters: int = 4 * MIB
    """Characters in all of a formula's steps after ``extends`` and ``compose.expand``."""
    xml_depth: int = 64
    """Nesting of elements in a directive's fence or process section."""
    xml_elements: int = 5_000
    """Elements in a directive's fence."""
    xml_attributes: int = 256
    """Attributes of one element."""
    xml_namespace: int = 256
    """Characters of a namespace's address in a directive's fence."""
    markdown_depth: int = 32
    """Nesting of quotes and list items."""
    listed_findings: int = 200
    """Findings listed individually for one directive; the rest are only counted."""
    expression_characters: int = 1024
    """A hook's ``<when>`` expression."""
    expression_depth: int = 32
    """Nesting of parentheses and operators in an expression."""


CONTENT = ContentLimits()


class KeyLimits(Struct, frozen=True):
    """The limits of key files, and the cost of unsealing a private key (DESIGN §4 Keys)."""

    file_bytes: int = 16 * KIB
    """One key file, public or private."""
    trust_file_bytes: int = 4 * MIB
    """The user's trust store."""
    seal_operations: int = 10
    """The most passes of Argon2id that a sealed key can require."""
    seal_memory: int = 1024 * MIB
    """The most memory that a sealed key can require for Argon2id."""
    signed_texts: int = 1000
    """Signed texts that are kept to show what changed since; the oldest go first."""


KEYS = KeyLimits()


class AgentLimits(Struct, frozen=True, kw_only=True):
    """What is accepted from an ssh-agent, and how long it is waited for."""

    answer_bytes: int = 256 * KIB
    """One answer; OpenSSH's own agent and client use the same limit."""
    keys: int = 1_000
    """Keys that an agent lists."""
    name_bytes: int = 128
    """The name of a key type."""
    application_bytes: int = 256
    """A security key's application."""
    comment_bytes: int = 4 * KIB
    """The comment of a key."""
    blob_bytes: int = 16 * KIB
    """A public key of any type, or a signature."""
    notice_seconds: float = 5.0
    """An agent that needs longer is waited for with a notice: a person may have to confirm, or to touch a security key."""
    answer_seconds: float = 120.0
    """An agent that needs longer is given up."""


AGENT = AgentLimits()


class ResolutionLimits(Struct, frozen=True):
    """The limits of versions, ranges and one run of the solver (DESIGN §6)."""

    version_characters: int = 256
    """One version, including build metadata."""
    version_number: int = 2**63 - 1
    """The largest number in a version (DECISIONS Directives 19)."""
    range_characters: int = 1024
    """One range as written."""
    solver_looks: int = 30_000_000
    """Incompatibilities that the solver examines before it gives up at a conflict, which takes 15 to 30 seconds. Solving is
    NP-complete, and authors may be hostile. Counted instead of timed, so that every machine gets the same answer."""
    proof_lines: int = 200
    """Lines of an explanation. A longer proof omits its earliest steps and says so."""
    hints: int = 8
    """Hints below a proof."""


RESOLUTION = ResolutionLimits()


class PermissionLimits(Struct, frozen=True, kw_only=True):
    """The cost of comparing capability patterns (DESIGN §7). Beyond it, the answer is the cautious one: widened, elevated."""

    path_characters: int = 2048
    """One capability path. No id is longer (16 segments of 64 characters)."""
    containment_steps: int = 300_000
    """Transitions of the automata in one comparison of two sets, about half a second. Real sets need a few hundred."""
    pattern_steps: int = 300
    """Added for each pattern of the compared set."""
    tier_steps: int = 3_000
    """Added for each pattern of a set whose tiers are determined together. Real patterns need 500 to 4,500."""
    tiers_steps: int = 1_000_000
    """The maximum of those steps for one set, about a second. A release note has room for thousands of patterns."""
    compared_calls: int = 100_000
    """Pairs of a call in a directive's process and a capability that could cover it. Real directives have a few dozen."""
    simulation_rounds: int = 64
    """Rounds for one star's simulation to settle. A shortcut, so a lower number only costs time."""


PERMISSIONS = PermissionLimits()


class RegistryLimits(Struct, frozen=True, kw_only=True):
    """What a client accepts from a registry, how fresh it must be, and how long the client waits (DESIGN §5; protocol.md)."""

    config_bytes: int = 64 * KIB
    """``/config.json``."""
    root_bytes: int = 60_000
    """One root statement with its signatures."""
    head_bytes: int = 128 * KIB
    """``/head``."""
    map_node_bytes: int = 160 * KIB
    """One node of the name map; slightly more than the largest leaf."""
    listed_names: int = 250_000
    """Names of a registry without a server that are listed completely, to search it and to warn about look-alikes."""
    suggested_names: int = 10_000
    """Names of any registry that are listed completely, 1 MB for so many, to warn about look-alikes and to say in an error which
    one was meant."""
    index_bytes: int = 16 * MIB
    """One index file: all statements about one name."""
    owners_bytes: int = MIB
    """The file of what the owners of one namespace stated about themselves."""
    item_bytes: int = 4 * MIB
    """One item or attached file as its release states it. The content rules usually allow less."""
    roots: int = 1_000
    """Root statements followed in one run; more is treated as an endless chain."""
    head_warn_seconds: int = 72 * 3600
    """A head older than this is reported."""
    head_stop_seconds: int = 7 * 24 * 3600
    """A head older than this is refused."""
    clock_skew_seconds: int = 10 * 60
    """How far in the future a head, or a witness's cosignature, can be dated."""
    witness_age_seconds: int = 24 * 3600
    """How old cosignatures can be, for a user with a policy of witnesses who gave no other limit."""
    outage_seconds: int = 72 * 3600
    """How old the last verified head can be for `install` and `ci` to use it while the registry does not answer."""
    answer_seconds: float = 1.8
    """Wait for a registry's answer to the first request of a run, including retries. Later requests use the limits below."""
    hasty_answer_seconds: float = 0.3
    """The same if the last verified head will do and the host is near; a distant one gets a few more round trips."""
    connect_seconds: float = 10.0
    """Time to open one connection."""
    stall_seconds: float = 15.0
    """Time without receiving a single byte."""
    file_seconds: float = 120.0
    """One file, including retries: the deadline against slow drips."""
    total_seconds: float = 600.0
    """All waves of one run in total, including retries and waiting."""
    minimum_speed: int = 1 * KIB
    """Bytes per second, measured after ``speed_grace_seconds``. A slower transfer is aborted."""
    speed_grace_seconds: float = 5.0
    """How long one file can be slower than ``minimum_speed``."""
    concurrency: int = 16
    """Concurrent requests."""
    joined_from: int = 32
    """From so many nodes of the name map, or index files, in one wave on, they are requested together. What fewer ask for may
    come from a cache in front of the registry."""
    retries: int = 3
    """Retries of one request after a connection error or a status of 408, 425, 429, 500, 502, 503 or 504. An unreachable
    registry is tried once, unless it answered before in the same run."""
    retry_seconds: float = 0.25
    """Wait before the first retry; doubled each time, with jitter."""
    retry_after_seconds: float = 30.0
    """The longest ``Retry-After`` that is honoured. With a longer one, the request fails at once."""
    redirects: int = 3
    """Redirects of one request, on the same host only."""


REGISTRY = RegistryLimits()


class ProjectLimits(Struct, frozen=True):
    """The limits of a project's own files, which anyone who can commit can write (DESIGN 6.1)."""

    manifest_bytes: int = MIB
    """rye.toml. One with a thousand dependencies has 60 kB."""
    lock_bytes: int = 64 * MIB
    """rye.lock, and rye's records in ``.ai/.rye``. A lock of a thousand items has about 700 kB."""
    misplaced_entries: int = 5_000
    """Entries of one folder in which Rye looks for items in the wrong place; a larger one holds something else."""
    misplaced_items: int = 20
    """Items in the wrong place that a command names."""


PROJECT = ProjectLimits()


class ImportLimits(Struct, frozen=True):
    """What `rye import` reads from other tools' files (docs/how-to/importing.md)."""

    file_bytes: int = 8 * MIB
    """One lock or manifest of another tool."""
    entries: int = 2_000
    """Packages, skills or plugins that one file lists."""
    text_characters: int = 1_024
    """One name, address, path or digest."""
    yaml: ContentLimits = ContentLimits(yaml_depth=12, yaml_aliases=0, yaml_nodes=200_000)
    """YAML written by programs: no aliases."""
    folder_files: int = 20_000
    """Files of a folder whose digest is compared."""


IMPORTS = ImportLimits()


class WorkspaceLimits(Struct, frozen=True):
    """The limits of ``[workspace] members`` (docs/how-to/workspaces.md)."""

    patterns: int = 64
    members: int = 256
    path_characters: int = 240
    """One pattern."""
    depth: int = 8
    """Parts of one pattern."""
    folders: int = 10_000
    """Files and folders examined for all patterns."""
    manifest_bytes: int = 8 * MIB
    """All members' manifests in total."""


WORKSPACE = WorkspaceLimits()


class SourceLimits(Struct, frozen=True, kw_only=True):
    """The limits of ``[sources]``, and of what is read from a git repository or folder (docs/how-to/sources.md)."""

    sources: int = 64
    """Sources of one project."""
    url_characters: int = 1024
    rev_characters: int = 255
    path_characters: int = 1024
    fetch_bytes: int = 256 * MIB
    """One pack that git writes during a fetch, and everything that one fetch adds to the cache."""
    fetch_seconds: float = 180.0
    """One run of git that talks to a server."""
    refs_seconds: float = 20.0
    """The list of a server's branches and tags. One that has not sent it by then is silent."""
    asked_at_once: int = 16
    """Servers that are asked for their branches at the same time."""
    read_seconds: float = 60.0
    """What one run of git may take for the objects of the cache that it is asked for at once."""
    memory_bytes: int = 2048 * MIB
    """Address space of one git process, if the system can limit it."""
    refs: int = 100_000
    """Branches and tags that a server lists."""
    refs_bytes: int = 16 * MIB
    """The list of branches and tags."""
    commit_bytes: int = 256 * KIB
    """One commit, including its signature."""
    tree_bytes: int = 8 * MIB
    """One folder's list in a commit."""
    trees: int = 20_000
    """Folders examined in one commit, or below a path source."""
    entries: int = 100_000
    """Files and folders examined in one commit, or below a path source."""
    depth: int = 16
    """Nesting of folders, from the repository's root."""
    skill_depth: int = 8
    """How deep a folder with skills is searched, from the source's own folder."""
    items: int = 5_000
    """Items of one source, and files of it that are read for their names."""
    contenders: int = 8
    """Items of one name that are tried until one can be used."""
    links: int = 5_000
    """Links of one source that are looked at: whether they name a file of it."""
    listed_items: int = 40
    """Items of a source that a list on a terminal shows unasked, names that an error lists, and items that are named because
    they cannot be used."""
    name_bytes: int = 16 * KIB
    """The beginning of a SKILL.md in which its name is looked for."""
    marketplace_bytes: int = 1 * MIB
    """``.claude-plugin/marketplace.json``."""
    plugins: int = 500
    """Plugins of one marketplace."""
    content_bytes: int = 256 * MIB
    """All files of the items that one run reads from one source."""
    kept_bytes: int = 8 * MIB
    """Commits and trees of one commit that a run caches in memory."""


SOURCES = SourceLimits()


class PublishingLimits(Struct, frozen=True):
    """How much is sent to a registry at once."""

    request_statements: int = 200
    """Signed statements in one request: the default limit of servers. A server with a lower limit gets fewer."""
    inline_item_bytes: int = 16 * KIB
    """Files of an item that are sent with its statement. Larger ones are uploaded first, in parallel."""
    inline_bytes: int = MIB
    """All such files in one request."""


PUBLISHING = PublishingLimits()


class MirrorLimits(Struct, frozen=True, kw_only=True):
    """Copying and auditing whole registries, and the limits of bundle files (docs/how-to/mirrors.md)."""

    total_seconds: float = 24 * 3600.0
    """All requests of one copy or audit in total."""
    entry_bundles_at_once: int = 16
    """Bundles of 256 log entries that are fetched, checked and written together: at most 256 MiB in memory."""
    files_at_once: int = 64
    """Index files or blobs that are fetched, checked and written together."""
    stale_seconds: int = 24 * 3600
    """Index files, nodes of the name map and partial tiles that no head refers to are deleted at this age."""
    airgap_bytes: int = 1024 * MIB
    """A bundle file."""
    airgap_files: int = 200_000
    """Files in a bundle file."""
    watch_seconds: float = 300.0
    """Interval of ``rye log watch``."""


MIRROR = MirrorLimits()


class WitnessLimits(Struct, frozen=True, kw_only=True):
    """What a witness that serves takes from anybody who can reach it."""

    connections: int = 256
    """Connections at the same time. For each further one, the address with most of them loses one."""
    connection_seconds: float = 600.0
    """How old a connection may be when its next request begins."""
    silent_seconds: float = 10.0
    """How long a connection may say nothing."""
    request_seconds: float = 30.0
    """How long a request may take from its first byte to the last of its answer, however often it says something."""
    head_bytes: int = 16 * KIB
    """The header lines of a request in total."""
    at_once: int = 32
    """Requests that are answered at the same time; more get 503."""
    per_minute: int = 600
    """Requests of one address in a minute; more get 429."""
    counted_addresses: int = 10_000
    """Addresses whose requests are counted."""


WITNESS = WitnessLimits()


class OverrideLimits(Struct, frozen=True, kw_only=True):
    """Merging a target with its overrides (DECISIONS Overrides 5, 18)."""

    review_days: int = 90
    """A review older than this is reported."""
    refused_frontmatter_lookalikes: int = 4
    """Directives dropped individually because they would create frontmatter. With more, the file is rejected."""
    merged_bytes: int = 16 * MIB
    """Either input of ``rye merge``."""
    file_bytes: int = 1 * MIB
    """One customization: an overrides file, a formula overlay, a role directive."""
    context_bytes: int = 4 * MIB
    """One context or hand-off file of ``rye prime``."""
    files: int = 10_000
    """Customizations examined in one folder."""
    shown_diff_lines: int = 40
    """Lines of a difference that a question or an error shows."""


OVERRIDES = OverrideLimits()


class RunsLimits(Struct, frozen=True):
    """How runs are detected and shown (DESIGN §7.1)."""

    head_bytes: int = 256
    """The part of an attached file that is examined: a shebang, or a native program's first bytes."""
    text_bytes: int = 64 * KIB
    """The part that is searched for files that it passes to an interpreter, and for the scripts of a ``package.json``."""
    action_characters: int = 2_000
    """A longer command or setting is cut on screen and in the lock; the hash covers all of it."""


RUNS = RunsLimits()


class FactsLimits(Struct, frozen=True, kw_only=True):
    """The cost of listing an item's facts, and the length of the list (DESIGN §7.2)."""

    facts: int = 5_000
    """Facts of one item. Beyond these, alarms take precedence. Per kind, one fact counts those that were left out and has
    their digest, so that a comparison still detects a change among them."""
    value_characters: int = 400
    """One value. A longer one is cut and ends in a digest of the whole."""
    places: int = 20
    """Places listed for the same caution or alarm. Notes are listed once per file."""
    continued_lines: int = 40
    """Lines examined in each direction for one command or paragraph."""
    parsed_characters: int = 256 * KIB
    """A longer program is not parsed to tell its functions apart."""
    meanings: int = 32
    """Functions of one program in which the same name is tracked."""
    piece_characters: int = 32 * KIB
    """A longer line is read in overlapping pieces of this length."""
    piece_overlap: int = 4 * KIB
    """The overlap of two pieces."""
    nesting: int = 32
    """Nesting of substitutions and parentheses in one command."""
    command_words: int = 150
    """Words of one command. A longer one is read as several, each taking the previous one's output as its input."""
    filled_in_characters: int = 8 * KIB
    """Characters that known variables can add to one line."""
    filled_in_file: int = 256 * KIB
    """Characters that long values of variables can add to all lines of one file in total."""
    short_value_characters: int = 64
    """A value up to this length does not count towards the file's total."""
    named_commands: int = 64
    """Aliases and functions of one file that are tracked."""
    saved_files: int = 64
    """Downloaded or decoded files of one item that are searched for in its other files, and clones in one file that a later
    checkout can pin."""
    window_characters: int = 800
    """How far a rule looks ahead: for the end of a call, for the sentence after an address."""


FACTS = FactsLimits()


class ConsentLimits(Struct, frozen=True, kw_only=True):
    """How much of a change is written out before it is made (DESIGN §7.1)."""

    whole_items: int = 100
    """Items of one change that are shown one by one where nobody is asked: of more, with ``--yes``, it is summed up."""
    kinds: int = 4
    """In such a sum, how many sorts of items have an example."""
    reasons: int = 12
    """Of many items that ``--yes`` does not let in, how many reasons are said."""
    moved_lines: int = 10
    """Of many items that rye.lock moved since the last installation here, how many are said."""


CONSENT = ConsentLimits()


class DescribingLimits(Struct, frozen=True):
    """How an item is described to people (DESIGN §7.3)."""

    bytes_a_token: int = 4
    """Bytes of UTF-8 for one token of a model, about."""
    licence_characters: int = 80
    """Characters of a licence; a longer one is cut visibly."""
    names: int = 3
    """Rights or tools that a row names; of more, it says the number."""
    right_characters: int = 100
    """Characters of a pattern or an argument that the sentence about a right repeats; a longer one is cut visibly."""


DESCRIBING = DescribingLimits()


class DeployLimits(Struct, frozen=True, kw_only=True):
    """The limits of files written for agent programs and read from them (docs/how-to/agents.md)."""

    state_bytes: int = 16 * MIB
    """``.ai/deploy.lock``."""
    shared_bytes: int = 4 * MIB
    """A file not owned by Rye that gets a block or a key, and an agent program's settings."""
    block_bytes: int = 4 * KIB
    """The block about knowledge, including markers."""
    description_characters: int = 1024
    """The description of a generated skill or agent. A longer one is cut."""
    listed_characters: int = 200
    """What the block says about one item of knowledge."""
    depth: int = 64
    """Nesting of objects and arrays in settings."""
    outer_projects: int = 32
    """Folders above a project that are searched for another project."""


DEPLOY = DeployLimits()


class UsageLimits(Struct, frozen=True, kw_only=True):
    """What ``rye usage`` reads and believes. All of it may be written by others."""

    log_bytes: int = 256 * MIB
    """All logs of a project's runs; the newest count."""
    transcripts: int = 5_000
    """Files that an agent program left; the newest count."""
    transcript_bytes: int = 1024 * MIB
    """All of them."""
    transcript_depth: int = 4
    """Folders below the program's own in which they are looked for."""
    line_bytes: int = 8 * MIB
    """One line of one."""
    days: int = 3_660
    """The longest time that is reported."""
    most_tokens: int = 10_000_000_000
    """In one message or run. A larger number is none."""
    most_dollars: int = 1_000_000
    """For one run."""


USAGE = UsageLimits()


class SandboxLimits(Struct, frozen=True, kw_only=True):
    """What one call of a tool can use (docs/how-to/tools.md). The caller can lower these limits but not raise them."""

    seconds: float = 120.0
    """Wall-clock time."""
    cpu_seconds: int = 60
    """CPU time of all its processes in total."""
    memory_bytes: int = 1024 * MIB
    """Memory of all its processes in total."""
    processes: int = 64
    """Concurrent processes, including threads."""
    file_bytes: int = 64 * MIB
    """One file."""
    open_files: int = 256
    """Open files of one process."""
    work_bytes: int = 1024 * MIB
    """All files of the work folder in total."""
    code_bytes: int = 256 * KIB
    """The tool itself, as for any item."""
    parameters_bytes: int = MIB
    """Its parameters as JSON."""
    output_bytes: int = MIB
    """Its result as JSON."""
    stderr_bytes: int = 256 * KIB
    """The part of its messages that is kept."""
    stderr_flood_bytes: int = 16 * MIB
    """A tool that writes more messages than this is killed."""
    parameter_characters: int = 32 * KIB
    """A longer string is not passed to a shell tool as a variable, only on standard input."""
    project_entries: int = 200_000
    """Files and folders of the project that are searched for secrets. The tool cannot read the rest."""
    journal_bytes: int = 64 * MIB
    """The journal of a call. A larger one is not Rye's."""
    recovery_seconds: float = 10.0
    """How long sweeping after an interrupted call waits for a folder that a running call may change."""
    project_depth: int = 64
    """How many folders deep they may lie. The tool cannot read the rest, and a call that leaves something deeper fails."""
    connections: int = 64
    """Concurrent connections to granted hosts."""
    connect_seconds: float = 10.0
    """Time to open one of them."""
    request_head_bytes: int = 16 * KIB
    """What a tool can send before the proxy knows the destination."""


SANDBOX = SandboxLimits()


class RuntimeLimits(Struct, frozen=True, kw_only=True):
    """What one run can request, store and return (docs/explanation/runtime.md)."""

    query_characters: int = 400
    """The query of ``rye_search``."""
    results: int = 50
    """Results of ``rye_search``."""
    argument_bytes: int = 256 * KIB
    """The arguments of one call, as JSON."""
    error_bytes: int = 2 * KIB
    """One error, as JSON."""
    approval_seconds: int = 10 * 60
    """How long a person's approval of one call is valid."""
    questions: int = 100
    """Calls of one run that are waiting for a person."""
    log_bytes: int = 64 * MIB
    """The log of one run. A full log stops the run, since nothing may happen that is not logged."""
    logged_characters: int = 400
    """One string among a call's parameters in the log. A longer one is cut."""
    logged_bytes: int = 8 * KIB
    """All parameters of a call in the log. The rest is omitted, and the log says how many bytes."""
    shown_lines: int = 40
    """Lines of a changed text in a question."""
    shown_characters: int = 200
    """One line of them. A longer one is shown in parts, so that a change at its end is seen."""
    asked_characters: int = 4_000
    """Parameters that a host shows to a person. Longer ones cannot be approved there."""
    logged_stderr_characters: int = 4_000
    """The end of a tool's standard error, in the log."""
    runs_listed: int = 1_000
    """The newest runs, which ``rye runs list`` shows."""
    token_characters: int = 4 * KIB
    """A bearer token."""
    token_seconds: int = 30 * 24 * 3600
    """The longest lifetime of a token."""
    principals: int = 256
    """Runs that one server keeps at once, one per token."""
    sessions: int = 256
    """Protocol sessions that one server over HTTP keeps at once. Beyond that, a new one ends one of the client that has most."""
    session_seconds: int = 30 * 60
    """How long a session without a request stays open."""
    tool_name_characters: int = 64
    """The name of a tool under ``--expand``."""
    skill_files: int = 512
    """Files of one skill that the protocol's extension for skills serves."""
    skill_bytes: int = 16 * MIB
    """All of them in total."""
    listed: int = 10_000
    """Items that a server lists as prompts, resources, skills or tools."""
    request_bytes: int = 4 * MIB
    """One request over HTTP."""


RUNTIME = RuntimeLimits()


class RunLimits(Struct, frozen=True, kw_only=True):
    """What ``rye run`` accepts from a model's endpoint, and how long it waits (docs/how-to/running.md)."""

    turn_tokens: int = 8192
    """One answer of a model, unless the run has a lower limit left."""
    turns: int = 1000
    """Turns of a run without another limit."""
    calls_in_a_turn: int = 64
    answer_bytes: int = 16 * MIB
    """One answer of an endpoint."""
    answer_depth: int = 128
    """Nesting of objects and arrays in an answer. The answer must be written again for the next turn."""
    answer_seconds: float = 600.0
    """One complete answer."""
    connect_seconds: float = 10.0
    retries: int = 3
    """Retries after 429 and 5xx."""
    retry_seconds: float = 1.0
    """Wait before the first retry, unless the endpoint says otherwise; doubled each time."""
    longest_retry_seconds: float = 60.0
    """The longest wait, whatever ``Retry-After`` says."""
    dollars: int = 1_000_000_000
    """The highest price per million tokens, and the highest ``--max-spend``."""
    counted_tokens: int = 1_000_000_000
    """The most tokens that one answer can bill. A higher number is invalid."""
    hooks: int = 5
    """Hooks that fire in one run."""
    loop_from: int = 3
    """The same call and result this many times counts as a loop."""
    depth: int = 8
    """Nesting of runs, whatever a directive's own limit says."""
    message_bytes: int = 8 * MIB
    """One message between a run and its child."""
    shown_characters: int = 200
    """Text from a model or an endpoint, in one line for a person."""


RUN = RunLimits()


class CompletionLimits(Struct, frozen=True):
    """What a shell's completion reads and offers."""

    names: int = 2_000
    """Names of one kind."""
    name_characters: int = 512
    """Longer names are skipped."""
    file_bytes: int = 4 * MIB
    """The part of rye.toml and rye.lock that is read."""
    map_nodes: int = 64
    """Nodes of registries' name maps."""
    depth: int = 15
    """Folders below a kind's folder."""


COMPLETION = CompletionLimits()


class DifferenceLimits(Struct, frozen=True):
    """The cost of comparing two texts line by line (:mod:`rye.text.matching_lines`)."""

    steps: int = 400_000
    """About a fifth of a second. Beyond it, the rest counts as replaced."""


DIFFERENCES = DifferenceLimits()


class EditorLimits(Struct, frozen=True, kw_only=True):
    """What `rye lsp` does for one document."""

    text_characters: int = 4 * MIB
    """A longer text only gets one finding."""
    completions: int = 200
    """Candidates in one answer. The client is told if there are more."""
    quiet_seconds: float = 0.15
    """Pause in typing before a text is checked."""
    check_seconds: float = 20.0
    """Time to check one text, after which the check is aborted."""
    names_seconds: float = 2.0
    """How long names read from the disk are cached."""
    parts: int = 2000
    """Entries of one outline."""
    occurrences: int = 2000
    """Places in one answer that name an item, and items in one answer."""
    typed_characters: int = 200
    """The part of what is typed for an item that is looked at."""


EDITOR = EditorLimits()
