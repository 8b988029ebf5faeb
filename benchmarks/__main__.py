"""The commands of the package: `python -m benchmarks --help` lists them.

Nothing imported here imports a library under comparison: processes that start from here would have it.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser

from benchmarks import compile_time, demo, memory, report, run

COMMANDS = {"run": run, "memory": memory, "report": report, "demo": demo, "compile_time": compile_time}


def main() -> int:
    """Do what the command line asks for."""
    parser = ArgumentParser(prog="python -m benchmarks", description="Value and gradient, timed.")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, module in COMMANDS.items():
        about = (module.__doc__ or "").partition("\n")[0]
        module.add_arguments(commands.add_parser(name, description=about, help=about))
    options = parser.parse_args()
    return COMMANDS[options.command].run(options)


if __name__ == "__main__":
    sys.exit(main())
