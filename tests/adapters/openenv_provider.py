"""Runs an OpenEnv package for the package's validator where no container engine is: in network namespaces.

The validator takes providers of others (`run_validation(provider=...)`). The subject is a process in a
network namespace of its own that has nothing but loopback, with the declared limits of memory, processors
and file size; it is reached through the validator's own relay, and its network is measured with the
validator's own probes against a sink in a third namespace. The Dockerfile of the package is not built.
Needs Linux, root (or the right to make namespaces) and iproute2.
"""

import contextlib
import json
import os
import resource
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from openenv.validation.providers import ExecResult, ProviderError, StartupError
from openenv.validation.providers._netns import PROBE_SCRIPT, RELAY_SCRIPT, SINK_SCRIPT, WAIT_READY_SCRIPT
from openenv.validation.runner import source_digest
from openenv.validation.runtime.contracts import NetworkEvidence
from openenv.validation.types import ProviderCapability

CONTROL, SINK = "10.77.0.1", "10.77.0.2"
_MIB = 1 << 20


class NamespaceProvider:
    """A validation provider over processes."""

    name = "network-namespace"
    capabilities = frozenset({ProviderCapability.IMAGE_BUILD, ProviderCapability.NETWORK_POLICY})
    supported_network_modes = frozenset({"no-network"})

    def build(self, root: Path, execution: Any) -> str:
        """The subject is the installed wheel; its name is the digest of the package's folder."""
        del execution
        return f"sha256:{source_digest(root)}"

    def start(self, spec: Any) -> "NamespaceSubject":
        """A server in a namespace of its own, healthy."""
        return NamespaceSubject(spec)


class Namespace:
    """A network namespace with a process in it; `argv` runs there, in `limits`."""

    def __init__(self, argv: list[str], limits: Any = None, log: Any = None) -> None:
        up = 'ip link set lo up && exec "$@"'
        environment = {"PATH": os.environ["PATH"], "HOME": "/tmp", "XDG_CACHE_HOME": "/tmp"}  # noqa: S108
        self.process = subprocess.Popen(
            ["unshare", "--net", "sh", "-c", up, "sh", *argv],
            stdin=subprocess.DEVNULL,
            stdout=log or subprocess.DEVNULL,
            stderr=log or subprocess.DEVNULL,
            env=environment,
            preexec_fn=limits,
        )

    def inside(self, *argv: str) -> list[str]:
        """The command that runs `argv` in this namespace."""
        return ["nsenter", "--target", str(self.process.pid), "--net", *argv]

    def python(self, script: str, *arguments: str, timeout_s: float = 60) -> subprocess.CompletedProcess[str]:
        """Runs one of the validator's scripts here, with a /sys that shows this namespace."""
        own_sys = ["unshare", "--mount", "sh", "-c", 'mount -t sysfs sysfs /sys && exec "$@"', "sh"]
        command = self.inside(*own_sys, sys.executable, "-I", "-c", script, *arguments)
        return subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False)

    def end(self) -> None:
        """Ends the process; the namespace goes with it."""
        self.process.kill()
        self.process.wait()


class NamespaceSubject:
    """The running server, reached through a relay of one process a connection."""

    def __init__(self, spec: Any) -> None:
        self._resources = spec.resources
        self._mode = spec.network.mode
        self._log = open(f"/tmp/openenv-validation-{spec.run_id}.log", "w+b")  # noqa: S108, SIM115, PTH123
        command = [shutil.which("shopsim", path=str(Path(sys.executable).parent)) or "shopsim"]
        self.space = Namespace([*command, "openenv", "serve", "--port", "8000"], self._limit, self._log)
        try:
            ready = self.space.python(WAIT_READY_SCRIPT, str(spec.startup_timeout_s))
            if ready.returncode:
                raise StartupError("the subject did not become healthy in time")
            self._listener = socket.create_server(("127.0.0.1", 0))
        except BaseException:
            self.space.end()
            raise
        self.base_url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._relay, daemon=True).start()

    def _limit(self) -> None:
        memory = self._resources.memory_mb * _MIB
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
        size = self._resources.disk_mb * _MIB
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        processors = sorted(os.sched_getaffinity(0))[-max(1, int(self._resources.cpu)) :]
        os.sched_setaffinity(0, processors)

    def _relay(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                command = self.space.inside(sys.executable, "-I", "-c", RELAY_SCRIPT)
                subprocess.Popen(command, stdin=connection, stdout=connection, stderr=subprocess.DEVNULL)

    def measure_network(self) -> dict[str, Any]:
        """What can be reached from the subject's namespace, beside a control that can reach the sink."""
        sink = Namespace([sys.executable, "-I", "-c", SINK_SCRIPT])
        control = Namespace(["sleep", "infinity"])
        try:
            time.sleep(0.3)
            _connect(control, sink)
            controlled = json.loads(control.python(PROBE_SCRIPT, SINK, "15").stdout)["probes"]
            measured = json.loads(self.space.python(PROBE_SCRIPT, SINK).stdout)
        except (ValueError, KeyError, subprocess.SubprocessError) as error:
            raise ProviderError(f"the network could not be measured: {type(error).__name__}") from error
        finally:
            control.end()
            sink.end()
        alone = measured["namespace"]["interfaces"] == ["lo"]
        found = {
            "requested_mode": self._mode,
            "subject_network_mode": "none" if alone else "shared",
            "namespace": measured["namespace"],
            "probes": [
                {"kind": kind, "control": controlled[kind], "subject": measured["probes"][kind]}
                for kind in ("tcp", "udp", "icmp")
            ],
        }
        return NetworkEvidence.model_validate(found).model_dump(mode="json")

    def inspect(self) -> dict[str, Any]:
        """Whether it runs, and the memory that it has used at most."""
        status = Path(f"/proc/{self.space.process.pid}/status").read_text(encoding="ascii")
        peak = next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))
        return {"running": self.space.process.poll() is None, "peak_memory_mb": int(peak) // 1024}

    def logs(self, max_bytes: int = 65_536) -> str:
        """The end of the log."""
        self._log.seek(0)
        return self._log.read()[-max_bytes:].decode("utf-8", "replace")

    def exec(self, argv: list[str], timeout_s: float) -> ExecResult:
        """Runs a command beside the subject."""
        begin = time.monotonic()
        done = subprocess.run(
            self.space.inside(*argv), capture_output=True, text=True, timeout=timeout_s, check=False
        )
        return ExecResult(done.returncode, done.stdout, done.stderr, time.monotonic() - begin)

    def stop(self) -> None:
        """Ends the server."""
        with contextlib.suppress(OSError):
            self._listener.close()
        self.space.end()
        self._log.close()
        Path(self._log.name).unlink(missing_ok=True)


def _connect(first: Namespace, second: Namespace) -> None:
    """A cable between two namespaces, with an address at each end."""
    pids = str(first.process.pid), str(second.process.pid)
    cable = ["ip", "link", "add", "cable0", "netns", pids[0], "type", "veth"]
    subprocess.run([*cable, "peer", "name", "cable1", "netns", pids[1]], check=True)
    for space, name, address in ((first, "cable0", CONTROL), (second, "cable1", SINK)):
        subprocess.run(space.inside("ip", "address", "add", f"{address}/24", "dev", name), check=True)
        subprocess.run(space.inside("ip", "link", "set", name, "up"), check=True)
