"""``python -m conformance --client COMMAND…``: play all cases against a client."""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
from pathlib import Path

from conformance import reports
from conformance.cases import every_case
from conformance.play import FEATURES, Case
from conformance.running import Process, Result, run


def main(words: list[str] | None = None) -> int:
    arguments = _parser().parse_args(words)
    try:
        status = _listed(arguments) if arguments.list else _played(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader went away (`--list | head`). The interpreter must not complain at exit, and a play cut short is not good.
        sys.stdout = None
        return 0 if arguments.list else 1
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m conformance", description=__doc__)
    parser.add_argument("--client", help="the command that starts the client, quoted as one word")
    parser.add_argument("--each", action="store_true", help="start the client for every request, instead of once")
    parser.add_argument(
        "--without", action="append", default=[], choices=sorted(FEATURES), help="a feature that it lacks"
    )
    parser.add_argument("--expected-failures", type=Path, help="a file with one case a line")
    parser.add_argument("--json", type=Path, help="write a report as JSON")
    parser.add_argument("--junit", type=Path, help="write a report as JUnit's XML")
    parser.add_argument("--list", action="store_true", help="list the cases with what they play, and run nothing")
    parser.add_argument("only", nargs="*", help="cases whose id contains one of these words; none: all")
    return parser


def _chosen(only: list[str]) -> list[Case]:
    return [case for case in every_case() if not only or any(word in case.id for word in only)]


def _listed(arguments: argparse.Namespace) -> int:
    for case in _chosen(arguments.only):
        print(f"{case.id}\t{case.expected}\t{case.page}\t{case.quote}")
    return 0


def _played(arguments: argparse.Namespace) -> int:
    parser, cases = _parser(), _chosen(arguments.only)
    if not arguments.client or not cases:
        parser.error("--client is needed" if cases else "no case has that in its id")
    try:
        command = shlex.split(arguments.client)
        expected = reports.read_expected(arguments.expected_failures)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    if not command or shutil.which(command[0]) is None:
        parser.error(f"--client: there is no program {arguments.client!r} to start")

    def told(result: Result) -> None:
        found = reports.outcome(result, expected)
        if found in ("failed", "unexpected pass"):
            print(f"{found.upper()} {result.case.id}\n  {result.case.page}: {result.case.quote}\n  {result.failure}")

    with Process(command, each=arguments.each) as client:
        results = run(cases, client, arguments.without, told)
    for path, write in ((arguments.json, reports.as_json), (arguments.junit, reports.as_junit)):
        if path is not None:
            path.write_text(write(arguments.client, results, expected), "utf-8")
    print(", ".join(f"{number} {name}" for name, number in reports.counts(results, expected).items() if number))
    missing = [] if arguments.only else reports.unknown(expected, results)
    for id in missing:
        print(f"UNKNOWN {id}: there is no such case")
    return 0 if reports.is_good(results, expected) and not missing else 1


if __name__ == "__main__":
    sys.exit(main())
