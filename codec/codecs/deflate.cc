#include "codec/codecs/deflate.h"

#include <algorithm>
#include <string>

#include "codec/codecs/compressor.h"

namespace unshard {
namespace {

const char* NameOf(DeflateContainer container) {
  return container == DeflateContainer::kGzip ? "gzip" : "zlib";
}

// Decodes the members of one buffer, one after another, into one output.
class Inflater {
 public:
  Inflater(const DeflateFunctions& functions, DeflateContainer container, ByteSpan stored)
      : container_(container), rest_(stored), stream_(functions.inflate(container)) {
    stream_->Begin(rest_);
  }

  // Writes at most `room` bytes at `at`.
  Result<DecodeProgress> Step(std::uint8_t* at, std::size_t room) {
    const auto [written, state] = stream_->Inflate({at, room});
    switch (state) {
      case InflateStream::State::kMore:
        return DecodeProgress{written, false};
      case InflateStream::State::kEnd: {
        UNSHARD_ASSIGN_OR_RETURN(const bool done, EndMember());
        return DecodeProgress{written, done};
      }
      case InflateStream::State::kCutShort:
        return DamagedStream("the stream is cut short");
      case InflateStream::State::kBadHeader:
        return DamagedStream(std::string("expected a ") + NameOf(container_) + " header");
      case InflateStream::State::kBadChecksum:
        return DamagedStream("the checksum or the length does not match the data");
      case InflateStream::State::kBadData:
        break;
    }
    return DamagedStream("expected a valid deflate stream");
  }

 private:
  [[nodiscard]] tl::unexpected<Error> DamagedStream(const std::string& what) const {
    return Damaged(NameOf(container_), what);
  }

  // Begins the next member; true where there is none.
  Result<bool> EndMember() {
    rest_ = rest_.subspan(stream_->size());
    if (container_ == DeflateContainer::kZlib && !rest_.empty()) {
      return DamagedStream("bytes follow the stream");
    }
    if (!rest_.empty() && rest_.front() != 0) {
      stream_->Begin(rest_);
      return false;
    }
    if (std::any_of(rest_.begin(), rest_.end(), [](std::uint8_t byte) { return byte != 0; })) {
      return DamagedStream("expected only zeros after the last member");
    }
    return true;
  }

  const DeflateContainer container_;
  ByteSpan rest_;  // from the start of the current member
  const std::unique_ptr<InflateStream> stream_;
};

}  // namespace

std::vector<const DeflateFunctions*> DeflateTables() {
#define UNSHARD_TABLE(name) &name(),
  return {UNSHARD_EACH_DEFLATE_LIBRARY(UNSHARD_TABLE)};
#undef UNSHARD_TABLE
}

const DeflateFunctions& DeflateInUse() {
  static const DeflateFunctions in_use = [] {
    DeflateFunctions chosen = ZlibDeflate();
    for (const DeflateFunctions* each : DeflateTables()) {
      if (each->inflate != nullptr) chosen.inflate = each->inflate;
      if (each->deflate != nullptr) chosen.deflate = each->deflate;
      if (each->crc32 != nullptr) chosen.crc32 = each->crc32;
      if (each->adler32 != nullptr) chosen.adler32 = each->adler32;
    }
    return chosen;
  }();
  return in_use;
}

Result<ByteVector> Inflate(DeflateContainer container, ByteSpan stored, std::uint64_t max_bytes,
                           std::uint64_t expected_bytes, const DeflateFunctions& functions) {
  // The hint comes from the stored data, so that no more is allocated for it than usual data need.
  constexpr std::uint64_t kUsualRatio = 64;
  constexpr std::uint64_t kSmall = std::uint64_t{1} << 16;
  if (stored.empty()) return Damaged(NameOf(container), "expected a stream, found no data");
  if (expected_bytes == 0) expected_bytes = std::uint64_t{stored.size()} * 4;
  Inflater inflater(functions, container, stored);
  return DecodeInSteps(
      NameOf(container), max_bytes,
      [&](std::uint8_t* at, std::size_t room) { return inflater.Step(at, room); },
      std::min(expected_bytes, std::max(stored.size() * kUsualRatio, kSmall)));
}

}  // namespace unshard
