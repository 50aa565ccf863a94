// Zarr v3 bytes-to-bytes codecs, as far as they stand around a shard or around its index.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codec/core/bytes.h"
#include "codec/core/bytes_digest.h"
#include "codec/json/json.h"

namespace unshard {

// One bytes-to-bytes codec with its configuration. Immutable; thread-safe.
class BytesCodec {
 public:
  virtual ~BytesCodec() = default;
  [[nodiscard]] virtual const std::string& name() const = 0;
  // The bytes that encoding adds, where that does not depend on the data; nothing otherwise.
  [[nodiscard]] virtual std::optional<std::uint64_t> fixed_overhead() const = 0;
  // How many of those bytes stand before the data; the others stand after it.
  [[nodiscard]] virtual std::uint64_t leading_overhead() const = 0;
  // Undoes the codec. kDataLoss on damage; kResourceExhausted beyond `max_bytes`.
  [[nodiscard]] virtual Result<ByteVector> Decode(ByteSpan stored,
                                                  std::uint64_t max_bytes) const = 0;
  // Whether Encode can follow the configuration: kNotSupported, naming the codec, where it cannot.
  // Decode does not care.
  [[nodiscard]] virtual Status CanEncode() const = 0;
  // The same bytes for the same input, as long as the library is the same. Fails as CanEncode does,
  // and with kResourceExhausted where the codec cannot take so many bytes.
  [[nodiscard]] virtual Result<ByteVector> Encode(ByteSpan plain) const = 0;
  // For a codec with fixed overhead: what makes the bytes that it adds. A null pointer for others.
  [[nodiscard]] virtual std::unique_ptr<BytesDigest> MakeDigest() const = 0;
};

// The codec that `name` with `configuration` (may be null) stands for: gzip, zstd, blosc, crc32c
// and the numcodecs.* forms of gzip, zlib, zstd, blosc, bz2, lz4, crc32c, crc32, adler32. A null
// pointer for any other name.
Result<std::shared_ptr<const BytesCodec>> MakeBytesCodec(const std::string& name,
                                                         const JsonValue* configuration,
                                                         const std::string& json_path);

}  // namespace unshard
