"""What bash, zsh and fish offer after a part of an unshard command line, and what the Tab key makes of it.

What is offered is compared with what the program says of itself (`unshard help --json`), so that a new
command, option or value is tested here without a new line.
"""

import json
import os
import pathlib
import pty
import re
import select
import shlex
import subprocess

import pytest

from mounting import wait_until

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "packaging/completions"
SHELLS = ("bash", "zsh", "fish")
BOUND = 60
# What the last word of a list or of "--name=value" begins with.
PART = re.compile(r"(?<=[=,:])(?=.)")


def bash_offers(line, directory):
    """The words that replace the last one of `line`, split as bash does by default."""
    words = [word for part in line.split(" ") for word in re.split(r"([=:])", part) if word]
    if line.endswith(" "):
        words.append("")
    program = f"""
        source {shlex.quote(str(SCRIPTS / "unshard.bash"))}
        COMP_WORDS=({shlex.join(words)}) COMP_CWORD={len(words) - 1}
        COMP_LINE={shlex.quote(line)} COMP_POINT={len(line)}
        _unshard
        [ ${{#COMPREPLY[@]}} -eq 0 ] || printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "--norc", "-c", program], cwd=directory, text=True, timeout=BOUND,
                          capture_output=True, check=True)
    assert not done.stderr
    return done.stdout.splitlines()


ZSH_SETTINGS = """
fpath=({folder} $fpath); autoload -Uz compinit; compinit -D -u
compadd() {{
  local -a hits
  if [[ ${{@[1,(i)(-|--)]}} != *-(O|A|D)\\ * ]]; then
    builtin compadd -A hits "$@"
    print -rl -- $hits >>{answer}
  fi
  builtin compadd "$@"
}}
done-completing() {{ print >>{answer}.done }}
zle -N done-completing
bindkey '^I' complete-word '^X' done-completing
"""


def zsh_offers(line, work, terminal):
    """What the completion functions hand to compadd; the settings are those of ZSH_SETTINGS."""
    answer, done = work / "answer", work / "answer.done"
    for path in (answer, done):
        path.unlink(missing_ok=True)
    terminal.write(f"\x15{line}\t\x18")
    terminal.wait_until(done.exists)
    hits = answer.read_text().splitlines() if answer.exists() else []
    return [re.sub(r"\\(.)", r"\1", hit) for hit in hits if hit.strip()]


def zsh_folder(work):
    """Where compinit finds the script, by the name that it is installed with."""
    folder = work / "functions"
    folder.mkdir(exist_ok=True)
    if not (folder / "_unshard").exists():
        (folder / "_unshard").symlink_to(SCRIPTS / "unshard.zsh")
    return folder


def fish_offers(line, directory):
    program = f"source {shlex.quote(str(SCRIPTS / 'unshard.fish'))}; complete -C {shlex.quote(line)}"
    done = subprocess.run(["fish", "--no-config", "-c", program], cwd=directory, text=True, timeout=BOUND,
                          capture_output=True, check=True)
    assert not done.stderr
    return [row.split("\t")[0] for row in done.stdout.splitlines()]


class Terminal:
    """A shell with a terminal of its own."""

    def __init__(self, command, directory):
        environment = {"PATH": os.environ["PATH"], "HOME": str(directory), "TERM": "xterm", "LC_ALL": "C.UTF-8"}
        self.process, self.descriptor = pty.fork()
        if self.process == 0:
            os.chdir(directory)
            os.execvpe(command[0], command, environment)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.descriptor)
        os.waitpid(self.process, 0)

    def write(self, text):
        os.write(self.descriptor, text.encode())

    def wait_until(self, condition):
        """Reads away meanwhile what the shell prints, which would wait for that."""
        shown = b""

        def holds():
            nonlocal shown
            while select.select([self.descriptor], [], [], 0)[0]:
                shown += os.read(self.descriptor, 4096)
            return condition()

        assert wait_until(holds, BOUND), shown.decode(errors="replace")


@pytest.fixture(params=SHELLS)
def offered(request, work):
    """offered(line): {last part of each word that the shell offers, without "=" or "/" at its end}"""
    offers = {"bash": bash_offers, "fish": fish_offers}.get(request.param)

    def parts(line):
        return {PART.split(word)[-1].removesuffix("=").removesuffix("/") for word in offers(line, work)}

    if request.param != "zsh":
        yield parts
        return
    with Terminal(["zsh", "-f", "-i"], work) as terminal:
        terminal.write(ZSH_SETTINGS.format(folder=shlex.quote(str(zsh_folder(work))),
                                           answer=shlex.quote(str(work / "answer"))))
        offers = lambda line, _: zsh_offers(line, work, terminal)  # noqa: E731
        yield parts


@pytest.fixture
def program(run_unshard):
    return json.loads(run_unshard("help", "--json").stdout)


def all_commands(command, path=("unshard",)):
    """[(line, command)] of those that run something."""
    below = [each for sub in command["commands"] for each in all_commands(sub, (*path, sub["name"]))]
    return below or [(" ".join(path), command)]


def choices(option):
    return {*option.get("choices", []), *(word for word in option["values"].split("|") if word.islower())}


def mount_options(program):
    return [option for command in program["commands"] for option in command.get("mount_options", [])]


def test_the_program_describes_itself(program):
    names = [command["name"] for command in program["commands"]]
    assert {"mount", "spool", "copy"} < set(names)
    assert len(all_commands(program)) > len(names)
    options = {option["names"][-1]: choices(option) for line, command in all_commands(program)
               for option in command["options"] if line == "unshard create"}
    assert options["--format"] == {"precomputed", "zarr3", "zarr2", "n5"}
    assert {"raw", "zstd", "jpeg"} < options["--codec"] and {"uint8", "float64"} < options["--dtype"]
    assert {option["name"] for option in mount_options(program)} > {"view", "ro", "spool"}


def test_commands_are_those_of_the_program(offered, program):
    for line, command in [("unshard", program)] + [(f"unshard {each['name']}", each) for each in program["commands"]]:
        if command["commands"]:
            assert offered(f"{line} ") == {each["name"] for each in command["commands"]}
            assert offered(line.replace("unshard", "unshard help", 1) + " ") == offered(f"{line} ")
    assert offered("unshard um") == {"umount"}


def test_options_are_those_of_the_program(offered, program):
    for line, command in all_commands(program):
        names = {name for option in command["options"] for name in option["names"]}
        assert offered(f"{line} -") - {"-h"} == names - {"-h"}, line


def test_values_are_those_that_the_program_takes(offered, program):
    for line, command in all_commands(program):
        for option in command["options"]:
            if choices(option):
                assert offered(f"{line} {option['names'][-1]} ") >= choices(option), option["names"]
    assert offered("unshard create new --format=z") == {"zarr3", "zarr2"}


def test_mount_options_are_those_of_the_program(offered, program):
    assert offered("unshard mount a b -o ") == {option["name"] for option in mount_options(program)}
    for option in mount_options(program):
        if choices(option):
            assert offered(f"unshard mount a b -o allow_other,{option['name']}=") == choices(option)


def test_mount_options_take_what_is_offered(program, run_unshard):
    """The refusal of another value lists the same."""
    for option in mount_options(program):
        if choices(option):
            refusal = run_unshard("mount", "a", "b", "-o", f"{option['name']}=no_such_value").stderr
            listed = refusal.strip().split("expected ")[1].removeprefix("some of ").split(" with ")[0]
            assert set(re.split(", | or | and |,", listed)) - {""} == choices(option)


def test_the_last_entry_of_a_list_is_completed(offered, work):
    (work / "spools").mkdir()
    assert offered("unshard mount a b -o immutable,li") == {"list"}
    assert offered("unshard mount -o list=grid,mem") == {"memory"}
    assert offered("unshard mount a b -o files=npy:n") == {"npy", "nii", "nrrd"}
    assert offered("unshard mount a b -o ro,spool=sp") == {"spools"}


def test_places_are_offered(offered, work, mount):
    for name in ("segmentation", "segments"):
        (work / name).mkdir()
    (work / "segment.txt").write_text("no directory")
    for line in ("mount", "mount -o immutable", "mount --verbose x", "copy -q a", "create --like", "spool list --spool"):
        assert offered(f"unshard {line} seg") == {"segmentation", "segments"}, line
    assert offered("unshard why seg") >= {"segment.txt", "segmentation", "segments"}
    assert offered("unshard schema a seg") == offered("unshard list seg") == set()
    (work / "segmentation/info").write_text('{"@type": "neuroglancer_skeletons"}')
    mounted = mount(work / "segmentation", point=work / "a mount")
    for command in ("umount", "flush", "status", "why"):
        assert str(mounted.path) in offered(f"unshard {command} /")


# What is typed before the Tab key, and the words that `unshard` is then called with.
TYPED = {
    "unshard um": ["umount"],
    "unshard copy --verif": ["copy", "--verify"],
    "unshard create new --format p": ["create", "new", "--format", "precomputed"],
    "unshard mount seg": ["mount", "segmentation/"],
    "unshard mount seg/ -o ro,view=pre": ["mount", "seg/", "-o", "ro,view=precomputed"],
    "unshard mount seg/ -o files=npy:ni": ["mount", "seg/", "-o", "files=npy:nii"],
    "unshard mount seg/ -o publish_t": ["mount", "seg/", "-o", "publish_threads="],
    "unshard spool li": ["spool", "list"],
    "unshard umount MOUNTS/a": ["umount", "MOUNTS/a mount"],
}
START = {
    "bash": ["bash", "--norc", "-i"], "zsh": ["zsh", "-f", "-i"], "fish": ["fish", "--no-config", "-i"],
}
SETTINGS = {
    "bash": "bind 'set enable-bracketed-paste off'; source {script}; unshard() {{ printf '%s\\n' \"$@\" >{answer}; }}",
    "zsh": "fpath=({folder} $fpath); autoload -Uz compinit; compinit -D -u; "
           "unshard() {{ print -rl -- \"$@\" >{answer} }}",
    "fish": "source {script}; function unshard; string join \\n -- $argv >{answer}; end",
}


@pytest.mark.parametrize("shell", SHELLS)
def test_the_tab_key_completes_the_line(shell, work, mount):
    (work / "segmentation").mkdir()
    (work / "segmentation/info").write_text('{"@type": "neuroglancer_skeletons"}')
    mount(work / "segmentation", point=work / "a mount")
    answer = work / "answer"
    settings = SETTINGS[shell].format(script=shlex.quote(str(SCRIPTS / f"unshard.{shell}")), answer=shlex.quote(str(answer)),
                                      folder=shlex.quote(str(zsh_folder(work))))
    with Terminal(START[shell], work) as terminal:
        terminal.write(settings + "\n")
        for line, expected in TYPED.items():
            answer.unlink(missing_ok=True)
            terminal.write(line.replace("MOUNTS", str(work)) + "\t\r")
            terminal.wait_until(lambda: answer.exists() and answer.read_text().endswith("\n"))
            expected = [word.replace("MOUNTS", str(work)) for word in expected]
            assert [word.removesuffix("/") for word in answer.read_text().splitlines()] == \
                [word.removesuffix("/") for word in expected], line
