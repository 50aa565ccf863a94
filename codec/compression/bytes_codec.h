// The bytes-to-bytes codecs of Zarr v3, by name: compressors and checksums of chunks, of shards and
// of their indexes. numcodecs' compressors in Zarr v2 are the same ones.
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
  // Whether Decode is supported: else kNotSupported, naming the codec by its path in the document,
  // and the library that this build lacks.
  [[nodiscard]] virtual Status CanDecode() const { return {}; }
  // Undoes the codec. Fails as CanDecode does; kDataLoss on damage; kResourceExhausted beyond
  // `max_bytes`.
  [[nodiscard]] virtual Result<ByteVector> Decode(ByteSpan stored,
                                                  std::uint64_t max_bytes) const = 0;
  // Whether Encode supports the configuration: else kNotSupported, naming the codec. Fails as
  // CanDecode does.
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
// crc32, adler32, fletcher32. A null pointer for any other name. Pure function; thread-safe.
//
// Fails where the configuration makes decoding impossible: with kDataLoss, naming the member below
// `configuration_path`, where a member is wrong, and with kNotSupported for raw LZMA.
Result<BytesCodecPtr> MakeBytesCodec(const std::string& name, const JsonValue* configuration,
                                     const std::string& configuration_path);

}  // namespace unshard
