#!/usr/bin/env python3
"""Rules of the source tree, each checked by a ctest test: lint.py RULE --root DIR --build DIR.

A rule is a function from a Tree to a list of findings; none means clean. self_test.py proves that
each one can find something.
"""

import argparse
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

import classes
import reading

# Each may include itself and those before it. Sources of fs/ itself are between its folders.
FOLDERS = [
    "codec/core", "codec/json", "codec/grid", "codec/types", "codec/chain", "codec/codecs",
    "codec/array", "codec/shard", "codec/precomputed", "codec/zarr2", "codec/n5", "codec/zarr3",
    "codec/pyramid", "codec/schema", "codec/volume_file",
    "store/object", "store/http", "store/remote", "store/s3", "store/gcs", "store/local",
    "store/cache", "store/zip",
    "store/spool", "store/shard", "store/publish", "store/files", "store/chunks", "store/views",
    "store/source", "store/dataset", "store/volume",
    "store/volume_file", "store/copy",
    "fs/common", "fs/write", "fs/tree", "fs", "fs/mount", "fs/kernel", "fs/cli"]
LAYERS = ["codec", "store", "fs"]
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


class Tree:
    """The files that git tracks or would track, read once."""

    def __init__(self, root, build=None, unit_build=None):
        self.root = pathlib.Path(root).resolve()
        self.build = pathlib.Path(build).resolve() if build else None
        self.report = []  # what a rule has measured
        self.unit_build = pathlib.Path(unit_build or build).resolve() if build else None
        self.files = sorted(self._list())

    def _list(self):
        listed = subprocess.run(
            ["git", "-c", f"safe.directory={self.root}", "-C", str(self.root), "ls-files", "-z",
             "--cached", "--others", "--exclude-standard"], capture_output=True, text=True) \
            if (self.root / ".git").exists() else None
        if listed and listed.returncode == 0:
            names = [name for name in listed.stdout.split("\0") if name]
        else:
            names = []
            for folder, folders, files in os.walk(self.root):
                folders[:] = [each for each in folders if not each.startswith("build")
                              and each not in (".git", ".cache", "__pycache__")]
                names += [os.path.relpath(os.path.join(folder, each), self.root) for each in files]
        return [name for name in set(names) if (self.root / name).is_file()]

    def named(self, *patterns):
        return [name for name in self.files
                if any(pathlib.PurePath(name).match(each) for each in patterns)]

    def sources(self):
        return self.named("*.cc", "*.h")

    @functools.cache
    def text(self, name):
        return (self.root / name).read_text(errors="replace")

    @functools.cache
    def includes(self, name):
        """[(line number, '<' or '\"', included name)]"""
        text = self.text(name)
        return [(text.count("\n", 0, m.start(1)) + 1, m[1], m[2]) for m in INCLUDE.finditer(text)]

    def compile_commands(self):
        """Those of the build, and of the unit tests' build for what only that one compiles. Instead of a unit
        that is compiled as one its sources."""
        expanded = {}
        for build in dict.fromkeys((self.build, self.unit_build)):
            for entry in json.loads((build / "compile_commands.json").read_text()):
                unit = pathlib.Path(entry["directory"]) / entry["file"]
                parts = re.findall(r'^#include "(/.*\.cc)"$', unit.read_text(), re.MULTILINE) \
                    if unit.suffix == ".cxx" else [entry["file"]]
                for each in parts:
                    expanded.setdefault(os.path.realpath(os.path.join(entry["directory"], each)), {**entry, "file": each})
        return list(expanded.values())

    def latest(self):
        """What the latest commits have touched, the last one first; everything where there is no history."""
        git = ["git", "-c", f"safe.directory={self.root}", "-C", str(self.root)]
        commands = (["status", "--porcelain=v1", "-uall"], ["log", "-n", "100", "--name-only", "--pretty="])
        names = []
        for command in commands:
            done = subprocess.run(git + command, capture_output=True, text=True) \
                if (self.root / ".git").exists() else None
            if not done or done.returncode != 0:
                return self.files
            names += [line[3:] if command[0] == "status" else line for line in done.stdout.splitlines()]
        return [name for name in dict.fromkeys(names) if (self.root / name).is_file()]


def layer_of(name):
    top = name.split("/")[0]
    return top if top in LAYERS else None


def folder_of(name):
    return name.rpartition("/")[0] if layer_of(name) else None


def include_layering(tree):
    """Includes go down FOLDERS, are written from the root, and name files that exist."""
    findings = []
    for name in tree.sources():
        layer, folder = layer_of(name), folder_of(name)
        if folder and folder not in FOLDERS:
            findings.append(f"{name}: the folder {folder} has no place in FOLDERS")
            continue
        for line, quote, included in tree.includes(name):
            target = folder_of(included)
            if quote == '"' and not (tree.root / included).is_file():
                findings.append(f"{name}:{line}: \"{included}\" is not a path from the root")
            elif folder and target and FOLDERS.index(target) > FOLDERS.index(folder):
                findings.append(f"{name}:{line}: {folder} must not include {target} ({included})")
            if layer and included.startswith(("packaging/", "tests/")):
                findings.append(f"{name}:{line}: {layer} must not include {included.split('/')[0]}")
    return findings


def heavy_headers(tree):
    """libfuse stays in fs/kernel; nlohmann, CLI11 and pugixml each in one .cc."""
    findings = []
    users = {"nlohmann/": [], "CLI/": [], "pugixml": []}
    for name in tree.sources():
        if not layer_of(name):
            continue
        for line, _, included in tree.includes(name):
            if re.match(r"fuse", included) and folder_of(name) != "fs/kernel":
                findings.append(f"{name}:{line}: libfuse belongs to fs/kernel only")
            for library, places in users.items():
                if included.startswith(library):
                    if not name.endswith(".cc"):
                        findings.append(f"{name}:{line}: {included} in a header")
                    places.append(name)
    for library, places in users.items():
        if len(set(places)) > 1:
            findings.append(f"{library} is included by more than one file: {sorted(set(places))}")
    return findings


IMPURE = {"mutex", "shared_mutex", "thread", "atomic", "condition_variable", "future", "iostream",
          "fstream", "ostream", "chrono", "filesystem", "cstdio", "stdio.h", "fcntl.h", "unistd.h",
          "time.h", "ctime", "syslog.h", "random"}


def pure_codec(tree):
    """codec has no threads, clock, files or output."""
    return [f"{name}:{line}: codec does no I/O and keeps no threads: <{included}>"
            for name in tree.sources() if layer_of(name) == "codec"
            for line, _, included in tree.includes(name)
            if included in IMPURE or included.startswith("sys/")]


SHARDS = re.compile(r"\b(ShardSlot|ShardSet|ShardGeneration\w*|ShardedTree|ShardedChunks|ChunkReader|shards\(\))")


def shards_stay_in_store(tree):
    """fs/ asks a ChunkStore for chunks, and does not know what holds them."""
    return [f"{name}:{number}: what holds chunks is known to store/ only: {found[0]}"
            for name in tree.sources() if layer_of(name) == "fs"
            for number, line in enumerate(tree.text(name).splitlines(), 1)
            if (found := SHARDS.search(line.split("//")[0]))]


DOCUMENT_MEMBERS = re.compile(r'"(codecs|chunk_grid|chunk_key_encoding|chunk_sizes|blockSize|compressor)"')
# Folders and files that name members of metadata documents, and why.
NAMING_MEMBERS = {
    "codec/zarr3/": "reads, writes and merges zarr.json",
    "codec/zarr2/": "reads and writes .zarray",
    "codec/n5/": "reads and writes attributes.json",
    "codec/precomputed/": "reads, writes and merges info",
    "codec/chain/codec_spec.h": "names the chains within a codec",
    "codec/codecs/": "compressions of N5 have the option blockSize",
    "codec/schema/codec_constraints.cc": "reads the codec of a schema",
    "codec/schema/array_schema.cc": "writes the codec of a schema",
    "codec/schema/new_array.cc": "makes arrays of schemas",
    "codec/schema/copied_documents.cc": "says which members a schema may change in a document",
    "codec/array/array.cc": "names the compressor for unshard info",
    "codec/pyramid/block_plan.cc": "writes the codecs of views",
    "codec/pyramid/n5_pyramid.cc": "leaves out the members of N5 in attributes of the user",
    "store/source/mentioned_names.cc": "finds the names of files in documents that it does not parse",
    "store/copy/copy_places.cc": "leaves out the members of N5 in attributes of the user",
    "store/dataset/dataset_details.cc": "shows the codecs of an index as the document has them",
    "store/dataset/plain_datasets.cc": "tells documents of N5 from others",
    "store/dataset/view_source.cc": "tells documents of N5 from others",
}


def parsed_once(tree):
    """A metadata document is parsed by its reader: others ask for the array, and name no member."""
    def place_of(name):
        return next((place for place in NAMING_MEMBERS if name.startswith(place)), None)
    naming = [(name, number, found[1]) for name in tree.sources() if layer_of(name) in ("codec", "store", "fs")
              for number, line in enumerate(tree.text(name).splitlines(), 1)
              if (found := DOCUMENT_MEMBERS.search(line.split("//")[0]))]
    findings = [f"{name}:{number}: names the member {member} of a document that another file parses"
                for name, number, member in naming if not place_of(name)]
    unused = set(NAMING_MEMBERS) - {place_of(name) for name, _, _ in naming}
    findings += [f"{place}: names no member of a document: NAMING_MEMBERS need not have it"
                 for place in sorted(unused) if (pathlib.Path(tree.root) / place).exists()]
    return findings


CASTS = re.compile(r"\b((?:dynamic|static)(?:_pointer)?_cast)<\s*(?:const\s+)?(\w+)|\b(typeid)\b")
PURPOSES = re.compile(r"\b(?:get_if|holds_alternative|get)<StagedInode::\w+>")
DERIVED = re.compile(r"\bclass (\w+)(?: final)?\s*:\s*public (\w+)")
ROOTS = {"Node", "Name", "OpenFile"}
PURPOSES_OF = "fs/write/staged_inode"


def kinds(tree):
    """{class derived from a root: the file that defines it, without suffix}"""
    found, bases = {}, {}
    for name in tree.sources():
        if layer_of(name) == "fs":
            for each, base in DERIVED.findall(classes.bare(tree.text(name))):
                bases[each], found[each] = base, name.rpartition(".")[0]

    def is_kind(each):
        return each in ROOTS or each in bases and is_kind(bases[each])
    return {each: place for each, place in found.items() if is_kind(each)}


def kinds_are_not_looked_at(tree):
    """Whoever has a node, a name or an open file asks it, and does not ask which kind it is."""
    findings, places = [], kinds(tree)
    for name in tree.sources():
        if layer_of(name) != "fs":
            continue
        for number, line in enumerate(classes.bare(tree.text(name)).splitlines(), 1):
            for cast, target, other in CASTS.findall(line):
                own = places.get(target) == name.rpartition(".")[0]
                if other or cast.startswith("dynamic") or target in places and not own:
                    findings.append(f"{name}:{number}: looks at a kind: {other or cast + '<' + target}")
            if PURPOSES.search(line) and name.rpartition(".")[0] != PURPOSES_OF:
                findings.append(f"{name}:{number}: looks at the purpose of a staged inode")
    return findings


CLASS = re.compile(r"^(?:class|struct|union|enum class|enum) (\w+)(?!\w|::)(?!.*;$)", re.MULTILINE)


def one_definition(tree):
    """A name in namespace unshard is one class: the linker mixes two of them up, and warns nobody."""
    places = {}
    for name in tree.sources():
        if not layer_of(name):
            continue
        shared = re.sub(r"^namespace \{$.*?^\}  // namespace$", "", tree.text(name),
                        flags=re.MULTILINE | re.DOTALL)
        for each in CLASS.findall(shared):
            places.setdefault(each, []).append(name)
    return [f"{each}: a class in more than one file: {', '.join(names)}"
            for each, names in sorted(places.items()) if len(names) > 1]


def file_size(tree):
    """600 lines a file, 900 for tests."""
    findings = []
    for name in tree.named("*.cc", "*.h", "*.py", "*.sh", "*.cmake", "CMakeLists.txt"):
        ceiling = 900 if name.startswith("tests/") else 600
        lines = tree.text(name).count("\n")
        if lines > ceiling:
            findings.append(f"{name}: {lines} lines, the ceiling is {ceiling}")
    return findings


METHODS_OF_A_CLASS = 40
SOURCES_OF_A_CLASS = 2


def class_size(tree):
    """At most 40 methods a class, which stand in at most two sources."""
    findings, places = [], {}
    for name in tree.sources():
        if not layer_of(name):
            continue
        text = tree.text(name)
        for each, count in classes.method_counts(text):
            if count > METHODS_OF_A_CLASS:
                findings.append(f"{name}: {each} has {count} methods, "
                                f"the ceiling is {METHODS_OF_A_CLASS}")
        if name.endswith(".cc"):
            for each in classes.classes_with_methods(text):
                places.setdefault(each, []).append(name)
    return findings + [f"{each} is defined in {len(names)} sources: {', '.join(sorted(names))}"
                       for each, names in sorted(places.items()) if len(names) > SOURCES_OF_A_CLASS]


# Without a header since before the rule. A name may only be taken out.
WITHOUT_HEADER = {
    "codec/codecs": ["brotli"],  # file_suffixes.h declares it
    "codec/volume_file": ["nifti", "npy", "nrrd"],  # formats.h
    "fs/cli": ["main"],
    "store/shard": ["set_read"],
}


LIST = re.compile(r"#define UNSHARD_EACH_\w+\((\w+)\)((?:.*\\\n)*.*)")


def declared_by_lists(tree):
    """{name of a function: the folder of the list that declares it, one word of it a function}"""
    return {name: folder_of(header) for header in tree.named("*.h") if layer_of(header)
            for each, entries in LIST.findall(tree.text(header))
            for name in re.findall(rf"\b{each}\((\w+)\)", entries)}


def header_for_each_source(tree):
    """A source has a header of its name, or defines a function that a list of its folder declares."""
    listed = declared_by_lists(tree)

    def is_listed(name):
        return any(listed.get(each) == folder_of(name)
                   for each in re.findall(r"^\S.* &?(\w+)\(\) \{", tree.text(name), re.MULTILINE))
    return [f"{name}: no header of its name" for name in tree.named("*.cc")
            if layer_of(name) and not (tree.root / name).with_suffix(".h").is_file()
            and pathlib.PurePath(name).stem not in WITHOUT_HEADER.get(folder_of(name), []) and not is_listed(name)]


def tests_are_built(tree):
    """Every *_test.cc on disk is compiled into a test program."""
    compiled = {os.path.realpath(os.path.join(each["directory"], each["file"]))
                for each in tree.compile_commands()}
    return [f"{name}: no test program of this build compiles it" for name in tree.named("*_test.cc")
            if str(tree.root / name) not in compiled]


def python_tests_are_registered(tree):
    """Every test_*.py on disk is run by a ctest test."""
    shown = subprocess.run(["ctest", "--test-dir", str(tree.build), "--show-only=json-v1"],
                           capture_output=True, text=True, check=True).stdout
    run = {argument for test in json.loads(shown)["tests"] for argument in test.get("command", [])}
    return [f"{name}: no ctest test runs it" for name in tree.named("test_*.py")
            if str(tree.root / name) not in run]


def formatting(tree):
    """clang-format has nothing to change."""
    sources = [str(tree.root / name) for name in tree.sources()]
    if not sources:
        return []
    done = subprocess.run(["clang-format", f"--style=file:{tree.root}/.clang-format", "--dry-run",
                           "-Werror", *sources], capture_output=True, text=True)
    first = {}
    for line in done.stderr.splitlines():
        if "error:" in line:
            first.setdefault(line.split(":")[0], line)
    return list(first.values()) if first or done.returncode == 0 else [done.stderr or "it failed"]


def pragma_once(tree):
    """Headers are guarded by #pragma once."""
    return [f"{name}: no #pragma once" for name in tree.named("*.h")
            if not re.search(r"^#pragma once$", tree.text(name), re.MULTILINE)]


def compile_flags(tree):
    """{source path from the root: its compiler, defines and include folders}"""
    flags = {}
    for entry in tree.compile_commands():
        words = shlex.split(entry["command"])
        compiler = next(word for word in words if not word.endswith("ccache"))
        kept, take = [compiler], False
        for word in words:
            if take or word.startswith(("-I", "-D", "-std=", "-isystem")):
                kept.append(word)
            take = word in ("-isystem", "-I", "-D")
        source = os.path.realpath(os.path.join(entry["directory"], entry["file"]))
        flags[os.path.relpath(source, tree.root)] = kept
    return flags


class Passed:
    """Which files have passed a rule before, by a digest of all that the result depends on. It is kept in the cache of
    tests/run, also for other checkouts; without that nothing has passed."""

    MOST_KEPT = 20000

    def __init__(self, tree, rule):
        self.tree = tree
        cache = os.environ.get("UNSHARD_CACHE")
        self.file = pathlib.Path(cache) / "passed-lint" / rule if cache else None
        self.digests = self.file.read_text().split() if self.file and self.file.exists() else []
        self.known = set(self.digests)

    def digest(self, name, *also):
        """Of a file, of all files of the tree that it includes, and of `also`: flags, a configuration, a version. Headers
        of the system are not looked at."""
        names, found = [name], {name}
        for each in names:
            for _, kind, included in self.tree.includes(each) if (self.tree.root / each).is_file() else ():
                if kind == '"' and included not in found:
                    found.add(included)
                    names.append(included)
        parts = [text.replace(str(self.tree.root), "") for text in map(str, also)]
        parts += [each + "\0" + self.tree.text(each) for each in sorted(found) if (self.tree.root / each).is_file()]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def missing(self, digests):
        """The names in {name: digest} that have not passed."""
        return [name for name, digest in digests.items() if digest not in self.known]

    def keep(self, digests):
        self.known.update(digests)
        if self.file:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            new = [each for each in digests if each not in set(self.digests)]
            part = self.file.with_name(f"{self.file.name}.{os.getpid()}")
            part.write_text("\n".join((self.digests + new)[-self.MOST_KEPT:]) + "\n")
            part.replace(self.file)


@functools.cache
def version_of(program):
    return subprocess.run([program, "--version"], capture_output=True, text=True).stdout


def check_each(tree, rule, names, depends, check):
    """All findings of check(name), which returns a list, for the names that have not passed before. `depends(name)`:
    what the result depends on beside the files."""
    passed = Passed(tree, rule)
    digests = {name: passed.digest(name, *depends(name)) for name in names}
    left = passed.missing(digests)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = dict(zip(left, pool.map(check, left)))
    passed.keep([digests[name] for name in left if not found[name]])
    tree.report.append(f"{rule}: {len(left)} of {len(digests)} files had changed")
    return [each for findings in found.values() for each in findings]


def compile_alone(tree, rule, flags, names):
    """One finding for each of the sources and headers that does not compile by itself."""
    def flags_for(name):
        folder = name.split("/")[0]
        fitting = [each for source, each in flags.items() if source.split("/")[0] == folder]
        return max(fitting or flags.values(), key=len)

    def compile_one(name):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "alone.cc"
            source.write_text(f'#include "{name}"\n')
            done = subprocess.run([*flags_for(name), "-fsyntax-only", "-Wshadow", "-Werror",
                                   "-Wno-unknown-warning-option" if "clang" in flags_for(name)[0] else
                                   "-Wno-subobject-linkage", str(source)],
                                  capture_output=True, text=True)
        if done.returncode == 0:
            return []
        error = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr)
        return [f"{name}: does not compile alone: {error}"]

    def depends(name):
        return [*flags_for(name), version_of(flags_for(name)[0])]

    return check_each(tree, rule, names, depends, compile_one)


def headers_compile_alone(tree):
    """Each header includes what it uses: its own source includes it first, or it is compiled here."""
    flags = compile_flags(tree)

    def is_proved_by_its_source(header):
        source = str(pathlib.PurePath(header).with_suffix(".cc"))
        first = next(iter(tree.includes(source)), None) if source in flags else None
        return first is not None and first[2] == header

    names = [each for each in tree.named("*.h") if not is_proved_by_its_source(each)]
    return compile_alone(tree, "headers_compile_alone", flags, names)


MOST_COMPILED_ALONE = 40


def touched_sources(tree, flags):
    """The sources that the latest commits have touched, the last one first; instead of a header its source."""
    touched = [str(pathlib.PurePath(name).with_suffix(".cc")) for name in tree.latest() if layer_of(name)]
    return [name for name in dict.fromkeys(touched) if name in flags]


def sources_compile_alone(tree):
    """Sources that were touched last include what they use, and hide no name, which does not show where
    a sub-folder is compiled as one."""
    flags = compile_flags(tree)
    return compile_alone(tree, "sources_compile_alone", flags, touched_sources(tree, flags)[:MOST_COMPILED_ALONE])


# Written with a bracket each, so that this file does not find itself.
UNFINISHED = re.compile(r"\b(TO[D]O|FIX[M]E|XX[X]|HAC[K])\b|not (yet )?implemente[d]|\bplaceholde[r]\b")
MACHINE = re.compile(r"(?<![\w.<$}])/(wor[k]|hom[e]/\w|roo[t]/\.|tm[p]/(peers|build|bench)|op[t]/wheels)"
                     r"|\b10(\.\d{1,3}){3}\b")


def words(tree):
    """No words of unfinished work, no paths or addresses of one machine."""
    findings = []
    for name in tree.files:
        data = (tree.root / name).read_bytes()
        if b"\0" in data[:4096] or name == "LICENSE":
            continue
        for number, line in enumerate(data.decode(errors="replace").splitlines(), 1):
            if UNFINISHED.search(line):
                findings.append(f"{name}:{number}: unfinished: {line.strip()[:100]}")
            if MACHINE.search(line):
                findings.append(f"{name}:{number}: of one machine: {line.strip()[:100]}")
    return findings


# Words for which the field has its own; what to say instead.
FIELD_WORDS = {
    r"somebody|nobody|everybody|anybody": "the reader, the writer, another process, the kernel",
    r"told|tells? of": "notify, report, invalidate",
    r"give[sn]? up|lets? go( of)?": "release, discard",
    r"set aside": "quarantined",
    r"name spaces?": "namespace",
    r"anticipat\w+": "prefetch",
    r"streaks?": "sequential",
    r"stood": "was",
}


def words_of_the_field(tree):
    """Sources and documents of the product say what the kernel and the formats say."""
    findings = []
    for name in tree.named("*.cc", "*.h", "*.md", "*.1"):
        if not layer_of(name) and name != "README.md" and not name.startswith("packaging/"):
            continue
        for number, line in enumerate(tree.text(name).splitlines(), 1):
            for word, instead in FIELD_WORDS.items():
                if found := re.search(rf"\b({word})\b", line, re.IGNORECASE):
                    findings.append(f"{name}:{number}: {found[0]}: {instead}")
    return findings


# Turns of phrase that hide the actor or the noun, and make a reader go back.
RIDDLES = re.compile(r"\b(of whose|all the same|what is there|but for|by then|ones? that|each of them)\b"
                     .replace(" ", r"\s+"), re.IGNORECASE)


def plain_english(tree):
    """Nothing is said in such a turn of phrase, nor where a line ends within it."""
    findings = []
    for name in tree.named("*.cc", "*.h", "*.md", "*.1"):
        text = re.sub(r"\n\s*//+", "\n", tree.text(name))
        for found in RIDDLES.finditer(text):
            number = text.count("\n", 0, found.start()) + 1
            findings.append(f"{name}:{number}: {' '.join(found[0].split())}: say who does what, and to what")
    return findings


PAGES = ("README.md", "fs/SEMANTICS.md", "fs/docs/*.md", "codec/FORMATS.md", "codec/docs/*.md", ".github/*.md",
         "packaging/*.md")
MOST_WORDS = 3000
MOST_LINES_OF_README = 90
MOST_GRADE = 10


def readability(tree):
    """Pages are short and easy to read, and one with sections begins with a list of them."""
    findings = []
    for name in tree.named(*PAGES):
        text = tree.text(name)
        words, grade = len(text.split()), reading.grade(text)
        tree.report.append(f"{name}: {words} words, grade {grade:.1f}")
        if words > MOST_WORDS:
            findings.append(f"{name}: {words} words, at most {MOST_WORDS}: make two pages of it")
        if grade > MOST_GRADE:
            findings.append(f"{name}: grade {grade:.1f}, at most {MOST_GRADE}: shorten its sentences")
        if name == "README.md" and text.count("\n") > MOST_LINES_OF_README:
            findings.append(f"{name}: {text.count(chr(10))} lines, at most {MOST_LINES_OF_README}")
        sections = re.findall(r"^## (.+)$", re.sub(r"(?ms)^```.*?^```", "", text), re.MULTILINE)
        listed = re.findall(r"^- \[(.+)\]\(#", text.partition("\n## ")[0], re.MULTILINE)
        if "/docs/" in name and sections != listed:
            findings.append(f"{name}: the list at its top has not exactly its sections: {', '.join(sections)}")
    return findings


MOST_TIDIED = 8  # ten seconds each


def tidy(tree):
    """clang-tidy has nothing to say about the sources that were touched last."""
    flags = compile_flags(tree)

    def tidy_one(name):
        done = subprocess.run(["clang-tidy", "--quiet", f"--config-file={tree.root}/.clang-tidy", str(tree.root / name),
                               "--", *flags[name][1:], "-std=c++20", "-Wno-everything"], capture_output=True, text=True)
        return [line for line in done.stdout.splitlines() if re.search(r": (error|warning): ", line)] or \
            ([] if done.returncode == 0 else [f"{name}: {done.stdout or done.stderr}"])

    def depends(name):
        return [*flags[name][1:], tree.text(".clang-tidy"), version_of("clang-tidy")]

    return check_each(tree, "tidy", touched_sources(tree, flags)[:MOST_TIDIED], depends, tidy_one)


RULES = {rule.__name__: rule for rule in (
    include_layering, heavy_headers, pure_codec, shards_stay_in_store, parsed_once, kinds_are_not_looked_at,
    one_definition,
    file_size, class_size, header_for_each_source, tests_are_built,
    python_tests_are_registered, formatting, pragma_once, headers_compile_alone,
    sources_compile_alone, words,
    words_of_the_field, plain_english, readability, tidy)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rule", choices=RULES)
    parser.add_argument("--root", required=True)
    parser.add_argument("--build", required=True)
    parser.add_argument("--unit-build", help="where the unit tests are built, if not in --build")
    arguments = parser.parse_args()
    tree = Tree(arguments.root, arguments.build, arguments.unit_build)
    findings = RULES[arguments.rule](tree)
    print("".join(f"{line}\n" for line in tree.report), end="")
    print("\n".join(findings) or f"{arguments.rule}: clean")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
