"""What a figure depends on besides the code, for benchmarks that name the processor."""

import platform
from pathlib import Path


def cpu_name() -> str:
    """The processor as the system calls it."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
