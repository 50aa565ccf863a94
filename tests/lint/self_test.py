#!/usr/bin/env python3
"""Each lint rule passes a small clean tree and finds the one fault put into it."""

import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest
import unittest.mock

import lint

CLEAN = {
    ".clang-format": "BasedOnStyle: Google\nSortIncludes: Never\n",
    ".clang-tidy": 'Checks: "-*,bugprone-*"\nWarningsAsErrors: "*"\n',
    "codec/core/bytes.h": "#pragma once\n#include <cstddef>\nusing Size = std::size_t;\n",
    "codec/json/json.cc": '#include "codec/core/bytes.h"\n#include <nlohmann/json.hpp>\n',
    "codec/json/json.h": "#pragma once\n",
    "store/object/page.h": '#pragma once\n#include "codec/core/bytes.h"\nSize page();\n',
    "store/object/log.cc":
        '#include "store/object/page.h"\n#include <mutex>\n',
    "store/object/log.h": "#pragma once\n",
    "fs/kernel/session.h": "#pragma once\nclass Session {\n  int Run();\n  int run_ = 0;\n};\n",
    "fs/kernel/session.cc": '#include <fuse3/fuse_lowlevel.h>\n#include "store/object/page.h"\n',
    "fs/cli/main.cc": '#include "store/object/page.h"\n#include <CLI/CLI.hpp>\n',
    "tests/codec/bytes_test.cc": '#include "codec/core/bytes.h"\n',
    "tests/mount/test_reading.py": "def test_reading():\n    assert 1 + 1 == 2\n",
    "README.md": "# unshard\n",
}


class SelfTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.root = (self.folder / "tree").resolve()
        self.build = (self.folder / "out").resolve()
        for name, text in CLEAN.items():
            self.put(name, text)
        self.register("tests/mount/test_reading.py")
        self.compile("codec/json/json.cc", "tests/codec/bytes_test.cc")

    def put(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def register(self, *names):
        self.build.mkdir(exist_ok=True)
        lines = [f'add_test({number} python3 "{self.root / name}")'
                 for number, name in enumerate(names)]
        (self.build / "CTestTestfile.cmake").write_text("\n".join(lines) + "\n")

    def compile(self, *names):
        entries = [{"directory": str(self.build), "file": str(self.root / name),
                    "command": f"ccache c++ -I{self.root} -std=c++20 -o x -c {self.root / name}"}
                   for name in names]
        self.build.mkdir(exist_ok=True)
        (self.build / "compile_commands.json").write_text(json.dumps(entries))

    def findings(self, rule):
        return lint.RULES[rule](lint.Tree(self.root, self.build))

    def finds(self, rule, where):
        """The rule was clean before, and now reports exactly `where`."""
        found = self.findings(rule)
        self.assertEqual(len(found), 1, found)
        self.assertIn(where, found[0])

    def test_every_rule_passes_a_clean_tree(self):
        for rule in lint.RULES:
            with self.subTest(rule):
                self.assertEqual(self.findings(rule), [])

    def test_every_rule_is_tried_below(self):
        tried = pathlib.Path(__file__).read_text()
        for rule in lint.RULES:
            self.assertIn(f'self.finds("{rule}"', tried)

    def test_every_rule_is_a_test_of_ctest(self):
        registered = (pathlib.Path(__file__).parent.parent / "CMakeLists.txt").read_text()
        rules = re.search(r"foreach\(rule ([^)]*)\)", registered)[1].split()
        self.assertEqual(sorted(rules), sorted(lint.RULES))

    def test_a_class_with_too_many_methods_is_found(self):
        methods = "".join(f"  int Method{n}(int a) const {{ return a; }}\n" for n in range(40))
        other = "  Class() = default;\n  int member = f(1);\n  std::function<int(int)> call;\n"
        text = "#pragma once\nstruct Class {\n" + other + methods + "%s};\n"
        self.put("store/object/class.h", text % "  // int Comment();\n")
        self.assertEqual(self.findings("class_size"), [])
        self.put("store/object/class.h", text % "  virtual int One() = 0;\n")
        self.finds("class_size", "store/object/class.h: Class has 41 methods")

    def test_a_class_in_three_sources_is_found(self):
        for name in "abc":
            self.put(f"store/object/{name}.cc", f"int Class::Method_{name}() {{\n  return 1;\n}}\n")
        self.finds("class_size", "Class is defined in 3 sources")

    def test_a_source_without_a_header_is_found(self):
        self.put("store/object/list.cc", "")
        self.finds("header_for_each_source", "store/object/list.cc")

    def test_a_source_that_a_list_declares_needs_no_header(self):
        self.put("store/object/list.h", "#pragma once\n#define UNSHARD_EACH_STORE(store) \\\n"
                                        "  store(Near) store(Far)\n")
        for folder, expected in (("object", []), ("local", ["store/local/far.cc"])):
            name = f"store/{folder}/far.cc"
            self.put(name, "#include <cstddef>\nconst Store& Far() {\n}\n")
            found = [each.partition(":")[0] for each in lint.header_for_each_source(
                lint.Tree(self.root, self.build))]
            self.assertEqual(found, expected)
            (self.root / name).unlink()

    def test_an_include_upwards_is_found(self):
        self.put("codec/grid/morton.cc", '#include "store/object/page.h"\n')
        self.finds("include_layering",
                   "codec/grid/morton.cc:1: codec/grid must not include store/object")

    def test_an_include_up_the_folders_of_a_layer_is_found(self):
        self.put("codec/core/error.cc", '#include "codec/grid/morton.h"\n')
        self.put("codec/grid/morton.h", "#pragma once\n")
        self.finds("include_layering",
                   "codec/core/error.cc:1: codec/core must not include codec/grid")

    def test_a_folder_without_a_place_is_found(self):
        self.put("codec/util/misc.h", "#pragma once\n")
        self.finds("include_layering", "codec/util/misc.h: the folder codec/util")

    def test_an_include_that_is_not_from_the_root_is_found(self):
        self.put("codec/grid/morton.cc", '\n#include "bytes.h"\n')
        self.finds("include_layering", "codec/grid/morton.cc:2")

    def test_libfuse_outside_its_adapter_is_found(self):
        self.put("fs/volume_fs.cc", "#include <fuse3/fuse_lowlevel.h>\n")
        self.finds("heavy_headers", "fs/volume_fs.cc:1")

    def test_a_second_user_of_a_heavy_header_is_found(self):
        self.put("store/local/json.cc", "#include <nlohmann/json.hpp>\n")
        self.finds("heavy_headers", "more than one file")

    def test_a_lock_in_codec_is_found(self):
        self.put("codec/core/cache.cc", "#include <mutex>\n")
        self.finds("pure_codec", "codec/core/cache.cc:1")

    def test_a_second_parser_of_a_document_is_found(self):
        self.put("codec/zarr3/document.cc", 'auto codecs = document.Find("codecs");\n')
        self.put("store/copy/copy.cc", '// The member "codecs".\nauto name = "codecs of";\n')
        self.assertEqual(self.findings("parsed_once"), [])
        self.put("store/copy/copy.cc", 'int a;\nauto sizes = document.Find("chunk_sizes");\n')
        self.finds("parsed_once", "store/copy/copy.cc:2: names the member chunk_sizes")
        self.put("store/copy/copy.cc", "int a;\n")
        self.put("store/copy/copy_places.cc", "int a;\n")
        self.finds("parsed_once", "store/copy/copy_places.cc: names no member")

    def test_a_look_at_shards_in_fs_is_found(self):
        self.put("fs/tree/node.cc", "// of its ShardSet\nint a;\n")
        self.put("store/shard/set.cc", "ShardSet set;\n")
        self.assertEqual(self.findings("shards_stay_in_store"), [])
        self.put("fs/tree/node.cc", "\nauto a = tree.shards().Find(1);\n")
        self.finds("shards_stay_in_store", "fs/tree/node.cc:2")

    def put_kinds(self):
        self.put("fs/tree/node.h", "#pragma once\nclass Node {\n};\nclass Directory : public Node {\n};\n")
        self.put("fs/tree/root.h", "#pragma once\nclass Root final\n    : public Directory {\n};\n")
        self.put("fs/tree/root.cc", "auto a = static_cast<Root*>(b);  // dynamic_cast<Root*>(b)\n"
                                    "auto c = static_cast<const Node*>(d);\n")
        self.put("store/local/file.cc", "auto a = dynamic_cast<File*>(b);\n")
        self.assertEqual(self.findings("kinds_are_not_looked_at"), [])

    def test_a_look_at_the_kind_of_a_node_is_found(self):
        for text, found in (("static_cast<const Root&>(b)", "static_cast<Root"),
                            ("std::static_pointer_cast<Root>(b)", "static_pointer_cast<Root"),
                            ("dynamic_cast<Any*>(b)", "dynamic_cast<Any"), ("typeid(b)", "typeid")):
            with self.subTest(text):
                self.put_kinds()
                self.put("fs/kernel/session.cc", f"\nauto a = {text};\n")
                self.finds("kinds_are_not_looked_at", f"fs/kernel/session.cc:2: looks at a kind: {found}")
                (self.root / "fs/kernel/session.cc").unlink()

    def test_a_look_at_the_purpose_of_a_staged_inode_is_found(self):
        self.put_kinds()
        self.put("fs/write/staged_inode.cc", "auto a = std::get_if<StagedInode::Chunk>(&b);\n")
        self.assertEqual(self.findings("kinds_are_not_looked_at"), [])
        self.put("fs/tree/name.cc", "auto a = std::get_if<StagedInode::Chunk>(&b);\n")
        self.finds("kinds_are_not_looked_at", "fs/tree/name.cc:1")

    def test_a_class_that_is_defined_twice_is_found(self):
        self.put("store/object/piece.h", "#pragma once\nstruct Piece {\n};\n")
        self.put("fs/kernel/piece.h", "#pragma once\nclass Piece;\nclass Piece::Part {\n};\n")
        self.put("fs/cli/piece.cc", "namespace {\n\nclass Piece {\n};\n\n}  // namespace\n")
        self.assertEqual(self.findings("one_definition"), [])
        self.put("fs/cli/pieces.h", "#pragma once\nclass Piece final\n    : public Base {\n};\n")
        self.finds("one_definition", "Piece: a class in more than one file: fs/cli/pieces.h")

    def test_a_long_file_is_found(self):
        self.put("fs/tree/long.cc", "\n" * 601)
        self.put("tests/fs/long_test.cc", "\n" * 900)
        self.finds("file_size", "fs/tree/long.cc: 601")

    def test_a_test_that_is_not_built_is_found(self):
        self.put("tests/store/object/page_test.cc", "")
        self.finds("tests_are_built", "tests/store/object/page_test.cc")

    def test_a_python_test_that_is_not_run_is_found(self):
        self.put("tests/mount/test_forgotten.py", "")
        self.finds("python_tests_are_registered", "test_forgotten.py")

    def test_bad_formatting_is_found(self):
        self.put("store/local/ugly.cc", "int  ugly;\n")
        self.finds("formatting", "store/local/ugly.cc:1")

    def test_an_unguarded_header_is_found(self):
        self.put("store/local/twice.h", "int once();\n")
        self.finds("pragma_once", "store/local/twice.h")

    def test_a_header_that_leans_on_others_is_found(self):
        self.put("store/local/leaning.h", "#pragma once\nstd::string name();\n")
        self.finds("headers_compile_alone", "store/local/leaning.h")

    def test_a_source_that_leans_on_others_is_found(self):
        self.put("store/local/leaning.cc", "std::string name() { return {}; }\n")
        unit = self.build / "unity_local_cxx.cxx"
        unit.write_text(f'#include <string>\n#include "{self.root}/store/local/leaning.cc"\n')
        self.compile("codec/json/json.cc", unit)
        self.finds("sources_compile_alone", "store/local/leaning.cc")

    def test_what_clang_tidy_finds_is_found(self):
        self.assertEqual(self.findings("tidy"), [])
        self.put("store/object/moved.cc", "#include <string>\nvoid Take(std::string);\n"
                 "int Use(std::string a) {\n  Take(std::move(a));\n  return a.size() > 1;\n}\n")
        self.compile("codec/json/json.cc", "store/object/moved.cc")
        self.finds("tidy", "bugprone-use-after-move")

    def test_what_has_passed_is_checked_again_once_it_has_changed(self):
        cache = unittest.mock.patch.dict("os.environ", {"UNSHARD_CACHE": str(self.folder / "cache")})
        cache.start()
        self.addCleanup(cache.stop)

        def checked():
            tree = lint.Tree(self.root, self.build)
            findings = lint.RULES["headers_compile_alone"](tree)
            return int(re.search(r": (\d+) of", tree.report[-1])[1]), findings

        headers = sum(name.endswith(".h") for name in CLEAN)
        self.assertEqual(checked(), (headers, []))
        self.assertEqual(checked(), (0, []))
        self.put("codec/core/bytes.h", "#pragma once\n#include <cstddef>\nusing Size = std::ptrdiff_t;\n")
        self.assertEqual(checked(), (2, []), "page.h includes it")
        self.put("store/object/log.h", "#pragma once\nstd::string Leaning();\n")
        for _ in range(2):
            count, findings = checked()
            self.assertEqual((count, len(findings)), (1, 1), "what fails is not kept")

    def test_sources_of_the_latest_commits_come_first(self):
        git = ["git", "-C", str(self.root), "-c", "user.name=a", "-c", "user.email=a@b"]
        for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "all"]):
            subprocess.run([*git, *command], check=True)
        self.put("fs/cli/main.cc", '#include "store/object/page.h"\n')
        subprocess.run([*git, "commit", "-qam", "one"], check=True)
        self.put("store/object/new.cc", "")
        self.assertEqual(lint.Tree(self.root, self.build).latest()[:2], ["store/object/new.cc", "fs/cli/main.cc"])

    def test_words_of_unfinished_work_are_found(self):
        self.put("README.md", "first\n" + "TO" + "DO: the rest\n")
        self.finds("words", "README.md:2: unfinished")

    def test_a_word_of_no_field_is_found(self):
        for text in ("// Nobody reads it.", '"the kernel is told of it"', "// It lets go of its lock."):
            with self.subTest(text):
                self.put("store/object/log.h", f"#pragma once\n{text}\n")
                self.finds("words_of_the_field", "store/object/log.h:2")
        self.put("store/object/log.h", "#pragma once\n")
        self.put("tests/mount/test_reading.py", "# nobody\n")
        self.put("README.md", "first\nIt is set aside.\n")
        self.finds("words_of_the_field", "README.md:2: set aside: quarantined")

    def test_a_riddle_is_found_also_where_a_line_ends_within_it(self):
        self.put("README.md", "A shard of\nwhose chunks none is stored.\n")
        self.finds("plain_english", "README.md:1: of whose: say who does what, and to what")
        self.put("README.md", "A shard without chunks.\n")
        self.put("store/object/log.h", "#pragma once\n// All shards but\n// for these.\n")
        self.finds("plain_english", "store/object/log.h:2: but for: say who does what, and to what")

    def test_a_page_that_is_long_or_hard_to_read_is_found(self):
        self.put("fs/docs/writing.md", "# Writing\n\n" + "Short words are read. " * 700 + "\n```sh\n" + "word " * 190 + "\n```\n")
        self.assertEqual(self.findings("readability"), [])
        self.put("fs/docs/writing.md", "word. " * 3001)
        self.finds("readability", "fs/docs/writing.md: 3001 words")
        hard = "Administrators unconditionally guarantee availability of interoperable infrastructure.\n"
        self.put("fs/docs/writing.md", f"| a |\n| --- |\n| {hard.strip()} |\n\n`{hard}`\n\n# {hard}\n```\n{hard}```\n")
        self.assertEqual(self.findings("readability"), [])
        self.put("fs/docs/writing.md", hard)
        self.finds("readability", "fs/docs/writing.md: grade")
        (self.root / "fs/docs/writing.md").unlink()
        self.put("README.md", "word.\n" * 91)
        self.finds("readability", "README.md: 91 lines")

    def test_a_section_that_the_top_of_its_page_does_not_list_is_found(self):
        self.put("fs/docs/writing.md", "# Writing\n\n- [Names](#names)\n\n## Names\n\nA name.\n")
        self.assertEqual(self.findings("readability"), [])
        self.put("fs/docs/writing.md", "# Writing\n\n- [Names](#names)\n\n## Names\n\n## Times\n")
        self.finds("readability", "fs/docs/writing.md: the list at its top")

    def test_a_path_of_one_machine_is_found(self):
        self.put("README.md", "cd /" + "work/main\n")
        self.finds("words", "README.md:1: of one machine")

    def test_files_that_git_ignores_are_not_looked_at(self):
        subprocess.run(["git", "init", "-q", str(self.root)], check=True)
        self.put(".gitignore", "/ignored/\n")
        self.put("ignored/twice.h", "int once();\n")
        self.assertEqual(self.findings("pragma_once"), [])


if __name__ == "__main__":
    unittest.main()
