"""Container images: ``docker run``, ``podman pull``, ``FROM``, ``image:``. Only a digest pins an image."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from rye.text.facts.packages.arguments import clean, verb
from rye.text.facts.tables import word_set

TOOLS: Final = word_set("docker podman nerdctl")
_FETCHES: Final = word_set("run pull create")
_DIGEST: Final = "@sha256:"
_IMAGE = re.compile(r"[\w.-]+(?:[:/][\w./:${}-]+)?")
_NO_IMAGE: Final = word_set("scratch a the")
_VALUES: Final = word_set(
    "-v -p -e -w -u -h -l -m -c --name --volume --mount --env --env-file --network --net --publish --workdir "
    "--user --entrypoint --platform --hostname --label --memory --cpus --add-host --restart --gpus --shm-size "
    "--device --cap-add --cap-drop --pull --ulimit --log-driver --security-opt --tmpfs --dns --ip --runtime "
    "--cidfile --log-opt --pid --ipc --userns --group-add --expose --link"
)


def unpinned(tool: str, words: list[str], _: Mapping[str, str]) -> Iterator[str]:
    """Yield the image that a command line starts or pulls without a digest."""
    said, rest = verb(words)
    if said not in _FETCHES:
        return
    skip = False
    for word in rest:
        if skip:
            skip = False
        elif word.startswith("-"):
            skip = word in _VALUES
        else:
            image = clean(word)
            if is_open_image(image):
                yield f"{tool} {said} {image}"
            return


def is_open_image(image: str) -> bool:
    """Whether ``image`` names an image but not its digest."""
    return bool(_IMAGE.fullmatch(image)) and _DIGEST not in image and image.lower() not in _NO_IMAGE
