"""What the text of C++ sources says of classes: enough for counting, no parser of C++."""

import re

COMMENT_OR_LITERAL = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-zA-Z_])\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
CLASS = re.compile(r"\b(?:class|struct)\s+(\w+)\s*(?:final\s*)?(?::(?!:)[^;{}]*)?\{")
NO_METHOD = re.compile(r"(using|typedef|friend|enum|struct|class|template|static_assert|explicit operator)\b")
DEFINITION = re.compile(r"^(?!\s)(?:[\w:<>,&*\s]*?[\s&*])?(\w+)::~?\w+\s*\(", re.MULTILINE)


def bare(text):
    """Without comments and the insides of literals."""
    return COMMENT_OR_LITERAL.sub(lambda m: "" if m[0].startswith("/") else '""', text)


def end_of_block(text, opening):
    depth = 0
    for at in range(opening, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return at
    return len(text)


def without_template_arguments(text):
    before = None
    while before != text:
        before, text = text, re.sub(r"<[^<>;{}]*>", "", text)
    return text


def members(body):
    """The declarations directly in a class, each without its block."""
    found, start, at = [], 0, 0
    while at < len(body):
        if body[at] == "{":
            found.append(body[start:at])
            at = start = end_of_block(body, at) + 1
            continue
        if body[at] == ";":
            found.append(body[start:at])
            start = at + 1
        at += 1
    return [re.sub(r"\b(public|protected|private)\s*:", "", each).strip() for each in found]


def is_method(declaration):
    text = without_template_arguments(declaration)
    text = re.sub(r"\[\[\w+\]\]", "", text).strip()
    if NO_METHOD.match(text) or re.search(r"=\s*(delete|default)$", text):
        return False
    name = re.match(r"[^=(]*?~?(\w+)\s*\(", text)
    return name is not None and name[1] not in ("decltype", "alignas")


def method_counts(text):
    """[(class, number of its methods)] of all classes that a file defines."""
    text = bare(text)
    return [(m[1], sum(map(is_method, members(text[m.end():end_of_block(text, m.end() - 1)]))))
            for m in CLASS.finditer(text)]


def classes_with_methods(text):
    """The classes of whose methods a source file has definitions."""
    return set(DEFINITION.findall(bare(text)))
