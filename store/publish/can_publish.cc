#include "store/publish/can_publish.h"

#include <algorithm>
#include <string>

namespace unshard {
namespace {

// Every page of a base is walked to. Zarr shards with so many nested ones are walked for minutes.
constexpr std::uint64_t kMaxPages = std::uint64_t{1} << 22;

}  // namespace

Status CanPublishFormat(const ShardFormat& format, const PublishCaps& caps) {
  UNSHARD_RETURN_IF_ERROR(format.CanWrite());
  const std::uint64_t pages = format.page_count();
  if (pages == 0 || pages > kMaxPages) {
    return Fail(ErrorCode::kNotSupported, "a shard of more than ", kMaxPages,
                " minishards or nested shards cannot be rewritten");
  }
  const std::uint64_t index = format.fixed_index_bytes();
  // Several pages are read one by one, unless the whole shard has to be in memory.
  std::uint64_t cap = pages == 1 ? caps.index_bytes : index;
  if (format.has_outer_codecs()) cap = std::min(cap, caps.whole_shard_bytes);
  if (index <= cap) return {};
  return Fail(ErrorCode::kNotSupported, "the index of a shard takes at least ", index,
              " bytes, which is above the cap of ", cap,
              ": mount with a larger memory= to write it");
}

}  // namespace unshard
