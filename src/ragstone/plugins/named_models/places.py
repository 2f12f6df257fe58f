"""From the name of a model to the folder that it is in."""

import re
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from ragstone.core.errors import ConfigError
from ragstone.plugins.named_models.hub import Hub, choose
from ragstone.settings.all import default_data_directory

PACKAGE = "package:"

_PATH = re.compile(r"[~/\\.]|[A-Za-z]:[\\/]")
"""How a name begins that can only be a path."""

_HUB = re.compile(
    r"(?P<repo>[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)(@(?P<revision>[\w./-]+))?(:(?P<file>[\w./-]+))?"
)


@dataclass(frozen=True, slots=True)
class ModelPlace:
    """Where a model is: its `folder`, the ONNX file in it (relative), and `origin`, in words."""

    name: str
    folder: Path
    file: str
    origin: str

    @property
    def path(self) -> Path:
        return self.folder / self.file


class ModelPlaces:
    """Finds the models that settings name. What comes from a hub is kept in `data` / models."""

    def __init__(self, data: Path | None = None) -> None:
        self.kept = (data or default_data_directory()).expanduser().absolute() / "models"
        self._hub = Hub(self.kept)

    @staticmethod
    def is_name(name: str) -> bool:
        """Tell whether `name` is a path, a package's model or one of a hub."""
        return (
            name.startswith(PACKAGE)
            or _is_path(name)
            or _HUB.fullmatch(name) is not None
            or (name != "" and Path(name).is_dir())
        )

    def find(self, setting: str, name: str) -> ModelPlace:
        """Return the place of the model that `setting` names; a hub is asked for it once.

        Raises ConfigError, ModelUnavailable.
        """
        if name.startswith(PACKAGE):
            return _find_package_model(setting, name)
        path = Path(name).expanduser()
        if _is_path(name) or path.is_dir():
            return _find_folder_model(setting, path.absolute())
        match = _HUB.fullmatch(name)
        if match is None:
            raise ConfigError(
                f"{setting} is {name!r}, which is not a folder, package:NAME or OWNER/NAME of a "
                "hub."
            )
        repo = match["repo"]
        folder, file, commit = self._hub.fetch(
            setting, repo, match["revision"] or "", match["file"] or ""
        )
        return ModelPlace(repo, folder, file, f"hub {repo} at {commit[:12]}")


def _is_path(name: str) -> bool:
    return _PATH.match(name) is not None


def _find_folder_model(setting: str, path: Path) -> ModelPlace:
    if path.is_file() and path.suffix == ".onnx":
        folder = path.parent.parent if path.parent.name == "onnx" else path.parent
        file = path.relative_to(folder).as_posix()
        return ModelPlace(folder.name, folder, file, f"folder {folder}")
    if not path.is_dir():
        raise ConfigError(
            f"{setting} is {str(path)!r}, which is not a folder. Give the folder of a model, with "
            "its "
            "model.onnx and tokenizer.json."
        )
    return ModelPlace(path.name, path, _find_onnx_file(setting, path), f"folder {path}")


def _find_onnx_file(setting: str, folder: Path) -> str:
    """Return the ONNX file of a folder, or of those in it, relative to it. Raises ConfigError."""
    found = [item for item in (*folder.glob("*"), *folder.glob("*/*")) if item.is_file()]
    return choose(setting, str(folder), (item.relative_to(folder).as_posix() for item in found))


def _find_package_model(setting: str, name: str) -> ModelPlace:
    """The model of an installed package: `package:NAME`, or `package:NAME:FOLDER` of several."""
    package, _, inside = name.removeprefix(PACKAGE).partition(":")
    try:
        found = distribution(package)
    except (PackageNotFoundError, ValueError) as error:
        raise ConfigError(
            f"{setting} is {name!r}, but no package {package!r} is installed: "
            f"pip install {package or 'NAME'}"
        ) from error
    folder = _find_model_folder(setting, found, package, inside)
    file = _find_onnx_file(setting, folder)
    return ModelPlace(package, folder, file, f"package {package} {found.version}")


def _find_model_folder(setting: str, found: Distribution, package: str, inside: str) -> Path:
    """Return the one folder of a package that has a tokenizer and an ONNX file."""
    places = {Path(str(found.locate_file(file))) for file in found.files or ()}
    folders = {place.parent for place in places if place.name == "tokenizer.json"}
    with_model = sorted(
        folder
        for folder in folders
        if any(item.suffix == ".onnx" and folder in item.parents for item in places)
    )
    if inside:
        with_model = [item for item in with_model if item.as_posix().endswith(f"/{inside}")]
    if len(with_model) == 1:
        return with_model[0]
    if with_model:
        names = ", ".join(f"{PACKAGE}{package}:{item.name}" for item in with_model)
        raise ConfigError(f"{setting}: the package {package} has several models: use {names}.")
    raise ConfigError(
        f"{setting}: the package {package} has no folder {f'{inside} ' if inside else ''}with an "
        "ONNX file and its tokenizer.json. Name another package, or the folder of a model."
    )
