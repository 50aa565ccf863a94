#include "codec/codecs/deflate.h"

#include <algorithm>
#include <string>

namespace unshard {
namespace {

const char* NameOf(DeflateContainer container) {
  return container == DeflateContainer::kGzip ? "gzip" : "zlib";
}

// Decodes the members of one buffer, one after another, into one output.
class Inflater {
 public:
  Inflater(const DeflateFunctions& functions, DeflateContainer container, ByteSpan stored)
      : container_(container), input_(stored), stream_(functions.inflate(container)) {}

  // Writes at most `room` bytes at `at`.
  Result<StreamProgress> Step(std::uint8_t* at, std::size_t room) {
    const auto [written, state] = stream_->Inflate(input_, {at, room});
    switch (state) {
      case InflateStream::State::kMore:
        if (input_.rest().empty() && written < StreamInput::Most(room)) {
          return DamagedStream("the stream is cut short");
        }
        return StreamProgress{written, false};
      case InflateStream::State::kEnd: {
        UNSHARD_ASSIGN_OR_RETURN(const bool done, EndMember());
        return StreamProgress{written, done};
      }
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
    const ByteSpan rest = input_.rest();
    if (container_ == DeflateContainer::kZlib && !rest.empty()) {
      return DamagedStream("bytes follow the stream");
    }
    if (!rest.empty() && rest.front() != 0) {
      stream_->Reset();
      return false;
    }
    if (std::any_of(rest.begin(), rest.end(), [](std::uint8_t byte) { return byte != 0; })) {
      return DamagedStream("expected only zeros after the last member");
    }
    return true;
  }

  const DeflateContainer container_;
  StreamInput input_;
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
  if (stored.empty()) return Damaged(NameOf(container), "expected a stream, found no data");
  Inflater inflater(functions, container, stored);
  return DecodeInSteps(
      NameOf(container), stored.size(), max_bytes,
      [&](std::uint8_t* at, std::size_t room) { return inflater.Step(at, room); }, expected_bytes);
}

}  // namespace unshard
