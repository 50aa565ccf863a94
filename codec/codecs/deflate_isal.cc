// isa-l inflates faster than zlib and libdeflate, and in steps. What it deflates depends on the
// processor, and is not used.
#include "codec/codecs/deflate.h"

#ifdef UNSHARD_ISAL
#include <isa-l.h>
#endif

#include <algorithm>

namespace unshard {
namespace {

#ifdef UNSHARD_ISAL

class IsalInflate final : public InflateStream {
 public:
  explicit IsalInflate(DeflateContainer container)
      : container_flag_(container == DeflateContainer::kGzip ? ISAL_GZIP : ISAL_ZLIB),
        state_(std::make_unique_for_overwrite<inflate_state>()) {
    IsalInflate::Reset();
  }

  void Reset() override {
    isal_inflate_init(state_.get());
    state_->crc_flag = container_flag_;
  }

  Step Inflate(StreamInput& input, std::span<std::uint8_t> room) override {
    int code = ISAL_DECOMP_OK;
    const std::size_t written = input.Feed(*state_, room.data(), room.size(),
                                           [&](bool) { code = isal_inflate(state_.get()); });
    if (code < 0 || code == ISAL_NEED_DICT) return {written, FailureOf(code)};
    if (state_->block_state != ISAL_BLOCK_FINISH) return {written, State::kMore};
    // The library's bit buffer has taken bytes that do not belong to this stream.
    input.GiveBack(static_cast<std::size_t>(std::max(state_->read_in_length, 0)) / 8);
    return {written, State::kEnd};
  }

 private:
  static State FailureOf(int code) {
    switch (code) {
      case ISAL_INVALID_WRAPPER:
      case ISAL_UNSUPPORTED_METHOD:
      case ISAL_NEED_DICT:
        return State::kBadHeader;
      case ISAL_INCORRECT_CHECKSUM:
        return State::kBadChecksum;
      default:
        return State::kBadData;
    }
  }

  const std::uint32_t container_flag_;
  const std::unique_ptr<inflate_state> state_;
};

std::unique_ptr<InflateStream> MakeIsalInflate(DeflateContainer container) {
  return std::make_unique<IsalInflate>(container);
}

// Of the headers: the library does not say its own.
std::string IsalVersion() {
  return std::to_string(ISAL_MAJOR_VERSION) + "." + std::to_string(ISAL_MINOR_VERSION) + "." +
         std::to_string(ISAL_PATCH_VERSION);
}

constexpr Library kIsal = {"", "isa-l", IsalVersion};
constexpr DeflateFunctions kIsalFunctions = {&kIsal, MakeIsalInflate};

#else
constexpr Library kIsal = {"", "isa-l"};
constexpr DeflateFunctions kIsalFunctions = {&kIsal};
#endif

}  // namespace

const Library& Isal() { return kIsal; }

const DeflateFunctions& IsalDeflate() { return kIsalFunctions; }

}  // namespace unshard
