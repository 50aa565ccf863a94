#include "codec/types/npy_header.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

namespace unshard {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
// The items begin at a multiple of it, for readers that map the file into memory.
constexpr std::size_t kAlignment = 64;
constexpr std::size_t kMaxVersion1 = 65535;

// "(3, 4)", and "(3,)" for one axis.
std::string TupleText(const std::vector<std::uint64_t>& shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  }
  return text + (shape.size() == 1 ? ",)" : ")");
}

// The literals of Python that a header consists of. False and nothing: `rest` begins with another.
struct PythonText {
  std::string_view rest;

  bool Take(std::string_view token) {
    rest.remove_prefix(std::min(rest.find_first_not_of(" \n\t"), rest.size()));
    if (!rest.starts_with(token)) return false;
    rest.remove_prefix(token.size());
    return true;
  }
  std::optional<std::string_view> String() {
    const std::string_view quote = Take("'") ? "'" : Take("\"") ? "\"" : "";
    const std::size_t end = quote.empty() ? rest.npos : rest.find(quote);
    if (end == rest.npos) return std::nullopt;
    const std::string_view text = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    return text;
  }
  std::optional<std::uint64_t> Number() {
    Take("");
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (error != std::errc()) return std::nullopt;
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    Take("L");  // of Python 2
    return number;
  }
};

bool ParseNpyMember(std::string_view key, PythonText& text, NpyHeader& header) {
  if (key == "descr") {
    const auto name = text.String();
    const auto type = name ? ParseNumpyType(*name) : std::nullopt;
    if (type) header.type = *type;
    return type.has_value();
  }
  if (key == "fortran_order") {
    header.first_is_fastest = text.Take("True");
    return header.first_is_fastest || text.Take("False");
  }
  if (key != "shape" || !text.Take("(")) return false;
  while (!text.Take(")")) {
    const auto extent = text.Number();
    if (!extent) return false;
    header.shape.push_back(*extent);
    if (text.Take(",")) continue;
    return text.Take(")");
  }
  return true;
}

std::optional<NpyHeader> ParseNpyText(std::string_view header_text) {
  PythonText text{header_text};
  NpyHeader header;
  if (!text.Take("{")) return std::nullopt;
  for (int members = 0; members < 3; ++members) {
    const auto key = text.String();
    if (!key || !text.Take(":") || !ParseNpyMember(*key, text, header)) return std::nullopt;
    text.Take(",");
  }
  if (!text.Take("}")) return std::nullopt;
  return header;
}

}  // namespace

ByteVector MakeNpyHeader(const NpyHeader& header) {
  std::string text = "{'descr': '" + NumpyTypeName(header.type) +
                     "', 'fortran_order': " + (header.first_is_fastest ? "True" : "False") +
                     ", 'shape': " + TupleText(header.shape) + ", }";
  const auto padded = [&](std::size_t before) {
    const std::size_t end = before + text.size() + 1;
    return (end + kAlignment - 1) / kAlignment * kAlignment - before;
  };
  const bool is_version1 = padded(kMagic.size() + 4) <= kMaxVersion1;
  const std::size_t length = padded(kMagic.size() + (is_version1 ? 4 : 6));
  text.resize(length - 1, ' ');
  text += '\n';
  ByteVector bytes(kMagic.begin(), kMagic.end());
  bytes.push_back(is_version1 ? 1 : 2);
  bytes.push_back(0);
  AppendLe(bytes, length, is_version1 ? 2 : 4);
  bytes.insert(bytes.end(), text.begin(), text.end());
  return bytes;
}

Result<ParsedNpyHeader> ParseNpyHeader(ByteSpan file) {
  const std::string_view text = AsText(file);
  const std::uint64_t version = text.starts_with(kMagic) && text.size() > 12 ? file[6] : 0;
  if (version < 1 || version > 3) {
    return Fail(ErrorCode::kDataLoss, "npy: expected a header of version 1, 2 or 3");
  }
  const std::uint64_t begin = version == 1 ? 10 : 12;
  const std::uint64_t length = LoadLe(file.data() + 8, begin - 8);
  if (length > std::min(kMaxNpyHeader, text.size()) - begin) {
    return Fail(ErrorCode::kDataLoss, "npy: its header is cut short, or too long");
  }
  auto header = ParseNpyText(text.substr(begin, length));
  if (header) return ParsedNpyHeader{*std::move(header), begin + length};
  return Fail(
      ErrorCode::kDataLoss,
      "npy: expected 'descr' of a type of voxels, 'fortran_order' and 'shape' in its header");
}

}  // namespace unshard
