#include "codec/voxel/numpy_type.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "codec/core/text.h"

namespace unshard {
namespace {

using Kind = DataType::Kind;

struct Letter {
  char letter;
  Kind kind;
  std::array<std::uint32_t, 4> sizes;  // 0: none
};
constexpr std::array<Letter, 5> kLetters = {{{'b', Kind::kBool, {1}},
                                             {'i', Kind::kSigned, {1, 2, 4, 8}},
                                             {'u', Kind::kUnsigned, {1, 2, 4, 8}},
                                             {'f', Kind::kFloat, {2, 4, 8}},
                                             {'c', Kind::kComplex, {8, 16}}}};

}  // namespace

std::optional<NumpyType> ParseNumpyType(std::string_view name) {
  if (name == "bfloat16") return NumpyType{{Kind::kBrainFloat, 2}, false};
  if (name.empty()) return std::nullopt;
  const char mark = name.front();
  const bool has_mark = mark == '<' || mark == '>' || mark == '|' || mark == '=';
  if (has_mark) name.remove_prefix(1);
  if (name.size() < 2 || name[1] == '0') return std::nullopt;
  const std::uint32_t size = ParseNumber<std::uint32_t>(name.substr(1)).value_or(0);
  constexpr std::uint32_t kLargest = 1u << 20;
  if (size == 0 || size > kLargest) return std::nullopt;
  if (name[0] == 'V') return NumpyType{{Kind::kRaw, size}, false};
  for (const Letter& known : kLetters) {
    const auto& sizes = known.sizes;
    if (known.letter != name[0]) continue;
    if (std::find(sizes.begin(), sizes.end(), size) == sizes.end()) return std::nullopt;
    if (size > 1 && mark == '|') return std::nullopt;
    return NumpyType{{known.kind, size}, mark == '>' && size > 1};
  }
  return std::nullopt;
}

std::string NumpyTypeName(const NumpyType& type) {
  if (type.type.kind == Kind::kBrainFloat) return "bfloat16";
  const std::string size = std::to_string(type.type.size);
  if (type.type.kind == Kind::kRaw) return "|V" + size;
  const auto known = std::find_if(kLetters.begin(), kLetters.end(), [&](const Letter& letter) {
    return letter.kind == type.type.kind;
  });
  const char mark = type.type.size == 1 ? '|' : type.big_endian ? '>' : '<';
  return std::string(1, mark) + known->letter + size;
}

}  // namespace unshard
