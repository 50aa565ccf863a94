// The configuration of one bytes-to-bytes codec, read by the sources of the codecs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codec/compression/bytes_codec.h"
#include "codec/core/error.h"
#include "codec/json/cursor.h"

namespace unshard {

// Every member may be absent. Failures are kDataLoss and name the member. Thread-safe.
class CodecOptions {
 public:
  // Refers to `configuration`, which may be null. `path`: its JSON path in the document, for
  // messages: "codecs[1].configuration" in Zarr v3, "compressor" in Zarr v2.
  CodecOptions(const JsonValue* configuration, std::string path)
      : configuration_(configuration), path_(std::move(path)) {}
  // The same, where the document has another name for the option `key`: `member`.
  CodecOptions(const JsonValue* configuration, std::string path, std::string_view key,
               std::string_view member)
      : configuration_(configuration), path_(std::move(path)), key_(key), member_(member) {}

  // The path of the codec, for messages: "codecs[1]", "compressor"; "" where it has none.
  [[nodiscard]] std::string codec_path() const {
    constexpr std::string_view kMember = ".configuration";
    return path_.ends_with(kMember) ? path_.substr(0, path_.size() - kMember.size()) : path_;
  }
  [[nodiscard]] Result<int> Integer(std::string_view key, int absent, int min, int max) const {
    UNSHARD_ASSIGN_OR_RETURN(const auto members, Find(key));
    if (members.empty()) return absent;
    UNSHARD_ASSIGN_OR_RETURN(const std::int64_t value, members.front().Integer(min, max));
    return static_cast<int>(value);
  }
  // False where it is absent.
  [[nodiscard]] Result<bool> Boolean(std::string_view key) const {
    UNSHARD_ASSIGN_OR_RETURN(const auto members, Find(key));
    return members.empty() ? Result<bool>(false) : members.front().Boolean();
  }
  // A list of the member alone, or of nothing where it is absent or null.
  [[nodiscard]] Result<std::vector<JsonCursor>> Find(std::string_view key) const {
    if (configuration_ == nullptr) return std::vector<JsonCursor>();
    return JsonCursor(*configuration_, path_).OptionalMember(key == key_ ? member_ : key);
  }

 private:
  const JsonValue* const configuration_;
  const std::string path_;
  const std::string_view key_, member_;
};

// Makes the codec `name`, one of the names for which the registry in bytes_codec.cc lists this
// function. Fails only where the configuration makes decoding impossible.
using MakeCodec = Result<BytesCodecPtr>(const std::string& name, const CodecOptions& options);

}  // namespace unshard
