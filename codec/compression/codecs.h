// Every bytes-to-bytes codec, for the file that makes them. To add one: a line in the list below,
// and a file of its name that defines Make…, with both directions of the codec.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "codec/compression/bytes_codec.h"
#include "codec/core/error.h"
#include "codec/json/json.h"

// In order of name.
#define UNSHARD_BYTES_CODECS(CODEC) \
  CODEC(Blosc)                      \
  CODEC(Bzip2)                      \
  CODEC(Checksum)                   \
  CODEC(Gzip)                       \
  CODEC(Lz4)                        \
  CODEC(Zlib)                       \
  CODEC(Zstd)

namespace unshard {

// The configuration of one codec; every member may be absent. A failure names the member.
class CodecOptions {
 public:
  // Refers to `configuration`, which may be null.
  CodecOptions(const JsonValue* configuration, const std::string& json_path)
      : configuration_(configuration), path_(json_path + ".configuration") {}

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
  // Nothing, or one member.
  [[nodiscard]] Result<std::vector<JsonCursor>> Find(std::string_view key) const {
    if (configuration_ == nullptr) return std::vector<JsonCursor>();
    return JsonCursor(*configuration_, path_).OptionalMember(key);
  }

 private:
  const JsonValue* const configuration_;
  const std::string path_;
};

// The codec `name` with its configuration; a null pointer where this file does not define a codec
// of that name. Fails only where decoding cannot follow the configuration.
using MakeCodec = Result<std::shared_ptr<const BytesCodec>>(const std::string& name,
                                                            const CodecOptions& options);

#define UNSHARD_DECLARE_CODEC(codec) MakeCodec Make##codec;
UNSHARD_BYTES_CODECS(UNSHARD_DECLARE_CODEC)
#undef UNSHARD_DECLARE_CODEC

}  // namespace unshard
