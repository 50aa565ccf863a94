#include "store/spool/sealed_name.h"

#include <charconv>

#include "codec/core/checksum.h"
#include "codec/core/text.h"
#include "store/object/object_store.h"
#include "store/spool/spool.h"

namespace unshard {
namespace {

constexpr std::size_t kMaxDatasetName = 200;

std::string Hex(std::uint32_t value) { return HexText(value, 8); }

// Takes what is expected from the front of a name, strictly: each number in its one spelling.
class SealReader {
 public:
  explicit SealReader(std::string_view rest) : rest_(rest) {}

  [[nodiscard]] bool StartsWith(std::string_view text) const { return rest_.starts_with(text); }
  bool Take(std::string_view text) {
    if (!StartsWith(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  bool TakeNumber(std::uint64_t& number) {
    const char* const begin = rest_.data();
    const auto [end, error] = std::from_chars(begin, begin + rest_.size(), number);
    const auto length = static_cast<std::size_t>(end - begin);
    if (error != std::errc() || (length > 1 && rest_.front() == '0')) return false;
    rest_.remove_prefix(length);
    return true;
  }
  bool TakeHex(std::uint32_t& number) {
    number = ParseNumber<std::uint32_t>(rest_.substr(0, 8), 16).value_or(0);
    return Take(Hex(number));
  }
  [[nodiscard]] bool done() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

bool ReadFingerprint(SealReader& reader, ChunkFingerprint& fingerprint) {
  fingerprint.unknown = reader.Take("-u");
  fingerprint.absent = fingerprint.unknown || reader.Take("-a");
  if (fingerprint.absent) return true;
  return reader.Take("-b") && reader.TakeNumber(fingerprint.size) && reader.Take("-") &&
         reader.TakeHex(fingerprint.checksum);
}

std::string FingerprintText(const ChunkFingerprint& fingerprint) {
  if (fingerprint.unknown) return "-u";
  if (fingerprint.absent) return "-a";
  return "-b" + std::to_string(fingerprint.size) + '-' + Hex(fingerprint.checksum);
}

bool ReadSeal(std::string_view seal, SpooledChunk& chunk) {
  SealReader reader(seal);
  if (!reader.Take("s") || !reader.TakeNumber(chunk.sequence) || !reader.Take("-")) return false;
  chunk.removed = reader.Take("r");
  if (!chunk.removed) {
    if (!reader.Take("f") || !reader.TakeNumber(chunk.size) || !reader.Take("-")) return false;
    if (!reader.TakeHex(chunk.checksum)) return false;
  }
  SealTerms& terms = chunk.terms;
  if (!ReadFingerprint(reader, terms.base)) return false;
  const bool other = reader.StartsWith("-a") || reader.StartsWith("-b");
  if (other && !ReadFingerprint(reader, terms.other_base.emplace())) return false;
  if (reader.Take("-l") && !reader.TakeHex(terms.layout.emplace())) return false;
  terms.whole_file = reader.Take("-o");
  if (reader.Take("-w")) {
    if (!reader.TakeNumber(chunk.only_with) || chunk.only_with == 0) return false;
  }
  return reader.done();
}

}  // namespace

std::string EscapeName(std::string_view text) {
  if (text.find_first_of("/%") == std::string_view::npos) return std::string(text);
  std::string name;
  name.reserve(text.size());
  for (const char c : text) {
    if (c == '/') {
      name += "%2F";
    } else if (c == '%') {
      name += "%25";
    } else {
      name += c;
    }
  }
  return name;
}

std::optional<std::string> UnescapeName(std::string_view name) {
  std::string text;
  for (std::size_t at = 0; at < name.size(); ++at) {
    if (name[at] == '/') return std::nullopt;
    if (name[at] != '%') {
      text += name[at];
      continue;
    }
    const std::string_view code = name.substr(at, 3);
    if (code != "%2F" && code != "%25") return std::nullopt;
    text += code == "%2F" ? '/' : '%';
    at += 2;
  }
  return text;
}

std::string DatasetDirectory(std::string_view dataset) {
  if (dataset.empty()) return "%2E";
  std::string name = EscapeName(dataset);
  if (name.size() <= kMaxDatasetName) return name;
  return name.substr(0, kMaxDatasetName) + '%' + Hex(Checksum(AsBytes(dataset)));
}

std::string DatasetPathText(std::string_view dataset) { return std::string(dataset) + '\n'; }

std::optional<std::string> ParseDatasetPath(std::string_view text,
                                            std::string_view directory_name) {
  if (!text.ends_with('\n')) return std::nullopt;
  text.remove_suffix(1);
  if (DatasetDirectory(text) != directory_name) return std::nullopt;
  return std::string(text);
}

std::string SealedName(const SpooledChunk& chunk) {
  std::string name = EscapeName(chunk.chunk) + ",s" + std::to_string(chunk.sequence);
  name += chunk.removed ? "-r" : "-f" + std::to_string(chunk.size) + '-' + Hex(chunk.checksum);
  const SealTerms& terms = chunk.terms;
  name += FingerprintText(terms.base);
  if (terms.other_base) name += FingerprintText(*terms.other_base);
  if (terms.layout) name += "-l" + Hex(*terms.layout);
  if (terms.whole_file) name += "-o";
  if (chunk.only_with != 0) name += "-w" + std::to_string(chunk.only_with);
  return name;
}

std::optional<SpooledChunk> ParseSealedName(std::string_view name) {
  const std::size_t comma = name.rfind(',');
  if (comma == std::string_view::npos || comma == 0) return std::nullopt;
  auto path = UnescapeName(name.substr(0, comma));
  if (!path || !CheckKey(*path)) return std::nullopt;
  SpooledChunk chunk;
  chunk.chunk = *std::move(path);
  if (!ReadSeal(name.substr(comma + 1), chunk)) return std::nullopt;
  return chunk;
}

}  // namespace unshard
