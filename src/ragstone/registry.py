"""What can be added by name: each extension point has a table of the core's, and beside it what the
plugins in `ragstone.plugins` add and the entry points that other packages declare in its group.

An entry point is read from the metadata of an installed package, so a name is known before anything
is imported; it is imported when it is chosen. What is wrong with a package costs one line that
names it, and everything else goes on.
"""

import importlib
import inspect
import logging
import os
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from ragstone.core.errors import ConfigError, RagstoneError

if TYPE_CHECKING:
    from importlib.metadata import Distribution

log = logging.getLogger(__name__)

T = TypeVar("T")

OURS = "ragstone"
"""The package of what stands in the tables, and the beginning of every group's name."""

PLUGINS_OFF = "RAGSTONE_PLUGINS_OFF"
"""Names the plugins of Ragstone's own that are not used, such as `plone,chats`."""


@dataclass(frozen=True, slots=True)
class Extension:
    """What has a name at an extension point.

    `target` is the thing, or `module:attribute` where it is. `extra` is the optional requirement
    of Ragstone that it needs. `package` is the name and version of the package it comes from.
    """

    target: object
    help: str = ""
    extra: str = ""
    package: str = OURS

    def load(self) -> Any:
        """Return the thing itself; raises whatever its module raises."""
        if not isinstance(self.target, str):
            return self.target
        module, _, path = self.target.partition(":")
        found: Any = importlib.import_module(module)
        for name in path.split(".") if path else ():
            found = getattr(found, name)
        return found


@dataclass(frozen=True, slots=True)
class Plugin:
    """An optional part of Ragstone, a package in `ragstone.plugins` that has this as `PLUGIN`.

    `adds` holds what it adds, by extension point (the group of entry points without `ragstone.`)
    and name; `help` says in a line what it is for, and `points` are extension points of its own, as
    `module:registry`. Its targets are written as `module:attribute`, so that nothing of it is
    imported before it is used. The core imports nothing from a plugin.
    """

    help: str
    adds: Mapping[str, Mapping[str, Extension]] = field(default_factory=dict)
    points: tuple[str, ...] = ()


class Registry(Generic[T]):
    """The extensions of one point, by name.

    `group` is the group of entry points, `noun` what one is called in messages, `table` what
    the core brings. An extension either `is_a` thing of this class, or a factory that `makes` one:
    an instance of this class, or of this Protocol, whose names it must have. A name of ours is
    found without a look at other packages.
    """

    def __init__(
        self,
        group: str,
        noun: str,
        table: Mapping[str, Extension],
        *,
        is_a: Any = Callable,
        makes: Any = None,
    ) -> None:
        self.group = group
        self.noun = noun
        self._core = table
        self._is_a = is_a
        self._makes = makes

    def __contains__(self, name: str) -> bool:
        return name in self._table or name in self._others

    def __iter__(self) -> Iterator[str]:
        yield from self._table
        yield from self._others

    def items(self) -> Iterator[tuple[str, Extension]]:
        """Yield every name and its extension, ours first."""
        yield from self._table.items()
        yield from self._others.items()

    def __getitem__(self, name: str) -> Extension:
        """Raises ConfigError for a name that nothing has."""
        found = self._table.get(name) or self._others.get(name)
        if found is None:
            if off := self.switched_off.get(name):
                raise ConfigError(
                    f"The {self.noun} {name!r} is one of the plugin {off.package}, which "
                    f"{PLUGINS_OFF} switches off."
                )
            known = f"There are {', '.join(self)}." if any(True for _ in self) else "None is there."
            raise ConfigError(f"There is no {self.noun} {name!r}. {known}")
        return found

    @property
    def ours(self) -> Mapping[str, Extension]:
        """What Ragstone brings, the core and its plugins."""
        return self._table

    @property
    def others(self) -> Mapping[str, Extension]:
        """What other packages bring."""
        return self._others

    @property
    def switched_off(self) -> Mapping[str, Extension]:
        """What the plugins in RAGSTONE_PLUGINS_OFF would bring; `package` is the plugin's name."""
        point = self.group.removeprefix(f"{OURS}.")
        return {
            name: replace(item, package=plugin)
            for plugin in sorted(_plugin_names() & _read_disabled_names())
            for name, item in _load_plugin(plugin).adds.get(point, {}).items()
        }

    @property
    def refusals(self) -> tuple[str, ...]:
        """A sentence for each extension that is left out, as its name is taken."""
        return self._collect[1]

    def load(self, name: str) -> Any:
        """Return the thing or the factory of this name; raises ConfigError when it is broken, of
        another type or missing."""
        with self.explain_errors(name):
            found = self[name].load()
        # A thing of ours may be of another type: it is listed here and used elsewhere.
        if self[name].package != OURS and not isinstance(found, self._is_a):
            raise self._breakage_error(
                name, f"{_display_name(found)} is not of the type {self._is_a.__name__}"
            )
        return found

    def get(self, name: str) -> T:
        """Return the thing of this name; raises ConfigError as `load` does."""
        return cast(T, self.load(name))

    def make(self, name: str, *arguments: object) -> T:
        """Return what the factory of this name makes of `arguments`.

        Raises ConfigError when the factory is broken or missing, takes something else or makes
        something else, and whatever error of Ragstone's it raises itself.
        """
        factory = self.load(name)
        with self.explain_errors(name):
            made = factory(*arguments)
        if getattr(self._makes, "_is_protocol", False):
            missing = sorted(
                member for member in _members(self._makes) if not hasattr(made, member)
            )
            if missing:
                raise self._breakage_error(
                    name, f"{_display_name(made)} has no {', '.join(missing)}"
                )
        elif not isinstance(made, self._makes):
            raise self._breakage_error(
                name, f"{_display_name(made)} is not of the type {self._makes.__name__}"
            )
        return cast(T, made)

    def make_usable(self, names: Iterable[str], otherwise: str, *arguments: object) -> dict[str, T]:
        """Make the things of these names. One of another package that is broken is left out, and
        the log says why, and what happens `otherwise`. Raises ConfigError as `make` for ours."""
        return self.keep_usable(names, otherwise, lambda name: self.make(name, *arguments))

    def keep_usable(
        self, names: Iterable[str], otherwise: str, load: Callable[[str], T]
    ) -> dict[str, T]:
        """The same of what `load` gives for each name; what breaks in it is the extension's."""
        usable: dict[str, T] = {}
        for name in names:
            try:
                with self.explain_errors(name):
                    usable[name] = load(name)
            except ConfigError as error:
                if self[name].package == OURS:
                    raise
                log.warning("%s %s", error, otherwise)
        return usable

    @contextmanager
    def explain_errors(self, name: str) -> Iterator[None]:
        """What goes wrong inside is a ConfigError that says whose extension it is; our own mistakes
        stay what they are."""
        found = self[name]
        try:
            yield
        except RagstoneError:
            raise
        except (Exception, SystemExit) as error:
            if found.extra and isinstance(error, ImportError):
                raise ConfigError(
                    f"The {self.noun} {name!r} needs more than is installed: install what it needs "
                    f"with pip install 'ragstone[{found.extra}]'."
                ) from error
            if found.package == OURS:
                raise
            log.debug("The package %s broke", found.package, exc_info=error)
            raise self._breakage_error(name, _format_error(error)) from error

    def _breakage_error(self, name: str, why: str) -> ConfigError:
        return ConfigError(
            f"{_extension_label(self.noun, name, self[name])} cannot be used: {why}."
        )

    @cached_property
    def _table(self) -> Mapping[str, Extension]:
        point = self.group.removeprefix(f"{OURS}.")
        added: dict[str, Extension] = {}
        for plugin in find_plugins().values():
            added.update(plugin.adds.get(point, {}))
        return {**self._core, **added}

    @property
    def _others(self) -> Mapping[str, Extension]:
        return self._collect[0]

    @cached_property
    def _collect(self) -> tuple[Mapping[str, Extension], tuple[str, ...]]:
        """What other packages bring, and a sentence for each that is left out."""
        found: dict[str, Extension] = {}
        refused: list[str] = []
        for name, item in find_installed().get(self.group, ()):
            first = self._table.get(name) or found.get(name)
            if first is None:
                found[name] = item
                continue
            sentence = (
                f"{_extension_label(self.noun, name, item)} is left out: {first.package} has one "
                "of that "
                "name."
            )
            log.warning(sentence)
            refused.append(sentence)
        return found, tuple(refused)


def summary(thing: object) -> str:
    """Return the first sentence of what a class or a function says of itself, without its stop."""
    paragraph = (inspect.getdoc(thing) or "").partition("\n\n")[0]
    return " ".join(paragraph.split()).partition(". ")[0].rstrip(".")


@cache
def find_plugins() -> Mapping[str, Plugin]:
    """Return the plugins that Ragstone brings, by name, without those named in RAGSTONE_PLUGINS_OFF
    (with commas between them). Read once; only what they are called is imported.

    Raises ConfigError for a name there that no plugin has.
    """
    names, off = _plugin_names(), _read_disabled_names()
    if names and (unknown := sorted(off - names)):
        raise ConfigError(
            f"{PLUGINS_OFF} names {unknown[0]!r}, which is not a plugin: name some of "
            f"{', '.join(sorted(names))}."
        )
    return {name: _load_plugin(name) for name in sorted(names - off)}


@cache
def _plugin_names() -> frozenset[str]:
    """Return the names of all plugins, those that are switched off too. Read once: each setting's
    name is compared with what plugins that are off would bring."""
    try:
        package = importlib.import_module(f"{OURS}.plugins")
    except ModuleNotFoundError:
        return frozenset()
    return frozenset(module.name for module in pkgutil.iter_modules(package.__path__))


def _read_disabled_names() -> set[str]:
    return {name.strip() for name in os.environ.get(PLUGINS_OFF, "").split(",")} - {""}


def _load_plugin(name: str) -> Plugin:
    plugin: Plugin = importlib.import_module(f"{OURS}.plugins.{name}").PLUGIN
    return plugin


@cache
def find_installed() -> Mapping[str, tuple[tuple[str, Extension], ...]]:
    """Return names and extensions of all installed packages by their group, in the order of the
    packages' names. Read once; nothing is imported."""
    from importlib.metadata import distributions  # 40 ms that --help need not pay

    found: dict[str, Distribution] = {}
    for distribution in distributions():
        # Most packages have none of ours: their metadata need not be parsed.
        with suppress(UnicodeError):
            if f"{OURS}." in (distribution.read_text("entry_points.txt") or ""):
                found.setdefault(distribution.metadata["Name"] or "", distribution)
    groups: dict[str, list[tuple[str, Extension]]] = {}
    for name in sorted(found):
        package = f"{name} {found[name].version}"
        try:
            points = found[name].entry_points
        except (TypeError, ValueError) as error:
            log.warning(
                "The entry points of %s cannot be read (%s).", package, _format_error(error)
            )
            continue
        for point in points:
            extension = Extension(point.value.partition("[")[0].strip(), package=package)
            groups.setdefault(point.group, []).append((point.name.lower(), extension))
    return {group: tuple(points) for group, points in groups.items()}


def _extension_label(noun: str, name: str, extension: Extension) -> str:
    return f"The {noun} {name!r} of {extension.package}"


def _format_error(error: BaseException) -> str:
    """Return an error on one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:300].rstrip(".: ")


def _display_name(value: object) -> str:
    return getattr(value, "__name__", None) or type(value).__name__


def _members(protocol: type) -> set[str]:
    """Return the names that a Protocol asks for."""
    bases = [base for base in protocol.__mro__ if getattr(base, "_is_protocol", False)]
    names = {name for base in bases for name in (*vars(base), *base.__annotations__)}
    return {name for name in names if not name.startswith("_")}
