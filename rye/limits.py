"""Every limit of the client, with what it bounds. Sizes in bytes, times in seconds. The server's are in its settings."""

from __future__ import annotations

from msgspec import Struct

KIB = 1024
MIB = 1024 * KIB


class ContentLimits(Struct, frozen=True):
    """What one item may be (DESIGN §5 Content; DECISIONS Skills 1)."""

    item_bytes: int = 256 * KIB
    """The signed file itself."""
    attached_files: int = 200
    """Files attached to a skill."""
    attached_bytes: int = 8 * MIB
    """All attached files together."""
    attached_path_characters: int = 200
    """One attached file's relative path."""
    yaml_depth: int = 32
    """Nesting of YAML collections."""
    json_depth: int = 64
    """Objects and arrays inside each other in JSON that a person gives: inputs, a context."""
    json_digits: int = 400
    """Digits of one number in such JSON."""
    yaml_aliases: int = 64
    """Aliases in one YAML document."""
    yaml_nodes: int = 20_000
    """Keys and values of one YAML document, every alias counted as what it stands for."""
    toml_depth: int = 32
    """Nesting of TOML tables and arrays, and parts of one dotted key."""
    ignore_file_bytes: int = 64 * KIB
    """A skill's ``.ryeignore``."""
    folder_entries: int = 10_000
    """Files and folders looked at below a skill's folder, ignored ones included."""
    formula_chain: int = 16
    """Formulas that extend one another in a row."""
    formula_steps: int = 2_000
    """Steps of a formula after ``extends`` and ``compose.expand``."""
    formula_characters: int = 4 * MIB
    """All text of a formula's steps after ``extends`` and ``compose.expand``, in characters."""
    xml_depth: int = 64
    """Nesting of elements in a directive's fence or process section."""
    xml_elements: int = 5_000
    """Elements in a directive's fence."""
    xml_attributes: int = 256
    """Attributes of one element."""
    markdown_depth: int = 32
    """Quotes and list items open inside each other."""
    listed_findings: int = 200
    """Findings listed one by one for one directive; the rest are counted."""
    expression_characters: int = 1024
    """A hook's ``<when>`` expression."""
    expression_depth: int = 32
    """Nesting of parentheses and operators in an expression."""


CONTENT = ContentLimits()


class KeyLimits(Struct, frozen=True):
    """What a file with keys may be, and what unsealing a private key may cost (DESIGN §4 Keys)."""

    file_bytes: int = 16 * KIB
    """One key file, public or private."""
    trust_file_bytes: int = 4 * MIB
    """The user's trust store."""
    seal_operations: int = 10
    """Most passes of Argon2id that a sealed key may ask for."""
    seal_memory: int = 1024 * MIB
    """Most memory of Argon2id that a sealed key may ask for."""


KEYS = KeyLimits()


class ResolutionLimits(Struct, frozen=True):
    """What a version, a range and one run of the solver may be (DESIGN §6)."""

    version_characters: int = 256
    version_number: int = 2**63 - 1
    """The largest number in a version (DECISIONS Directives 19)."""
    """One version, build metadata included."""
    range_characters: int = 1024
    """One range as written."""
    solver_looks: int = 30_000_000
    """Incompatibilities that the solver looks at before it gives up at a conflict, 15 to 30 seconds: finding a solution is
    NP-complete, and authors may be hostile. Counted rather than timed, so that every machine gets the same answer."""
    proof_lines: int = 200
    """Lines of an explanation; the earliest steps of a longer proof are left out, and it says so."""
    hints: int = 8
    """Hints beside a proof."""


RESOLUTION = ResolutionLimits()


class PermissionLimits(Struct, frozen=True):
    """What comparing capability patterns may cost (DESIGN §7). Beyond these an answer is the careful one: widened, elevated."""

    path_characters: int = 2048
    """One capability path; no id is longer (16 segments of 64 characters)."""
    containment_steps: int = 300_000
    """Transitions of the automata in one comparison of two sets: about half a second. Real sets need some hundreds."""
    pattern_steps: int = 300
    """Added for each pattern of the set that is compared."""
    tier_steps: int = 3_000
    """Added for each pattern of a set whose tiers are told together; real patterns need 500 to 4,500."""
    tiers_steps: int = 1_000_000
    """The most of those steps for one set, about a second: a release note has room for thousands of patterns."""
    compared_calls: int = 100_000
    """Pairs of a call in a directive's process and a capability that could cover it; real directives have some dozens."""
    simulation_rounds: int = 64
    """Rounds in which one star's simulation may settle; a shortcut, so fewer cost only time."""


PERMISSIONS = PermissionLimits()


class RegistryLimits(Struct, frozen=True):
    """What a client takes from a registry, how fresh it must be, and how long it waits (DESIGN §5; protocol.md)."""

    config_bytes: int = 4 * KIB
    """``/config.json``."""
    root_bytes: int = 60_000
    """One root statement with its signatures."""
    head_bytes: int = 64 * KIB
    """``/head``."""
    map_node_bytes: int = 160 * KIB
    """One node of the name map: just above the largest leaf."""
    listed_names: int = 250_000
    """Names of a registry that are listed as a whole, to search a registry without a server and to warn of look-alikes."""
    index_bytes: int = 16 * MIB
    """One index file: all statements about one name."""
    item_bytes: int = 4 * MIB
    """One item or attached file as a release states it; the content rules usually allow less."""
    roots: int = 1_000
    """Root statements that are followed in one run; more is an endless chain."""
    head_warn_seconds: int = 72 * 3600
    """A head older than this is reported."""
    head_stop_seconds: int = 7 * 24 * 3600
    """A head older than this is refused."""
    clock_skew_seconds: int = 10 * 60
    """How far in the future a head may be."""
    outage_seconds: int = 72 * 3600
    """How old the last verified head may be for `install` and `ci` to go on with it while the registry does not answer."""
    answer_seconds: float = 1.8
    """Until a registry answers the first request of a run, repeats included; afterwards the limits below hold."""
    hasty_answer_seconds: float = 0.3
    """The same where the last verified head will do, and the host is near; one far away gets some round trips more."""
    connect_seconds: float = 10.0
    """To open one connection."""
    stall_seconds: float = 15.0
    """Without a single byte."""
    file_seconds: float = 120.0
    """One file, its repeats included: the deadline against slow drips."""
    total_seconds: float = 600.0
    """All waves of one run of the client together, repeats and waiting included."""
    minimum_speed: int = 1 * KIB
    """Bytes per second, measured after ``speed_grace_seconds``; slower is given up."""
    speed_grace_seconds: float = 5.0
    """How long one file may be slower than ``minimum_speed``."""
    concurrency: int = 16
    """Requests under way at once."""
    retries: int = 3
    """Repeats of one request after a connection error or a status of 408, 425, 429, 500, 502, 503 or 504. A registry that
    cannot be connected to is asked once, unless it answered before in the same run."""
    retry_seconds: float = 0.25
    """Wait before the first repeat; doubled each time, with jitter."""
    retry_after_seconds: float = 30.0
    """The longest ``Retry-After`` that is honoured; a longer one fails at once."""
    redirects: int = 3
    """Redirects of one request, on the same host only."""


REGISTRY = RegistryLimits()


class ProjectLimits(Struct, frozen=True):
    """What a project's own files may be: they come from whoever can commit (DESIGN 6.1)."""

    manifest_bytes: int = MIB
    """rye.toml; one of a thousand dependencies has 60 kB."""
    lock_bytes: int = 64 * MIB
    """rye.lock, and what rye notes in ``.ai/.rye``; a lock of a thousand items has some 700 kB."""


PROJECT = ProjectLimits()


class ImportLimits(Struct, frozen=True):
    """What `rye import` reads of other tools' files (docs/how-to/importing.md)."""

    file_bytes: int = 8 * MIB
    """One lock or manifest of another tool."""
    entries: int = 2_000
    """Packages, skills or plugins that one file lists."""
    text_characters: int = 1_024
    """One name, address, path or digest."""
    yaml: ContentLimits = ContentLimits(yaml_depth=12, yaml_aliases=0, yaml_nodes=200_000)
    """YAML that programs wrote: no aliases."""
    folder_files: int = 20_000
    """Files of one folder whose digest is compared."""


IMPORTS = ImportLimits()


class WorkspaceLimits(Struct, frozen=True):
    """What ``[workspace] members`` may name (docs/how-to/workspaces.md)."""

    patterns: int = 64
    members: int = 256
    path_characters: int = 240
    """One pattern."""
    depth: int = 8
    """Parts of one pattern."""
    folders: int = 10_000
    """Files and folders looked at for all patterns."""
    manifest_bytes: int = 8 * MIB
    """All members' manifests together."""


WORKSPACE = WorkspaceLimits()


class SourceLimits(Struct, frozen=True):
    """What ``[sources]`` may name, and what is taken from a git repository or a folder (docs/how-to/sources.md)."""

    sources: int = 64
    """Sources of one project."""
    url_characters: int = 1024
    rev_characters: int = 255
    path_characters: int = 1024
    fetch_bytes: int = 256 * MIB
    """One pack that git writes while it fetches, and all that one fetch adds to the cache."""
    fetch_seconds: float = 180.0
    """One run of git that talks to a server."""
    read_seconds: float = 60.0
    """One run of git that reads the cache, from the first object to the last."""
    memory_bytes: int = 2048 * MIB
    """Address space of one git process, where the system can bound it."""
    refs: int = 100_000
    """Branches and tags that a server lists."""
    refs_bytes: int = 16 * MIB
    """The list of them."""
    commit_bytes: int = 256 * KIB
    """One commit, signature included."""
    tree_bytes: int = 8 * MIB
    """One folder's list in a commit."""
    trees: int = 20_000
    """Folders looked at in one commit, or below a path source."""
    entries: int = 100_000
    """Files and folders looked at in one commit, or below a path source."""
    depth: int = 16
    """Folders inside each other, from the repository's root."""
    skill_depth: int = 6
    """How deep a folder with skills is searched, from the source's own folder."""
    items: int = 1_000
    """Items of one source."""
    marketplace_bytes: int = 1 * MIB
    """``.claude-plugin/marketplace.json``."""
    plugins: int = 500
    """Plugins of one marketplace."""
    content_bytes: int = 256 * MIB
    """All files of the items that one run reads from one source."""
    kept_bytes: int = 8 * MIB
    """Commits and trees of one commit that a run keeps, so that git is not asked for them again."""


SOURCES = SourceLimits()


class PublishingLimits(Struct, frozen=True):
    """How much is sent to a registry at once."""

    request_statements: int = 200
    """Signed statements in one request, as many as servers take by default; one that takes fewer gets fewer."""
    inline_item_bytes: int = 16 * KIB
    """The files of an item that travel with its statement; larger ones are uploaded first, several at once."""
    inline_bytes: int = MIB
    """Such files in one request."""


PUBLISHING = PublishingLimits()


class MirrorLimits(Struct, frozen=True):
    """Copying and auditing whole registries, and what a bundle file may be (docs/how-to/mirrors.md)."""

    total_seconds: float = 24 * 3600.0
    """All requests of one copy or audit together."""
    entry_bundles_at_once: int = 16
    """Bundles of 256 log entries that are fetched, checked and written together: at most 256 MiB in memory."""
    files_at_once: int = 64
    """Index files or blobs that are fetched, checked and written together."""
    stale_seconds: int = 24 * 3600
    """Index files, nodes of the name map and partial tiles that no head leads to any more are deleted when they are this old."""
    airgap_bytes: int = 1024 * MIB
    """A bundle file."""
    airgap_files: int = 200_000
    """Files in a bundle file."""
    watch_seconds: float = 300.0
    """Between two looks of ``rye log watch``."""


MIRROR = MirrorLimits()


class OverrideLimits(Struct, frozen=True):
    """Merging a target with its overrides (DECISIONS Overrides 5, 18)."""

    review_days: int = 90
    """A review older than this is reported."""
    refused_frontmatter_lookalikes: int = 4
    """Directives that may be dropped one by one because they would create frontmatter; with more the file is rejected."""
    merged_bytes: int = 16 * MIB
    """Either input of ``rye merge``."""
    file_bytes: int = 1 * MIB
    """One customization of a space: an overrides file, a formula overlay, a role directive."""
    context_bytes: int = 4 * MIB
    """One context or hand-off file of ``rye prime``."""
    files: int = 10_000
    """Customizations looked at in one folder."""


OVERRIDES = OverrideLimits()


class RunsLimits(Struct, frozen=True):
    """How what can run is told and shown (DESIGN §7.1)."""

    head_bytes: int = 256
    """What of an attached file is looked at: a shebang or a native program's first bytes."""
    action_characters: int = 2_000
    """A longer command or setting is shown and locked cut; its hash is of the whole."""


RUNS = RunsLimits()


class FactsLimits(Struct, frozen=True):
    """What listing an item's facts may cost, and how long the list may be (DESIGN §7.2)."""

    facts: int = 5_000
    """Facts of one item. Beyond these, alarms are kept first; one fact for each kind of fact that was left out counts them
    and carries a digest, so that a comparison still sees a change among them."""
    value_characters: int = 400
    """One value; a longer one is cut and ends in a digest of the whole."""
    places: int = 20
    """Places listed for the same caution or alarm; notes are listed once for each file."""
    continued_lines: int = 40
    """Lines looked at in each direction for one command or paragraph."""
    piece_characters: int = 32 * KIB
    """A longer line is read in pieces of this length, which overlap."""
    piece_overlap: int = 4 * KIB
    """How much the next piece repeats of the one before."""
    nesting: int = 32
    """Substitutions and parentheses open inside each other in one command."""
    command_words: int = 150
    """Words of one command; a longer one is read as several, each with the output of the one before as its input."""
    filled_in_characters: int = 8 * KIB
    """Characters that known variables may add to one line."""
    filled_in_file: int = 256 * KIB
    """Characters that long values of variables may add to all lines of one file together."""
    short_value_characters: int = 64
    """A value up to this long is filled in without counting for the file."""
    named_commands: int = 64
    """Aliases and functions of one file that are known by their names."""
    saved_files: int = 64
    """Downloaded or decoded files of one item that are looked for in its other files; and clones of one file that a
    later checkout may pin."""
    window_characters: int = 800
    """How far a rule looks ahead: for the end of a call, for the sentence after an address."""


FACTS = FactsLimits()


class DeployLimits(Struct, frozen=True):
    """What is written for agent programs, and what is read of theirs (docs/how-to/agents.md)."""

    state_bytes: int = 16 * MIB
    """``.ai/deploy.lock``."""
    shared_bytes: int = 4 * MIB
    """A file of somebody else's that gets a block or a key, and an agent program's settings."""
    block_bytes: int = 4 * KIB
    """The block about knowledge, markers included."""
    description_characters: int = 1024
    """The description of a generated skill or agent; a longer one is cut."""
    listed_characters: int = 200
    """What the block says about one item of knowledge."""
    depth: int = 64
    """Objects and arrays inside each other in settings."""
    outer_projects: int = 32
    """Folders above a project that are looked at for another project."""


DEPLOY = DeployLimits()


class SandboxLimits(Struct, frozen=True):
    """What one call of a tool may use (docs/how-to/tools.md). Whoever runs tools may ask for less, never for more."""

    seconds: float = 120.0
    """By the clock."""
    cpu_seconds: int = 60
    """Of all its processes together."""
    memory_bytes: int = 1024 * MIB
    """Of all its processes together."""
    processes: int = 64
    """At once, threads counted."""
    file_bytes: int = 64 * MIB
    """One file."""
    open_files: int = 256
    """Of one process."""
    work_bytes: int = 1024 * MIB
    """All files of the work folder together."""
    code_bytes: int = 256 * KIB
    """The tool itself, as for every item."""
    parameters_bytes: int = MIB
    """Its parameters as JSON."""
    output_bytes: int = MIB
    """Its result as JSON."""
    stderr_bytes: int = 256 * KIB
    """What is kept of its messages."""
    stderr_flood_bytes: int = 16 * MIB
    """After so much of messages it is killed."""
    parameter_characters: int = 32 * KIB
    """A longer text is not given to a shell tool as a variable; it is still on standard input."""
    project_entries: int = 200_000
    """Files and folders of the project that are looked at for secrets. What lies beyond is not readable."""
    connections: int = 64
    """To granted hosts, at once."""
    connect_seconds: float = 10.0
    """To open one of them."""
    request_head_bytes: int = 16 * KIB
    """What a tool may send before the proxy knows where it wants to go."""


SANDBOX = SandboxLimits()


class RuntimeLimits(Struct, frozen=True):
    """What one run may ask for, keep and answer (docs/explanation/runtime.md)."""

    query_characters: int = 400
    """The query of ``rye_search``."""
    results: int = 50
    """Results of ``rye_search``."""
    argument_bytes: int = 256 * KIB
    """The arguments of one call, as JSON."""
    error_bytes: int = 2 * KIB
    """One error, as JSON."""
    approval_seconds: int = 10 * 60
    """How long a person's yes to one call counts."""
    questions: int = 100
    """Calls of one run that wait for a person."""
    log_bytes: int = 64 * MIB
    """The log of one run. A full log stops the run: what cannot be written down does not happen."""
    logged_characters: int = 400
    """One text among a call's parameters in the log; a longer one is cut."""
    logged_bytes: int = 8 * KIB
    """All parameters of a call in the log; more are left out, and the log says how many bytes."""
    asked_characters: int = 4_000
    """Parameters that a host shows to a person; nobody there is asked about more."""
    logged_stderr_characters: int = 4_000
    """The end of what a tool wrote on standard error, in the log."""
    runs_listed: int = 1_000
    """Runs that ``rye runs list`` shows, the newest."""
    token_characters: int = 4 * KIB
    """A bearer token."""
    token_seconds: int = 30 * 24 * 3600
    """The longest life of a token."""
    principals: int = 256
    """Runs that one server keeps at once: one for each token."""
    tool_name_characters: int = 64
    """The name of a tool under ``--expand``."""
    skill_files: int = 512
    """Files of one skill that the protocol's extension for skills serves."""
    skill_bytes: int = 16 * MIB
    """All of them together."""
    listed: int = 10_000
    """Items that a server lists as prompts, resources, skills or tools."""
    request_bytes: int = 4 * MIB
    """One request over HTTP."""


RUNTIME = RuntimeLimits()


class RunLimits(Struct, frozen=True):
    """What ``rye run`` takes from a model's endpoint, and how long it waits (docs/how-to/running.md)."""

    turn_tokens: int = 8192
    """One answer of a model, where no limit of the run leaves less."""
    turns: int = 1000
    """Of one run that nothing else limits."""
    calls_in_a_turn: int = 64
    answer_bytes: int = 16 * MIB
    """One answer of an endpoint."""
    answer_depth: int = 128
    """Objects and arrays inside each other in an answer: what is read must be written again for the next turn."""
    answer_seconds: float = 600.0
    """For one whole answer."""
    connect_seconds: float = 10.0
    retries: int = 3
    """After 429 and 5xx."""
    retry_seconds: float = 1.0
    """Before the first of them where the endpoint does not say; doubled each time."""
    longest_retry_seconds: float = 60.0
    """Whatever ``Retry-After`` says."""
    dollars: int = 1_000_000_000
    """The highest price of a million tokens, and the highest ``--max-spend``."""
    counted_tokens: int = 1_000_000_000
    """What one answer may bill; more is no bill."""
    hooks: int = 5
    """That fire in one run."""
    loop_from: int = 3
    """The same call and result so often is a loop."""
    depth: int = 8
    """Runs below each other, whatever a directive's own limit says."""
    message_bytes: int = 8 * MIB
    """One message between a run and its child."""
    shown_characters: int = 200
    """Of what a model or an endpoint said, in one line for a person."""


RUN = RunLimits()


class CompletionLimits(Struct, frozen=True):
    """What a shell's completion may read and offer."""

    names: int = 2_000
    """Names of one kind."""
    name_characters: int = 512
    """A longer name is left out."""
    file_bytes: int = 4 * MIB
    """Of rye.toml and rye.lock; what is behind is not looked at."""
    map_nodes: int = 64
    """Nodes of registries' name maps."""
    depth: int = 15
    """Folders below a kind's folder."""


COMPLETION = CompletionLimits()


class DifferenceLimits(Struct, frozen=True):
    """What comparing two texts line by line may cost (:mod:`rye.text.matching_lines`)."""

    steps: int = 400_000
    """About a fifth of a second; past it the rest counts as replaced as a whole."""


DIFFERENCES = DifferenceLimits()


class EditorLimits(Struct, frozen=True):
    """What `rye lsp` does for one document."""

    text_characters: int = 4 * MIB
    """A longer text gets one finding and nothing else."""
    completions: int = 200
    """Candidates of one answer; the client is told that there are more."""
    quiet_seconds: float = 0.15
    """Without a key before a text is checked."""
    check_seconds: float = 20.0
    """Of checking one text; then it is given up."""
    names_seconds: float = 2.0
    """How long names from the disk are taken as they were."""


EDITOR = EditorLimits()
