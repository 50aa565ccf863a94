"""How hard a page is to read: words, and the Flesch-Kincaid grade of its prose.

The grade is 0.39 × words a sentence + 11.8 × syllables a word − 15.59: the years of school that a reader needs.
Code, tables, headings and what stands in backticks are no prose. A paragraph, or an item of a list, ends its
sentence, whatever stands there.
"""

import re

BLOCK = re.compile(r"\n[ \t]*\n|\n(?=[ \t]*(?:[-*]|\d+\.)[ \t])")
SENTENCE = re.compile(r"(?<=[.!?])[\")*]*\s+")
WORD = re.compile(r"[A-Za-z][A-Za-z'’-]*|\d+")


def prose(text):
    """The paragraphs and items of a page."""
    text = re.sub(r"(?ms)^```.*?^```[ \t]*$|<!--.*?-->", "\n", text)
    for block in BLOCK.split(text):
        lines = [line for line in block.splitlines() if not line.lstrip().startswith(("|", "#", "!["))]
        words = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(lines))
        words = re.sub(r"`[^`]*`", "", words)
        if WORD.search(words):
            yield re.sub(r"^\s*(?:[-*]|\d+\.)\s", "", words)


def syllables(word):
    """By its vowels: close enough for an average."""
    word = re.sub(r"[^a-z]", "", word.lower())
    count = len(re.findall(r"[aeiouy]+", word))
    silent = re.search(r"[^aeiouyl]e$|[^aeiouytd]ed$|[^aeiouysxzcg]es$", word) and not re.search(r"[sc]hes$", word)
    return max(count - bool(silent), 1)


def grade(text):
    """0 for a page without prose."""
    sentences = [words for block in prose(text) for sentence in SENTENCE.split(block)
                 if (words := WORD.findall(sentence))]
    words = [word for sentence in sentences for word in sentence]
    if not words:
        return 0.0
    return 0.39 * len(words) / len(sentences) + 11.8 * sum(map(syllables, words)) / len(words) - 15.59
