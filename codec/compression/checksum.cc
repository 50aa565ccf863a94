// Checksums of 32 bits beside the bytes that they protect: crc32c, and the forms that numcodecs has
// of crc32c, crc32 and adler32.
#include <zlib.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "codec/compression/codecs.h"
#include "codec/core/crc32c.h"

namespace unshard {
namespace {

constexpr std::uint64_t kChecksumSize = 4;

// A checksum of 32 bits that can be continued.
struct ChecksumFunction {
  std::uint32_t initial;  // of no bytes
  std::uint32_t (*extend)(std::uint32_t checksum, ByteSpan bytes);
};

class ChecksumDigest final : public BytesDigest {
 public:
  explicit ChecksumDigest(const ChecksumFunction& function)
      : function_(function), value_(function.initial) {}
  void Update(ByteSpan bytes) override { value_ = function_.extend(value_, bytes); }
  [[nodiscard]] ByteVector Finish() const override {
    ByteVector stored;
    AppendU32Le(stored, value_);
    return stored;
  }

 private:
  const ChecksumFunction function_;
  std::uint32_t value_;
};

// A checksum, little-endian, before or after the bytes that it protects.
class Checksum final : public BytesCodec {
 public:
  Checksum(std::string name, const ChecksumFunction& function, bool at_start)
      : name_(std::move(name)), function_(function), at_start_(at_start) {}

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] std::optional<std::uint64_t> fixed_overhead() const override {
    return kChecksumSize;
  }
  [[nodiscard]] std::uint64_t leading_overhead() const override {
    return at_start_ ? kChecksumSize : 0;
  }
  [[nodiscard]] Result<ByteVector> Decode(ByteSpan stored, std::uint64_t max_bytes) const override {
    if (stored.size() < kChecksumSize) {
      return Fail(ErrorCode::kDataLoss, name_ + ": expected a checksum of 4 bytes, found " +
                                            std::to_string(stored.size()) + " bytes in all");
    }
    const std::size_t plain_size = stored.size() - kChecksumSize;
    if (plain_size > max_bytes) {
      return Fail(ErrorCode::kResourceExhausted,
                  name_ + ": holds more than " + std::to_string(max_bytes) + " bytes");
    }
    const ByteSpan plain = stored.subspan(at_start_ ? kChecksumSize : 0, plain_size);
    const std::uint32_t expected = LoadU32Le(stored.data() + (at_start_ ? 0 : plain_size));
    if (function_.extend(function_.initial, plain) != expected) {
      return Fail(ErrorCode::kDataLoss, name_ + ": the checksum does not match");
    }
    return ByteVector(plain.begin(), plain.end());
  }
  [[nodiscard]] Status CanEncode() const override { return {}; }
  [[nodiscard]] Result<ByteVector> Encode(ByteSpan plain) const override {
    ByteVector stored(plain.size() + kChecksumSize);
    std::copy(plain.begin(), plain.end(), stored.data() + (at_start_ ? kChecksumSize : 0));
    StoreU32Le(stored.data() + (at_start_ ? 0 : plain.size()),
               function_.extend(function_.initial, plain));
    return stored;
  }
  [[nodiscard]] std::unique_ptr<BytesDigest> MakeDigest() const override {
    return std::make_unique<ChecksumDigest>(function_);
  }

 private:
  const std::string name_;
  const ChecksumFunction function_;
  const bool at_start_;
};

// zlib takes a null pointer, which no bytes may have, for a request of the initial value.
std::uint32_t ExtendCrc32(std::uint32_t checksum, ByteSpan bytes) {
  if (bytes.empty()) return checksum;
  return static_cast<std::uint32_t>(crc32_z(checksum, bytes.data(), bytes.size()));
}

std::uint32_t ExtendAdler32(std::uint32_t checksum, ByteSpan bytes) {
  if (bytes.empty()) return checksum;
  return static_cast<std::uint32_t>(adler32_z(checksum, bytes.data(), bytes.size()));
}

constexpr ChecksumFunction kCrc32c{0, Crc32cExtend};
constexpr ChecksumFunction kCrc32{0, ExtendCrc32};
constexpr ChecksumFunction kAdler32{1, ExtendAdler32};

struct ChecksumName {
  std::string_view name;
  ChecksumFunction function;
  bool at_start;      // unless the configuration says otherwise
  bool has_location;  // whether the configuration may say so
};
constexpr std::array<ChecksumName, 4> kChecksums = {{{"crc32c", kCrc32c, false, false},
                                                     {"numcodecs.crc32c", kCrc32c, false, true},
                                                     {"numcodecs.crc32", kCrc32, true, true},
                                                     {"numcodecs.adler32", kAdler32, true, true}}};

Result<bool> IsAtStart(const ChecksumName& checksum, const CodecOptions& options) {
  if (!checksum.has_location) return checksum.at_start;
  UNSHARD_ASSIGN_OR_RETURN(const auto locations, options.Find("location"));
  if (locations.empty()) return checksum.at_start;
  UNSHARD_ASSIGN_OR_RETURN(const std::string location, locations.front().String());
  if (location != "start" && location != "end") {
    return locations.front().Expected("\"start\" or \"end\"");
  }
  return location == "start";
}

}  // namespace

Result<std::shared_ptr<const BytesCodec>> MakeChecksum(const std::string& name,
                                                       const CodecOptions& options) {
  for (const ChecksumName& checksum : kChecksums) {
    if (checksum.name != name) continue;
    UNSHARD_ASSIGN_OR_RETURN(const bool at_start, IsAtStart(checksum, options));
    return std::make_shared<Checksum>(name, checksum.function, at_start);
  }
  return nullptr;
}

}  // namespace unshard
