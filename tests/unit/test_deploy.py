"""The files to deploy the service: right in themselves, and true to the command line.

Their commands are started in tests/systems; containers are not.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer.main

pytest.importorskip("yaml")

from tests.deploy_files import (
    DEPLOY,
    compose,
    compose_command,
    dockerfile,
    health_command,
    image_command,
    unit,
    unit_command,
    with_options,
)

ROOT = DEPLOY.parent
COMMANDS = {
    "image": image_command(),
    "first": compose_command("first"),
    "second": compose_command("second"),
    "unit": unit_command(),
}


def parsed(command: list[str]) -> dict[str, Any]:
    """Return the options of ``rankwright serve`` as the command line understands them."""
    from rankwright.cli import app

    group: Any = typer.main.get_command(app)
    assert Path(command[0]).name == "rankwright"
    assert command[1] == "serve"
    found: dict[str, Any] = group.commands["serve"].make_context("serve", command[2:]).params
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_the_command_line_understands_the_commands(name: str) -> None:
    options = parsed(COMMANDS[name])
    assert options["port"] == 8765
    assert options["token_file"]  # none of them is open to everybody
    assert options["model"].endswith("model.rw")


def test_a_command_that_the_line_does_not_know_would_be_noticed() -> None:
    with pytest.raises(Exception, match="No such option"):
        parsed([*COMMANDS["image"], "--tokens", "x"])


# ---- the image ----


def test_the_image_is_built_of_what_is_there_and_is_let_in() -> None:
    let_in = {
        line.removeprefix("!")
        for line in (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines()
        if line.startswith("!")
    }
    copied = {
        source for name, rest in dockerfile() if name == "COPY" for source in rest.split()[:-1]
    }
    assert copied == let_in
    assert all((ROOT / source).exists() for source in copied)
    # What the build reads: readme and licence stand in pyproject.toml.
    assert {"pyproject.toml", "CMakeLists.txt", "README.md", "LICENSE", "cpp", "src"} == copied


def test_the_image_runs_as_nobody_in_particular_and_without_a_compiler() -> None:
    said = dockerfile()
    stages = [place for place, (name, _) in enumerate(said) if name == "FROM"]
    assert len(stages) == 2
    last = said[stages[1] :]
    names = [name for name, _ in last]
    assert "g++" not in str(last)
    (user,) = (rest for name, rest in last if name == "USER")
    assert f"useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin {user}" in str(
        last
    )
    assert names.index("USER") < names.index("HEALTHCHECK") < names.index("ENTRYPOINT")
    assert names.count("CMD") == names.count("HEALTHCHECK") == 1
    assert parsed(image_command())["host"] == "0.0.0.0"


def test_health_needs_no_other_program() -> None:
    command = health_command()
    assert command[:2] == ["python", "-c"]
    compile(command[2], "health", "exec")
    assert "/healthz" in command[2]
    nobody = command[2].replace("8765", "9")
    done = subprocess.run([sys.executable, "-c", nobody], capture_output=True)
    assert done.returncode != 0


@pytest.mark.parametrize("file", sorted(DEPLOY.iterdir()), ids=lambda file: file.name)
def test_no_registry_and_no_secret_stands_in_the_files(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    images = re.findall(r"^(?:FROM|\s*image:)\s+(\S+)", text, re.MULTILINE)
    assert set(images) <= {"python:3.12-slim", "postgres:16", "rankwright"}
    assert not re.search(r"\b[0-9a-f]{32,}\b", text)
    assert not re.search(r"(?i)password: *['\"]?\w", text)


# ---- compose ----


def test_two_servers_share_one_log() -> None:
    services = compose()["services"]
    assert set(services) == {"first", "second", "database"}
    first, second = services["first"], services["second"]
    ports = [one.pop("ports") for one in (first, second)]
    assert first == second
    assert ports == [["127.0.0.1:8765:8765"], ["127.0.0.1:8766:8765"]]
    options = parsed(compose_command("first"))
    assert re.fullmatch(r"postgresql://(\w+)@database/(\w+)", options["store"])
    database = services["database"]
    user, name = (database["environment"][f"POSTGRES_{key}"] for key in ("USER", "DB"))
    assert options["store"] == f"postgresql://{user}@database/{name}"
    assert database["volumes"] == ["database:/var/lib/postgresql/data"]
    assert "database" in compose()["volumes"]
    assert f"pg_isready -U {user} -d {name}" in database["healthcheck"]["test"][1]
    assert first["depends_on"] == {"database": {"condition": "service_healthy"}}


def test_secrets_come_from_outside() -> None:
    found = compose()
    first = found["services"]["first"]
    (secret,) = first["secrets"]
    # The service refuses a file of tokens that others can read.
    assert (secret["uid"], secret["mode"]) == ("10001", 0o400)
    assert found["secrets"] == {secret["source"]: {"environment": "RANKWRIGHT_TOKENS"}}
    options = parsed(compose_command("first"))
    assert options["token_file"] == f"/run/secrets/{secret['source']}"
    wanted = "${DATABASE_PASSWORD:?set DATABASE_PASSWORD}"
    assert first["environment"]["PGPASSWORD"] == wanted
    assert found["services"]["database"]["environment"]["POSTGRES_PASSWORD"] == wanted
    assert first["read_only"]
    assert first["cap_drop"] == ["ALL"]


# ---- systemd ----


def test_the_unit_may_do_little() -> None:
    service = unit()["Service"]
    for name in ("DynamicUser", "NoNewPrivileges", "PrivateTmp", "ProtectHome", "PrivateDevices"):
        assert service[name] == "yes", name
    assert service["ProtectSystem"] == "strict"
    assert service["CapabilityBoundingSet"] == ""
    options = parsed(unit_command())
    assert options["store"] == f"%S/{service['StateDirectory']}/rankwright.db"
    assert options["token_file"] == f"%d/{service['LoadCredential'].partition(':')[0]}"
    assert options["host"] == "127.0.0.1"
    # Kernels choose by the processor, and replay names it: /proc/cpuinfo must be there.
    assert "ProcSubset" not in service


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    text = (DEPLOY / "rankwright.service").read_text()
    unit_file = tmp_path / "rankwright.service"
    unit_file.write_text(text.replace(unit_command()[0], sys.executable))
    environment = {"PATH": "/usr/bin:/bin", "SYSTEMD_LOG_LEVEL": "warning"}
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit_file)],
        capture_output=True,
        encoding="utf-8",
        env=environment,
    )
    assert (done.returncode, done.stderr) == (0, "")
    judged = subprocess.run(
        ["systemd-analyze", "security", "--offline=yes", "--threshold=20", str(unit_file)],
        capture_output=True,
        encoding="utf-8",
        env=environment,
    )
    assert judged.returncode == 0, judged.stdout[-300:] + judged.stderr


def test_options_are_replaced_only_where_they_are() -> None:
    assert with_options(["a", "--port", "1"], port="2") == ["a", "--port", "2"]
    with pytest.raises(ValueError, match="not in list"):
        with_options(["a"], port="2")
