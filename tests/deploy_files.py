"""What the files in ``deploy`` say: commands, checks of health, settings."""

from __future__ import annotations

import configparser
import json
import re
import shlex
from pathlib import Path
from typing import Any

import yaml

DEPLOY = Path(__file__).parents[1] / "deploy"


def dockerfile() -> list[tuple[str, str]]:
    """Return the instructions of the Dockerfile, each with its arguments on one line."""
    text = re.sub(r"^#.*\n", "", (DEPLOY / "Dockerfile").read_text(), flags=re.MULTILINE)
    lines = re.sub(r"\\\n\s*", " ", text).splitlines()
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in lines) if name]


def image_command() -> list[str]:
    """Return what a container runs."""
    said = dict(dockerfile())
    return [*json.loads(said["ENTRYPOINT"]), *json.loads(said["CMD"])]


def health_command() -> list[str]:
    """Return how a container is looked after."""
    found: list[str] = json.loads(dict(dockerfile())["HEALTHCHECK"].partition(" CMD ")[2])
    return found


def compose() -> dict[str, Any]:
    """Return the compose file."""
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return found


def compose_command(name: str) -> list[str]:
    """Return what a service of the compose file runs."""
    entry: list[str] = json.loads(dict(dockerfile())["ENTRYPOINT"])
    return [*entry, *compose()["services"][name]["command"]]


class UnitParser(configparser.ConfigParser):
    """Keeps capitals, which systemd needs."""

    def optionxform(self, optionstr: str) -> str:
        """Return a name as it is."""
        return optionstr


def unit() -> configparser.ConfigParser:
    """Return the systemd unit; of a setting that is there twice, the last."""
    parser = UnitParser(strict=False, interpolation=None, allow_no_value=True)
    parser.read_string((DEPLOY / "rankwright.service").read_text())
    return parser


def unit_command() -> list[str]:
    """Return what the unit runs."""
    return shlex.split(unit()["Service"]["ExecStart"])


def with_options(command: list[str], **options: str) -> list[str]:
    """Return a command with other values of its options, all of which it must have."""
    found = list(command)
    for name, value in options.items():
        found[found.index(f"--{name.replace('_', '-')}") + 1] = value
    return found
