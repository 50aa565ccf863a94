// Texts for people. Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace unshard {

// "0 bytes", "999 bytes", "1.5 kB", "12 MB", "3.4 GB": powers of ten, as disks are sold.
std::string ReadableBytes(std::uint64_t bytes);
// "0.4 s", "12 s", "3 min", "2 h".
std::string ReadableAge(std::uint64_t milliseconds);
// `text` with every `word` replaced by `by`.
std::string Replaced(std::string text, std::string_view word, const std::string& by);
// "1 chunk", "2 chunks".
std::string Counted(std::uint64_t count, const std::string& noun);
// "a, b and so on": the words with `between` between them. Words: a range of texts.
template <class Words>
std::string Joined(const Words& words, std::string_view between) {
  std::string text;
  for (const auto& word : words) {
    if (!text.empty()) text += between;
    text += word;
  }
  return text;
}
// "; did you mean NAME?" where one of `names` is a likely misspelling of `word`; else "".
std::string DidYouMean(std::string_view word, std::span<const std::string_view> names);

}  // namespace unshard
