"""The committed PostgreSQL configuration against a real server: a build, and what the server then holds."""

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from builds import write_records
from places import ROOT

psycopg2 = pytest.importorskip("psycopg2", reason="needs the extra `postgres`")
pytest.importorskip("dagster_postgres", reason="needs the extra `postgres`")

pytestmark = pytest.mark.postgres

CONFIG = ROOT / "configs" / "dagster" / "dagster-postgres.yaml"
PASSWORD = secrets.token_hex(8)


def server_user() -> dict[str, object]:
    """PostgreSQL refuses to run as root; then the files and the processes belong to `nobody`."""
    return {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}


@pytest.fixture
def server() -> Iterator[dict[str, str]]:
    """A server of our own on a free loopback port; environment variables that lead to it."""
    missing = [name for name in ("initdb", "pg_ctl", "postgres") if shutil.which(name) is None]
    if missing:
        pytest.skip(f"PostgreSQL is not installed here: no {', '.join(missing)} on PATH")
    owner = server_user()
    folder = Path(tempfile.mkdtemp(prefix="shopsim-pg-"))
    (folder / "password").write_text(PASSWORD)
    if owner:
        for path in (folder, folder / "password"):
            shutil.chown(path, "nobody", "nogroup")
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])

    def run(*command: str) -> None:
        subprocess.run(command, check=True, cwd=folder, stdout=subprocess.DEVNULL, **owner)  # type: ignore[call-overload]

    data = str(folder / "data")
    run("initdb", "-D", data, "-U", "shop", "-A", "scram-sha-256", "--pwfile", str(folder / "password"), "-N")
    options = f"-h 127.0.0.1 -p {port} -k {folder} -c fsync=off"
    run("pg_ctl", "-D", data, "-o", options, "-l", str(folder / "log"), "-w", "start")
    try:
        yield {
            "SHOPSIM_PG_HOST": "127.0.0.1",
            "SHOPSIM_PG_PORT": port,
            "SHOPSIM_PG_USER": "shop",
            "SHOPSIM_PG_PASSWORD": PASSWORD,
            "SHOPSIM_PG_DB": "postgres",
        }
    finally:
        run("pg_ctl", "-D", data, "-m", "immediate", "stop")
        shutil.rmtree(folder)


def test_runs_and_materializations_are_in_postgres(server: dict[str, str], tmp_path: Path) -> None:
    home, raw = tmp_path / "home", write_records(tmp_path / "raw.json.gz")
    home.mkdir()
    shutil.copyfile(CONFIG, home / "dagster.yaml")
    command = [str(Path(sys.executable).with_name("shopsim")), "build", "--dataset", "small", "--json"]
    done = subprocess.run(
        [*command, "--raw", str(raw), "--runtime-regex-task-id", "all", "--data", str(tmp_path / "data")],
        cwd=ROOT,
        env={**os.environ, **server, "DAGSTER_HOME": str(home)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    with closing(
        psycopg2.connect(
            host=server["SHOPSIM_PG_HOST"],
            port=server["SHOPSIM_PG_PORT"],
            user="shop",
            password=PASSWORD,
            dbname="postgres",
        )
    ) as connection:
        cursor = connection.cursor()
        cursor.execute("SELECT run_id, pipeline_name, status FROM runs")
        assert cursor.fetchall() == [(report["run_id"], "build_release", "SUCCESS")]
        cursor.execute("SELECT asset_key FROM event_logs WHERE dagster_event_type = 'ASSET_MATERIALIZATION'")
        written = {"/".join(json.loads(key)) for (key,) in cursor.fetchall()}
    assert written == {stage["asset"] for stage in report["stages"]}
    assert not list(home.rglob("*.db")), "nothing is kept in SQLite beside it"
    files = [path for path in home.rglob("*") if path.is_file()]
    assert not any(PASSWORD.encode() in path.read_bytes() for path in files)
