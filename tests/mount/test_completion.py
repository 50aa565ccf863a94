"""What bash offers after a part of an unshard command line."""

import pathlib
import re
import shlex
import subprocess

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "packaging/completions/unshard.bash"


def offered(line, directory="."):
    """The words that replace the last one of `line`, split as bash does by default."""
    words = [word for part in line.split(" ") for word in re.split(r"(=)", part) if word]
    if line.endswith(" "):
        words.append("")
    program = f"""
        source {shlex.quote(str(SCRIPT))}
        COMP_WORDS=({shlex.join(words)}) COMP_CWORD={len(words) - 1}
        COMP_LINE={shlex.quote(line)} COMP_POINT={len(line)}
        _unshard
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "--norc", "-c", program], cwd=directory, text=True,
                          capture_output=True, check=True)
    assert not done.stderr
    return done.stdout.split()


def test_subcommands_are_those_of_the_program(run_unshard):
    text = run_unshard("--help").stdout
    commands = re.findall(r"^  (\w+)  +\w", text.split("Subcommands:")[1], re.MULTILINE)
    assert set(commands) <= set(offered("unshard ")) <= {*commands, "--help", "--version"}
    assert offered("unshard um") == ["umount"]


@pytest.mark.parametrize("command", ["mount", "umount", "flush", "status", "list", "why", "info",
                                     "schema", "create", "copy", "help"])
def test_options_are_those_of_the_program(run_unshard, command):
    text = run_unshard(command, "--help").stdout
    options = set()
    for names in re.findall(r"^  (-[-\w,]+)", text, re.MULTILINE):
        options |= set(names.split(","))
    assert set(offered(f"unshard {command} -")) == options - {"-h"}


def test_help_is_offered_for_every_command(run_unshard):
    text = run_unshard("--help").stdout.split("Subcommands:")[1].split("Examples:")[0]
    assert set(offered("unshard help ")) == set(re.findall(r"^  (\w+)  +\w", text, re.MULTILINE))
    assert set(offered("unshard help spool ")) == {"list", "publish", "export", "drop"}


def test_formats_are_offered():
    assert offered("unshard create new --format z") == ["zarr3", "zarr2"]


def test_why_is_offered_files(work):
    (work / "chunk").write_text("")
    assert offered("unshard why ch", work) == ["chunk"]


@pytest.mark.parametrize("action", ["list", "publish", "export", "drop"])
def test_what_is_done_with_spools_is_offered(run_unshard, action):
    assert action in offered("unshard spool ")
    text = run_unshard("spool", action, "--help").stdout
    options = set()
    for names in re.findall(r"^  (-[-\w,]+)", text, re.MULTILINE):
        options |= set(names.split(","))
    assert set(offered(f"unshard spool {action} -")) == options - {"-h"}


def test_mount_options_are_those_of_the_program(run_unshard):
    text = run_unshard("mount", "--help").stdout
    listed = text.split("separated by commas:\n")[1].split("\n\n")[0]
    names = set()
    for line in re.findall(r"^  (\S+)", listed, re.MULTILINE):
        names |= {re.sub("=.*", "=", word) for word in line.split(",")}
    assert set(offered("unshard mount a b -o ")) == names


@pytest.mark.parametrize("name", ["view", "view_codec", "lossy", "list", "morton", "watch", "sync"])
def test_values_are_those_that_the_program_takes(run_unshard, name):
    refusal = run_unshard("mount", "a", "b", "-o", f"{name}=no_such_value").stderr
    values = re.split(", | or ", refusal.strip().split("expected ")[1])
    assert sorted(offered(f"unshard mount a b -o allow_other,{name}=")) == sorted(values)


def test_the_last_entry_of_a_list_is_completed_in_its_place():
    assert offered("unshard mount a b -o immutable,li") == ["immutable,list="]
    assert offered("unshard mount a b -o immutable,list=g") == ["grid"]
    assert offered("unshard mount -o list=grid,mem") == ["grid,memory="]


def test_sources_and_mount_points(work, mount):
    (work / "segmentation").mkdir()
    (work / "segment.txt").write_text("no directory")
    assert offered("unshard mount seg", work) == ["segmentation"]
    assert offered("unshard mount -o immutable seg", work) == ["segmentation"]
    (work / "segmentation/info").write_text('{"@type": "neuroglancer_skeletons"}')
    mounted = mount(work / "segmentation")
    for command in ("umount", "flush", "status"):
        assert str(mounted.path) in offered(f"unshard {command} ")
