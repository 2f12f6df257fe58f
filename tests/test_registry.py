"""What other packages add: found without an import, and what is wrong costs one clear line."""

import logging
import subprocess
import sys
from pathlib import Path
from typing import Protocol

import pytest

from ragstone.core.errors import ConfigError, InputError
from ragstone.registry import Extension, Registry, find_installed, summary
from tests.packages import Site, site

__all__ = ["site"]

GROUP = "ragstone.greeters"


class Greeter(Protocol):
    name: str

    def greet(self) -> str: ...


class Polite:
    name = "polite"

    def greet(self) -> str:
        return "Good morning."


def registry() -> Registry[Greeter]:
    return Registry(
        GROUP,
        "greeter",
        {
            "polite": Extension(Polite, "Says good morning"),
            "far": Extension("no_such_module:Greeter", "Is far away", extra="travel"),
        },
        makes=Greeter,
    )


def test_given_a_name_of_ours_then_no_package_is_looked_at(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "ragstone.registry.find_installed", lambda: pytest.fail("packages were read")
    )
    assert registry().make("polite").greet() == "Good morning."


def test_given_a_package_then_its_name_is_known_before_it_is_imported(site: Site) -> None:
    source = "class Loud:\n    name = 'loud'\n    def greet(self):\n        return 'HELLO'\n"
    site.add("loud-package", {GROUP: {"Loud": "loud_greeter:Loud"}}, loud_greeter=source)
    known = registry()
    assert list(known) == ["polite", "far", "loud"]
    assert known["loud"].package == "loud-package 1.0"
    assert "loud_greeter" not in sys.modules
    assert known.make("loud").greet() == "HELLO"


def test_given_a_name_of_ours_then_the_package_is_left_out_and_named(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    site.add("thief", {GROUP: {"polite": "thief:Thief"}})
    known = registry()
    with caplog.at_level(logging.WARNING):
        assert list(known) == ["polite", "far"]
    assert isinstance(known.make("polite"), Polite)
    assert known.refusals == (
        "The greeter 'polite' of thief 1.0 is left out: ragstone has one of that name.",
    )
    assert caplog.messages == list(known.refusals)


def test_given_two_packages_of_one_name_then_the_first_by_its_own_name_counts(site: Site) -> None:
    site.add("b-package", {GROUP: {"same": "b:B"}})
    site.add("a-package", {GROUP: {"same": "a:A"}})
    known = registry()
    assert known["same"].package == "a-package 1.0"
    assert "b-package 1.0" in known.refusals[0]
    assert "a-package 1.0 has one" in known.refusals[0]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import no_such_thing", "No module named 'no_such_thing'"),
        ("raise SystemExit('no')", "SystemExit: no"),
        ("x = 1", "AttributeError"),
        ("Bad = 3", "int is not of the type Callable"),
        ("def Bad(required): pass", "missing 1 required positional argument"),
        ("def Bad(): raise ValueError('two\\nlines')", "ValueError: two lines"),
        ("def Bad(): return 'text'", "str has no greet, name"),
        ("class Bad:\n    name = 'bad'", "Bad has no greet"),
    ],
)
def test_given_a_broken_package_then_one_line_names_it_and_the_rest_goes_on(
    site: Site, source: str, said: str
) -> None:
    site.add("bad-package", {GROUP: {"bad": "bad_greeter:Bad"}}, bad_greeter=source)
    known = registry()
    with pytest.raises(ConfigError) as raised:
        known.make("bad")
    assert "The greeter 'bad' of bad-package 1.0 cannot be used: " in raised.value.message
    assert said in raised.value.message
    assert "\n" not in raised.value.message
    assert known.make("polite").greet() == "Good morning."


def test_given_an_error_of_ours_then_it_stays_what_it_is(site: Site) -> None:
    source = "from ragstone.core.errors import InputError\ndef Bad(): raise InputError('no file')"
    site.add("careful", {GROUP: {"careful": "careful_greeter:Bad"}}, careful_greeter=source)
    with pytest.raises(InputError, match="no file"):
        registry().make("careful")


def test_given_an_extra_that_is_missing_then_how_to_install_it() -> None:
    with pytest.raises(ConfigError, match=r"pip install 'ragstone\[travel\]'"):
        registry().make("far")


def test_given_a_name_that_nothing_has_then_those_that_there_are(site: Site) -> None:
    with pytest.raises(ConfigError, match="no greeter 'rude'. There are polite, far"):
        registry().make("rude")


def test_given_a_thing_of_another_type_then_config_error(site: Site) -> None:
    site.add("typed", {"ragstone.numbers": {"text": "typed_thing:THING"}}, typed_thing="THING = ''")
    numbers: Registry[int] = Registry("ragstone.numbers", "number", {}, is_a=int)
    with pytest.raises(
        ConfigError, match="'text' of typed 1.0 cannot be used: str is not of the type int"
    ):
        numbers.get("text")


def test_given_a_package_twice_on_the_path_then_it_is_one(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.add("twice", {GROUP: {"twice": "twice:T"}})
    monkeypatch.setattr(sys, "path", [*sys.path, sys.path[0]])
    find_installed.cache_clear()
    assert registry().refusals == ()


def test_given_metadata_that_cannot_be_read_then_that_package_alone_is_left_out(
    site: Site, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    site.add("good", {GROUP: {"good": "good:Good"}})
    for name, text in (
        ("torn", f"[{GROUP}]\nno value\n".encode()),
        ("odd", f"[{GROUP}]\nodd = \xff".encode("latin-1")),
    ):
        facts = tmp_path / "site" / f"{name}-1.0.dist-info"
        facts.mkdir()
        (facts / "METADATA").write_text(f"Name: {name}\nVersion: 1.0\n")
        (facts / "entry_points.txt").write_bytes(text)
    find_installed.cache_clear()
    assert list(registry().others) == ["good"]
    assert [m for m in caplog.messages if "torn 1.0 cannot be read" in m] == caplog.messages


def test_given_a_module_without_a_name_in_it_then_config_error(site: Site) -> None:
    site.add("whole", {GROUP: {"whole": "whole_module"}}, whole_module="")
    with pytest.raises(ConfigError, match="whole_module is not of the type Callable"):
        registry().make("whole")


def test_the_summary_is_the_first_sentence() -> None:
    def said() -> None:
        """What it does,
        in words. And more of it.

        At length."""

    assert summary(said) == "What it does, in words"
    assert summary(Polite) == ""


def test_the_help_of_the_command_line_reads_no_packages() -> None:
    program = (
        "import sys\nfrom ragstone.cli import app\n"
        "try:\n    app(['--help'])\nexcept SystemExit:\n    pass\n"
        "print('metadata' if 'importlib.metadata' in sys.modules else 'nothing')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "nothing", done.stderr
