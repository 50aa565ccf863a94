#include "store/object/suffix_store.h"

#include <algorithm>
#include <array>
#include <utility>

#include "codec/codecs/file_suffixes.h"
#include "codec/grid/chunk_key.h"
#include "store/object/read_through.h"

namespace unshard {
namespace {

std::string WithSuffix(std::string_view key, std::size_t suffix) {
  return std::string(key).append(kCompressionSuffixes.at(suffix));
}

// The positions in kCompressionSuffixes, beginning with `first`.
auto PositionsFrom(std::size_t first) {
  std::array<std::size_t, kCompressionSuffixes.size()> order{};
  for (std::size_t i = 0; i < order.size(); ++i) order.at(i) = i;
  std::rotate(order.begin(), order.begin() + first, order.begin() + first + 1);
  return order;
}

ListEntry WithoutSuffix(ListEntry entry) {
  if (entry.kind == ObjectInfo::Kind::kFile) {
    entry.name = WithoutCompressionSuffix(entry.name).value_or(entry.name);
  }
  return entry;
}

}  // namespace

Result<std::string_view> SuffixStore::SuffixOf(std::string_view key, const Deadline& deadline) {
  const RangeRequest nothing = RangeRequest::At(0, 0);
  UNSHARD_ASSIGN_OR_RETURN(const Opened plain, below_->Open(key, nothing, deadline));
  if (plain.version) return std::string_view();
  for (const std::size_t suffix : PositionsFrom(latest_)) {
    UNSHARD_ASSIGN_OR_RETURN(const Opened opened,
                             below_->Open(WithSuffix(key, suffix), nothing, deadline));
    if (!opened.version) continue;
    latest_ = suffix;
    return kCompressionSuffixes.at(suffix);
  }
  return std::string_view();
}

Result<ObjectStore::Opened> SuffixStore::OpenCompressed(std::string_view key,
                                                        const RangeRequest& first,
                                                        const Deadline& deadline) {
  for (const std::size_t suffix : PositionsFrom(latest_)) {
    const std::string stored = WithSuffix(key, suffix);
    UNSHARD_ASSIGN_OR_RETURN(const auto object, ReadWhole(*below_, stored, max_bytes_, deadline));
    if (!object) continue;
    latest_ = suffix;
    const auto codec = CodecOfSuffix(kCompressionSuffixes.at(suffix));
    auto plain = codec->Decode(AsBytes(object->text), max_bytes_);
    if (!plain) return Forward(std::move(plain).error(), below_->Describe(stored));
    ObjectInfo info = object->info;
    info.size = plain->size();
    const Bytes bytes(*std::move(plain));
    const ByteRange read = ClipRange(first, info.size);
    return Opened{MakeObjectOf(info, bytes), bytes.Slice(read.begin, read.size)};
  }
  return Opened{};
}

Result<ObjectStore::Opened> SuffixStore::Open(std::string_view key, const RangeRequest& first,
                                              const Deadline& deadline) {
  UNSHARD_ASSIGN_OR_RETURN(Opened plain, below_->Open(key, first, deadline));
  if (plain.version) return plain;
  return OpenCompressed(key, first, deadline);
}

Result<ObjectStore::Opened> SuffixStore::OpenUnlessKnown(std::string_view key,
                                                         const RangeRequest& first,
                                                         const ObjectInfo& known,
                                                         const Deadline& deadline) {
  UNSHARD_ASSIGN_OR_RETURN(Opened plain, below_->OpenUnlessKnown(key, first, known, deadline));
  if (plain.version) return plain;
  return OpenCompressed(key, first, deadline);
}

Result<std::optional<ObjectInfo>> SuffixStore::Stat(std::string_view key,
                                                    const Deadline& deadline) {
  UNSHARD_ASSIGN_OR_RETURN(auto plain, below_->Stat(key, deadline));
  if (plain) return plain;
  UNSHARD_ASSIGN_OR_RETURN(const Opened opened,
                           OpenCompressed(key, RangeRequest::At(0, 0), deadline));
  if (!opened.version) return std::nullopt;
  return opened.version->info();
}

void SuffixStore::Replaced(std::string_view key, const std::optional<ObjectInfo>& now) {
  below_->Replaced(key, now);
  for (std::size_t i = 0; i < kCompressionSuffixes.size(); ++i) {
    below_->Replaced(WithSuffix(key, i), std::nullopt);
  }
}

Status SuffixStore::List(std::string_view key, const Deadline& deadline,
                         const ListVisitor& visitor) {
  return below_->List(key, deadline,
                      [&](const ListEntry& entry) { return visitor(WithoutSuffix(entry)); });
}

Status SuffixStore::ListFrom(std::string_view key, std::uint64_t resume, const Deadline& deadline,
                             const ListVisitor& visitor) {
  return below_->ListFrom(key, resume, deadline,
                          [&](const ListEntry& entry) { return visitor(WithoutSuffix(entry)); });
}

}  // namespace unshard
