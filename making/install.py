"""`make install` and `make uninstall`: the client in an environment of its own below PREFIX/share/rye, and `rye` in PREFIX/bin.

    install.py install PREFIX      install, or upgrade what an earlier run installed
    install.py uninstall PREFIX    remove it; what Rye keeps in your home folder stays

An upgrade makes a new environment and then switches the link in one step, so an interrupted one leaves the old program.
"""

import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import environment

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def places(prefix):
    """The folder of the environments, and the link."""
    prefix = os.path.abspath(os.path.expanduser(prefix))
    return os.path.join(prefix, "share", "rye"), os.path.join(prefix, "bin", "rye")


def is_ours(link, share):
    """Whether the link leads to an environment that `make install` made."""
    return os.path.islink(link) and os.path.dirname(os.path.dirname(os.path.dirname(os.readlink(link)))) == share


def require_free(link, share):
    """End if another program has the place."""
    if os.path.lexists(link) and not is_ours(link, share):
        environment.fail(
            "%s is another program, which stays (Astral's Rye has the same name). Choose another place: make install PREFIX=DIR"
            % link
        )


def install(prefix):
    """Install or upgrade."""
    environment.require_version()
    share, link = places(prefix)
    require_free(link, share)
    old = os.path.dirname(os.path.dirname(os.readlink(link))) if os.path.islink(link) else None
    os.umask(os.umask(0) | 0o022)  # whatever the shell has: nobody else may change the program
    os.makedirs(share, exist_ok=True)
    folder = tempfile.mkdtemp(prefix="client-", dir=share)
    os.chmod(folder, 0o755)
    try:
        if subprocess.call([sys.executable, "-m", "venv", folder]):
            environment.fail(
                "%s -m venv does not work. On Debian and Ubuntu: apt install python3-venv" % sys.executable
            )
        environment.install(folder, ["--require-hashes", "-r", os.path.join(ROOT, "requirements", "client.txt")])
        environment.install(folder, ["--no-deps", "--no-build-isolation", ROOT])
        version = subprocess.check_output([os.path.join(folder, "bin", "rye"), "--version"]).decode().strip()
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    os.makedirs(os.path.dirname(link), exist_ok=True)
    draft = os.path.join(os.path.dirname(link), ".rye-%d" % os.getpid())
    os.symlink(os.path.join(folder, "bin", "rye"), draft)
    os.replace(draft, link)
    if old is not None:
        shutil.rmtree(old, ignore_errors=True)
    print("%s %s: %s" % ("installed" if old is None else "upgraded to", version, link))
    if os.path.dirname(link) not in os.environ.get("PATH", "").split(os.pathsep):
        print("%s is not on your PATH. Add this line to your shell's start-up file:" % os.path.dirname(link))
        print('  export PATH="%s:$PATH"' % os.path.dirname(link))


def uninstall(prefix):
    """Remove what `install` made."""
    share, link = places(prefix)
    if not is_ours(link, share):
        environment.fail("%s was not installed by `make install`; nothing is removed." % link)
    os.remove(link)
    for name in os.listdir(share):
        if name.startswith("client-"):
            shutil.rmtree(os.path.join(share, name))
    if not os.listdir(share):
        os.rmdir(share)
    print(
        "removed %s and the program that it led to. Projects, keys, settings and what else is in %s stay."
        % (link, share)
    )


if __name__ == "__main__":
    {"install": install, "uninstall": uninstall}[sys.argv[1]](sys.argv[2])
