"""What `cmake --install` leaves, and what of the README's words on it can be checked."""

import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from mount_data import VersionedVolume
from mounting import OWN_NAMESPACE

ROOT = pathlib.Path(__file__).resolve().parents[2]
MANUAL = sorted((ROOT / "packaging/man").iterdir())
BOUND = 120


@pytest.fixture
def prefix(work, unshard_binary):
    build = unshard_binary.parent
    assert (build / "cmake_install.cmake").is_file(), f"{build} is no build folder"
    subprocess.run(["cmake", "--install", build, "--prefix", work / "prefix"], check=True,
                   capture_output=True, timeout=BOUND)
    return work / "prefix"


def sections(program):
    shown = subprocess.run(["readelf", "--wide", "--section-headers", program], check=True, text=True,
                           capture_output=True, timeout=BOUND).stdout
    return set(re.findall(r"\] (\.\S+)", shown))


HELPERS = ("mount.unshard", "mount.fuse.unshard", "umount.unshard", "umount.fuse.unshard")


def test_an_installation_is_one_stripped_program_with_its_documents(prefix, unshard_binary):
    files = {str(path.relative_to(prefix)) for path in prefix.rglob("*") if path.is_file() or path.is_symlink()}
    outside = {name for name in files if not name.startswith(("share/doc/unshard/", "share/man/man1/"))}
    assert outside == {"bin/unshard", *(f"sbin/{name}" for name in HELPERS),
                       *(f"share/man/man8/{name}.8" for name in HELPERS),
                       "share/bash-completion/completions/unshard", "share/zsh/vendor-completions/_unshard",
                       "share/fish/vendor_completions.d/unshard.fish", "lib/systemd/system/unshard@.service"}
    assert {*(f"share/man/man1/{page.name}" for page in MANUAL), "share/doc/unshard/LICENSE",
            "share/doc/unshard/README.md",
            "share/doc/unshard/fs/docs/views.md"} <= files
    for helper in HELPERS:
        assert os.readlink(prefix / "sbin" / helper) == "../bin/unshard"
        assert (prefix / "share/man/man8" / f"{helper}.8").resolve().parent == prefix / "share/man/man1"
    found = sections(prefix / "bin/unshard")
    assert ".text" in found and ".symtab" not in found
    assert not [name for name in found if name.startswith(".debug")]
    assert ".symtab" in sections(unshard_binary), "the build keeps its symbols"
    version = subprocess.run([prefix / "bin/unshard", "--version"], check=True, text=True,
                             capture_output=True, timeout=BOUND).stdout
    assert version.startswith("unshard ")


def test_the_manifest_lists_all_that_was_installed(prefix, unshard_binary):
    manifest = (unshard_binary.parent / "install_manifest.txt").read_text()
    subprocess.run(["xargs", "rm"], input=manifest, text=True, check=True, timeout=BOUND)
    assert [path for path in prefix.rglob("*") if not path.is_dir()] == []


def test_links_of_installed_documents_lead_to_installed_documents(prefix):
    """But for those to what only who changes unshard needs."""
    folder = prefix / "share/doc/unshard"
    missing = {}
    for page in folder.rglob("*.md"):
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            if ".github/" not in link and not (page.parent / link).exists():
                missing[f"{page.relative_to(folder)}: {link}"] = None
    assert list(missing) == []


def test_the_version_has_one_place(unshard_binary):
    """The changelog is the only text with a version that is not made from CMakeLists.txt."""
    version = re.search(r"^project\(unshard VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)[1]
    shown = subprocess.run([unshard_binary, "--version"], check=True, text=True, capture_output=True, timeout=BOUND)
    assert shown.stdout.splitlines()[0] == f"unshard {version}"
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text().replace(",", ""), re.MULTILINE)[1]
    assert newest == version


def test_version_lists_the_libraries_that_the_build_has_and_lacks(run_unshard):
    version, having, *lacking = run_unshard("--version").stdout.splitlines()
    assert re.fullmatch(r"unshard \d+\.\d+\.\d+\S*", version)
    assert re.match(r"with: zlib \d+\.\d+\S*(, |$)", having)
    assert len(lacking) <= 1 and all(line.startswith("without: ") for line in lacking)
    named = re.findall(r"isa-l|lib\w+", having + "".join(lacking))
    assert sorted(named) == sorted(["isa-l", "libdeflate", "libzstd", "libblosc", "liblz4", "libbz2", "liblzma",
                                    "libbrotli", "libpng", "libjxl", "libzfp", "liburing"])
    said = re.findall(r"(isa-l|lib\w+) \d+\.\d", having)
    assert set(re.findall(r"isa-l|lib\w+", having)) - set(said) <= {"liburing"}, "each says its version but this one"


def test_the_readme_names_what_people_need_first():
    text = (ROOT / "README.md").read_text()
    assert "cmake --install build" in text.split("## Install")[1].split("##")[0]
    first = text.split("## If something fails")[1].strip().splitlines()[0]
    assert first.startswith("- `unshard why PATH`")


# What a page has besides the sections of all pages.
SECTIONS = {"unshard": {"COMMANDS", "ENVIRONMENT", "FILES", "MESSAGES"}, "unshard-mount": {"MOUNT OPTIONS", "SIGNALS"},
            "unshard-info": {"JSON OUTPUT"}, "unshard-list": {"JSON OUTPUT"}}


def test_each_command_has_a_page_in_the_manual(run_unshard):
    commands = json.loads(run_unshard("help", "--json").stdout)["commands"]
    assert {page.stem for page in MANUAL} == {"unshard", *(f"unshard-{command['name']}" for command in commands)}


@pytest.mark.parametrize("page", MANUAL, ids=lambda page: page.stem)
def test_a_page_of_the_manual_has_its_sections_and_is_sound(page):
    text = page.read_text()
    sections = {"NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "EXAMPLES", "SEE ALSO"} | SECTIONS.get(page.stem, set())
    assert sections <= set(re.findall(r"^\.SH (.*)$", text, re.MULTILINE))
    # A section that the program writes is not empty.
    assert not re.search(r"^\.SH .*\n(?:\.\\\".*\n)*(?=\.SH|\Z)", text, re.MULTILINE)
    if shutil.which("groff"):
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", page], capture_output=True,
                              text=True, timeout=BOUND)
        assert (done.returncode, done.stderr) == (0, "")


# The helpers of both programs stand in /sbin; nothing is published by itself.
UMOUNT_IN_NAMESPACE = """
set -eu
mount -t overlay overlay -o lowerdir={helpers}:/usr/sbin /usr/sbin
trap 'fusermount3 -u -z "{point}" 2>/dev/null || :' EXIT
mount -t unshard '{source}' '{point}' -o publish_after=1000,spool='{spool}'
cp '{wanted}' '{point}/{name}'
test -n "$(find '{spool}' -path '*/chunks/*,*')"
{umount} '{point}'
! grep -q ' {point} ' /proc/self/mounts
test -z "$(find '{spool}' -path '*/chunks/*,*')"
"""


@pytest.mark.parametrize("umount", ["umount", "umount -l", "umount -t fuse.unshard -v"])
def test_umount_program_waits_until_all_is_published(work, unshard_binary, umount):
    if os.getuid() != 0:
        pytest.skip("needs root: a mount namespace in which umount.fuse.unshard is installed")
    source, point = VersionedVolume(work / "source"), work / "point"
    point.mkdir()
    (work / "sbin").mkdir()
    for helper in ("mount.unshard", "umount.unshard", "umount.fuse.unshard"):
        (work / "sbin" / helper).symlink_to(unshard_binary)
    (work / "wanted").write_bytes(source.expected(0, 1))
    script = UMOUNT_IN_NAMESPACE.format(helpers=work / "sbin", point=point, name=source.names[1],
                                        source=source.path, spool=work / "spool",
                                        wanted=work / "wanted", umount=umount)
    done = subprocess.run([*OWN_NAMESPACE, "sh", "-xc", script], capture_output=True, text=True,
                          timeout=BOUND)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
