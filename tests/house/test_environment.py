"""The environment variables are read at the program's edge, and a user's folders come as a value (house 3)."""

from __future__ import annotations

import ast

from tests.house.trees import nodes, trees

READERS = {
    "rye/cli/start.py": "answers completion and an unchanged install before anything is imported",
    "rye/cli/options.py": "the command line's edge: the session of a run gets them here",
    "rye/api.py": "a call without a home means the user who runs the process",
    "rye/runtime/run/child.py": "a process of its own, which starts here",
    "rye/project/ownership.py": "whose projects this process may use depends on who started it, not on the user's folders",
    "rye/registry/transport/http.py": "httpx reads its proxies there; this only skips the import when there are none",
    "rye/registry/transport/http_connection.py": "the certificates that OpenSSL and httpx would use",
    "rye/sources/git_program.py": "what a process that asks git for its version, or about a checkout, needs to start",
    "registry_server/cli/registry_access.py": "the server's edge: its settings",
    "registry_server/cli/init.py": "the server's edge: its settings",
    "registry_server/cli/backup.py": "the server's edge: its settings, and the backup's passphrase",
    "registry_server/cli/options.py": "the server's edge: deprecated variables",
    "registry_server/cli/program.py": "the server's edge: whether to show a traceback",
    "registry_server/cli/screen.py": "the server's edge: whether the terminal has colours",
    "registry_server/embedded.py": "the environment of the server's own process",
}
"""The files that read the process's variables, and why each must."""
HOME_READERS = {
    "rye/storage/places.py": "where the user's folders are by default",
    "rye/project/layout.py": "``~/.ai`` makes no project of the home folder of whoever runs the process",
    "rye/project/ownership.py": "shows a folder as ``~/…``",
    "rye/cli/completing/answer.py": "what the shell typed",
    "rye/cli/deploy/deploy.py": "``rye deploy --scope user`` writes where agent programs of this process's user read",
    "rye/deployment/planning.py": "the same",
    "rye/deployment/survey.py": "the same",
}
"""The files that ask for the home folder of the process's user, which is ``HOME``."""
FOLDER_VARIABLES = (
    "RYE_CONFIG_DIR",
    "RYE_DATA_DIR",
    "RYE_CACHE_DIR",
    "RYE_USER_SPACE",
    "RYE_SYSTEM_SPACE",
    "RYE_POLICY",
)
PLACES = ("rye/storage/home.py", "rye/cli/unchanged.py", "rye/workspace/completion/")
"""Who may ask for a folder by the variables; everyone else gets a ``Home``."""


def reads_environment(module: ast.Module) -> bool:
    return any(
        (isinstance(node, ast.Attribute) and node.attr in ("environ", "environb", "getenv") and _is_os(node.value))
        or (isinstance(node, ast.ImportFrom) and node.module == "os" and any("env" in name.name for name in node.names))
        for node in nodes(module)
    )


def _is_os(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "os"


def test_the_process_s_variables_are_read_at_the_edge_only() -> None:
    assert {path for path, module in trees("environ", "getenv").items() if reads_environment(module)} == READERS.keys()


def asks_for_home(module: ast.Module) -> bool:
    calls = (node.func for node in nodes(module) if isinstance(node, ast.Call))
    return any(
        isinstance(call, ast.Attribute)
        and (call.attr == "expanduser" or (call.attr == "home" and ast.unparse(call.value) == "Path"))
        for call in calls
    )


def test_few_ask_for_the_home_folder() -> None:
    assert {
        path for path, module in trees("expanduser", "home").items() if asks_for_home(module)
    } == HOME_READERS.keys()


def test_one_module_knows_the_variables_of_the_user_s_folders() -> None:
    naming: set[str] = set()
    asking: set[str] = set()
    for path, module in trees("rye.storage.places", *FOLDER_VARIABLES).items():
        for node in nodes(module):
            if isinstance(node, ast.Constant) and node.value in FOLDER_VARIABLES:
                naming.add(path)
            if isinstance(node, ast.ImportFrom) and node.module == "rye.storage.places" and _asks_for_folders(node):
                asking.add(path)
    assert naming - {"rye/cli/registry/demo.py"} == {"rye/storage/home.py"}, "the demo sets them for its own programs"
    assert {path for path in asking if not path.startswith(PLACES)} == set()


def _asks_for_folders(node: ast.ImportFrom) -> bool:
    return any(name.name in ("place_of", "home_folder") for name in node.names)


def test_a_module_that_reads_them_is_noticed() -> None:
    for text in ("import os\nos.environ['A']", "import os\nos.getenv('A')", "from os import environ"):
        assert reads_environment(ast.parse(text)), text
    assert not reads_environment(ast.parse("environment.get('A')"))
