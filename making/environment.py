"""Sets up a virtual environment with pinned packages, for `make`. Says in one line what is missing.

    environment.py set-up FOLDER WORDS REQUIREMENTS    say WORDS, make FOLDER or use it, and install the pinned packages
    environment.py forget-broken FOLDER                remove the stamps of a FOLDER whose Python is gone, too old or elsewhere

It is started by whatever `python3` is, so it is written in the words that old versions understand.
"""

import os
import shutil
import subprocess
import sys

OLDEST = (3, 11)
_OFFLINE = (
    "NewConnectionError",
    "Failed to establish a new connection",
    "name resolution",
    "Max retries exceeded",
    "Connection refused",
    "ProxyError",
    "ConnectTimeout",
    "ConnectionError",
    "Network is unreachable",
)
"""What pip says if it reaches no index."""


def fail(text):
    """End with one line."""
    sys.stderr.write("error: %s\n" % text)
    sys.exit(1)


def require_version():
    """End if this Python is too old."""
    if sys.version_info[:2] < OLDEST:
        here, wanted = ".".join(map(str, sys.version_info[:3])), ".".join(map(str, OLDEST))
        fail(
            "Rye needs Python %s or newer; %s is %s. Name another one, e.g.: make PYTHON=python3.12 demo"
            % (wanted, sys.executable, here)
        )


def python_of(folder):
    """The path of an environment's Python."""
    return os.path.join(folder, "bin", "python")


def is_usable(folder):
    """Whether the environment's Python starts, is new enough, and is where its programs look for it."""
    code = "import sys, pip; sys.exit(sys.version_info[:2] < %r)" % (OLDEST,)
    try:
        started = subprocess.call([python_of(folder), "-I", "-c", code], stderr=subprocess.DEVNULL)
    except OSError:
        return False
    return started == 0 and _finds_python(os.path.join(folder, "bin", "rye"))


def _finds_python(program):
    """Whether a program's first line names something that is there; a moved environment's does not. True without a program."""
    try:
        with open(program, "rb") as stream:
            first = stream.readline().strip()
    except (IOError, OSError):
        return True
    return not first.startswith(b"#!") or os.access(first[2:].split(b" ")[0], os.X_OK)


def make(folder):
    """Make an environment, instead of an unusable one."""
    if os.path.isdir(folder) and is_usable(folder):
        return
    if os.path.isdir(folder):
        print("%s has no usable Python; making it again" % folder)
        shutil.rmtree(folder)
    if subprocess.call([sys.executable, "-m", "venv", folder]):
        fail("%s -m venv does not work. On Debian and Ubuntu: apt install python3-venv" % sys.executable)


def install(folder, words):
    """Run pip in an environment. Without a network, one line says so."""
    command = [
        python_of(folder),
        "-I",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--retries",
        "1",
    ]
    running = subprocess.Popen(command + words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    said = running.communicate()[0].decode("utf-8", "replace")
    if running.returncode == 0:
        return
    if any(word in said for word in _OFFLINE):
        fail(
            "the packages cannot be fetched: there is no network, or no way to the package index. Nothing is set up yet."
        )
    sys.stderr.write(said)
    fail("pip could not install the packages; its words are above.")


def main(words):
    """Run one of the two commands."""
    if words[0] == "forget-broken":
        folder = words[1]
        if os.path.isdir(folder) and not is_usable(folder):
            for name in (".runtime", ".dev"):
                if os.path.exists(os.path.join(folder, name)):
                    os.remove(os.path.join(folder, name))
        return
    require_version()
    folder, said, requirements = words[1:]
    print(said)
    sys.stdout.flush()
    make(folder)
    install(folder, ["--require-hashes", "-r", requirements])


if __name__ == "__main__":
    main(sys.argv[1:])
