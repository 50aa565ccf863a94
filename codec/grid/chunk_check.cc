#include "codec/grid/chunk_check.h"

namespace unshard {
namespace {

class NotEmptyCheck final : public ChunkCheck {
 public:
  [[nodiscard]] Status Check(std::span<const std::uint64_t> /*cell*/, std::uint64_t size,
                             ByteSpan /*start*/) const override {
    if (size == 0) return RefuseEmptyChunk();
    return {};
  }
};

}  // namespace

std::shared_ptr<const ChunkCheck> MakeNotEmptyCheck() { return std::make_shared<NotEmptyCheck>(); }

tl::unexpected<Error> RefuseChunkSize(std::string_view what, std::uint64_t expected,
                                      std::uint64_t found) {
  return RefuseChunk(what, "expected exactly ", expected, " bytes, found ", found);
}

tl::unexpected<Error> RefuseEmptyChunk() {
  return Fail(ErrorCode::kInvalidArgument, "expected a chunk with content, found an empty one");
}

}  // namespace unshard
