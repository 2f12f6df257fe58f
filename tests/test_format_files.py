"""Which files of a package `benchmarks.format_files` keeps; the fetching itself needs a network."""

import gzip
import io
import tarfile
from pathlib import Path

from benchmarks import format_files
from benchmarks.format_files import Package, keep_wanted, yield_surplus


def archive(path: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w") as target:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            target.addfile(member, io.BytesIO(data))
    return path


def test_given_a_package_when_its_files_are_kept_then_only_those_wanted_and_each_once(
    tmp_path: Path,
) -> None:
    package = Package("pack", "source", "*/test/*", frozenset({"ods"}), {"*/boxes/*": "mbox"})
    source = archive(
        tmp_path / "a.tar",
        {
            "p/test/One File.ODS": b"1",
            "p/test/again.ods": b"1",
            "p/docs/other.ods": b"2",
            "p/test/a.odp": b"3",
            "p/boxes/mailarc-1.txt": b"From",
            "p/test/empty.ods": b"",
            "p/test/large.ods": bytes(format_files.LARGEST + 1),
        },
    )
    found = [
        item.relative_to(tmp_path / "out")
        for item in keep_wanted(package, source, set(), tmp_path / "out")
    ]
    assert sorted(item.parent.name for item in found) == ["mbox", "ods"]
    assert all(item.name.startswith("pack-") for item in found)


def test_given_documents_that_debian_packed_when_kept_then_they_are_unpacked(
    tmp_path: Path,
) -> None:
    files = {
        "./usr/share/doc/a/guide.txt.gz": gzip.compress(b"Guide."),
        "./usr/lib/a/test.txt.gz": b"no archive",
    }
    package = Package("a", "documents")
    (one,) = keep_wanted(package, archive(tmp_path / "a.tar", files), set(), tmp_path / "out")
    assert one.read_bytes() == b"Guide."


def test_given_too_many_files_when_evened_then_each_package_has_its_turn() -> None:
    many = [Path(f"many-{number}.ods") for number in range(2 * format_files.MOST)]
    few = [Path(f"few-{number}.ods") for number in range(3)]
    dropped = set(yield_surplus({"ods": [many, few]}))
    assert len(dropped) == len(many) + len(few) - format_files.MOST
    assert not dropped & set(few)
    assert dropped == set(many[-len(dropped) :])
