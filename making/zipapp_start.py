"""The start of `rye.pyz`: unpacks the program into the user's cache once, and runs it from there.

Nothing in that folder is used unless the whole of it is exactly what this file names: each file's SHA-256 is compared on each
start, and a file or link too many counts as well. A folder that differs is replaced, and a line says so.
"""

import sys

if sys.version_info < (3, 11):
    sys.stderr.write("error: rye.pyz needs Python 3.11 or newer; this is %d.%d.\n" % sys.version_info[:2])
    sys.exit(1)

import hashlib
import importlib.machinery
import json
import os
import re
import shutil
import stat
import tempfile
import zipfile

_OF_ANOTHER = re.compile(r"\.(?:cpython|cp)-?3\d+[^/]*\.(?:so|pyd|dylib|pyc)$")


def chosen(names):
    """The files that this Python can use: modules that were compiled for another version are left out."""
    own = (*importlib.machinery.EXTENSION_SUFFIXES, f".{sys.implementation.cache_tag}.pyc")
    return [name for name in names if not _OF_ANOTHER.search(name) or name.endswith(own)]


def cache_folder(environment):
    """The folder for unpacked programs, as Rye's own cache is found."""
    given = environment.get("RYE_CACHE_DIR")
    if given:
        return os.path.join(given, "programs")
    if sys.platform == "darwin":
        return os.path.expanduser("~/Library/Caches/rye/programs")
    return os.path.join(environment.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "rye", "programs")


def is_exact(folder, wanted):
    """Whether a folder has exactly the files, with exactly these hashes, and belongs to this user alone."""
    try:
        status = os.lstat(folder)
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
            return False
        present = set()
        for here, folders, files in os.walk(folder, onerror=_raise):
            for name in (*folders, *files):
                path = os.path.join(here, name)
                mode = os.lstat(path).st_mode
                if stat.S_ISREG(mode):
                    present.add(os.path.relpath(path, folder))
                elif not stat.S_ISDIR(mode):
                    return False
        if present != wanted.keys():
            return False
        for name, sha256 in wanted.items():
            with open(os.path.join(folder, name), "rb") as stream:
                if hashlib.file_digest(stream, "sha256").hexdigest() != sha256:
                    return False
    except OSError:
        return False
    return True


def _raise(error):
    raise error


def exchangeable_at(place):
    """The folder in which others could put another one between the comparison and the start; None if they cannot. ``place`` is
    the one that holds the unpacked programs: it must be this user's, and no folder above it may be open to all."""
    status = os.stat(place)
    if status.st_uid != os.geteuid() or status.st_mode & 0o022:
        return place
    above = os.path.dirname(os.path.realpath(place))
    while True:
        mode = os.stat(above).st_mode
        if mode & 0o002 and not mode & stat.S_ISVTX:
            return above
        if above == os.path.dirname(above):
            return None
        above = os.path.dirname(above)


def make_private(place):
    """Make the folder that holds the unpacked programs, unless it is there. Ends the program if others could exchange them."""
    before = os.umask(0o077)
    try:
        os.makedirs(place, exist_ok=True)
    finally:
        os.umask(before)
    found = exchangeable_at(place)
    if found is not None:
        sys.exit(
            f"error: others can write to {found}, so they could exchange the program. RYE_CACHE_DIR names another folder."
        )


def unpack(archive, folder, wanted):
    """Write the files beside the folder, check them, and move them into place in one step."""
    above, before = os.path.dirname(folder), os.umask(0o077)
    draft = tempfile.mkdtemp(prefix="new-", dir=above)
    try:
        for name in wanted:
            path = os.path.join(draft, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
                stream.write(archive.read(f"tree/{name}"))
        if not is_exact(draft, wanted):
            sys.exit("error: rye.pyz is damaged. Download or build it again.")
        if os.path.lexists(folder):
            old = tempfile.mkdtemp(prefix="old-", dir=above)
            os.rename(folder, os.path.join(old, "was"))
            shutil.rmtree(old, ignore_errors=True)
        try:
            os.rename(draft, folder)
        except OSError:  # another start was faster
            if not is_exact(folder, wanted):
                raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        os.umask(before)


def start():
    """Unpack what is missing, and run the program."""
    with zipfile.ZipFile(sys.argv[0]) as archive:
        known = archive.read("files.json")
        files = json.loads(known)
        wanted = {name: files[name] for name in chosen(files)}
        tag = f"{hashlib.sha256(known).hexdigest()[:32]}-{sys.implementation.cache_tag}"
        folder = os.path.join(cache_folder(os.environ), tag)
        try:
            make_private(os.path.dirname(folder))
            if not is_exact(folder, wanted):
                if os.path.lexists(folder):
                    sys.stderr.write(f"warning: {folder} was not as rye.pyz left it; it is replaced.\n")
                unpack(archive, folder, wanted)
        except OSError as error:
            sys.exit(
                f"error: rye.pyz cannot be unpacked into {folder}: {error.strerror}. RYE_CACHE_DIR names another folder."
            )
    sys.dont_write_bytecode = True
    sys.path[0] = folder
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    others = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = f"{folder}{os.pathsep}{others}" if others else folder  # for the processes that it starts
    from rye.cli.start import main

    main()


if __name__ == "__main__":
    start()
