// Zarr v3 bytes-to-bytes codecs that can follow `sharding_indexed` or encode a shard index.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "codec/core/bytes.h"
#include "codec/core/bytes_digest.h"
#include "codec/json/json.h"

namespace unshard {

// One bytes-to-bytes codec with its configuration. Immutable; thread-safe.
class BytesCodec {
 public:
  virtual ~BytesCodec() = default;
  [[nodiscard]] virtual const std::string& name() const = 0;
  // The number of bytes that encoding adds, where it does not depend on the data; else nothing.
  [[nodiscard]] virtual std::optional<std::uint64_t> fixed_overhead() const { return std::nullopt; }
  // How many of those bytes precede the data; the others follow it.
  [[nodiscard]] virtual std::uint64_t leading_overhead() const { return 0; }
  // Undoes the codec. kDataLoss on damage; kResourceExhausted beyond `max_bytes`.
  [[nodiscard]] virtual Result<ByteVector> Decode(ByteSpan stored,
                                                  std::uint64_t max_bytes) const = 0;
  // Whether Encode supports the configuration: else kNotSupported, naming the codec.
  [[nodiscard]] virtual Status CanEncode() const { return {}; }
  // Gives the same bytes for the same input and the same version of the library. Fails as CanEncode
  // does, and with kResourceExhausted where the codec cannot take so many bytes.
  [[nodiscard]] virtual Result<ByteVector> Encode(ByteSpan plain) const = 0;
  // For a codec with fixed overhead: computes the bytes that it adds. A null pointer for others.
  [[nodiscard]] virtual std::unique_ptr<BytesDigest> MakeDigest() const { return nullptr; }
};
using BytesCodecPtr = std::shared_ptr<const BytesCodec>;

// The codec that metadata call `name`, with its `configuration` (may be null): gzip, zstd, blosc,
// crc32c, and the numcodecs.* forms of gzip, zlib, zstd, blosc, bz2, lz4, lzma, shuffle, crc32c,
// crc32, adler32, fletcher32. A null pointer for any other name.
// Fails with kDataLoss, naming the member below `json_path`, where the configuration makes decoding
// impossible.
Result<BytesCodecPtr> MakeBytesCodec(const std::string& name, const JsonValue* configuration,
                                     const std::string& json_path);

}  // namespace unshard
