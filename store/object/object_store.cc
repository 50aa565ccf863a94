#include "store/object/object_store.h"

#include <algorithm>

#include "store/object/awaited_result.h"
#include "store/object/read_through.h"

namespace unshard {
namespace {

constexpr int kMostRereads = 8;
constexpr std::uint64_t kFirstOfWhole = std::uint64_t{1} << 20;

}  // namespace

Status ReadSlice(const FileSlice& slice, std::span<std::uint8_t> to) {
  UNSHARD_ASSIGN_OR_RETURN(
      const std::size_t size,
      ReadDescriptor(slice.descriptor, slice.range.begin, to, "a slice of an open file"));
  if (size == to.size()) return {};
  return Fail(ErrorCode::kDataLoss, "an open file has become shorter");
}

Status CheckKey(std::string_view key) {
  if (key.empty()) return {};
  const auto fail = [&] {
    return Fail(ErrorCode::kInvalidArgument, "'", key,
                "': expected a relative path without '.' and '..'");
  };
  if (key.find('\0') != std::string_view::npos) return fail();
  for (std::size_t begin = 0; begin <= key.size();) {
    const std::size_t end = std::min(key.find('/', begin), key.size());
    const std::string_view component = key.substr(begin, end - begin);
    if (component.empty() || component == "." || component == "..") return fail();
    begin = end + 1;
  }
  return {};
}

ByteRange ClipRange(const RangeRequest& range, std::uint64_t object_size) {
  if (range.suffix) {
    const std::uint64_t size = std::min(range.size, object_size);
    return {object_size - size, size};
  }
  const std::uint64_t begin = std::min(range.begin, object_size);
  return {begin, std::min(range.size, object_size - begin)};
}

Result<ReadResult> ObjectVersion::Read(const RangeRequest& range, const Deadline& deadline) {
  const auto outcome = std::make_shared<AwaitedResult<ReadResult>>();
  StartRead(range, deadline, AwaitedResult<ReadResult>::Callback(outcome));
  return outcome->Wait(deadline, "waiting for the store");
}

Result<std::optional<WholeObject>> ReadWhole(ObjectStore& store, std::string_view key,
                                             std::uint64_t max_bytes, const Deadline& deadline) {
  const auto first = RangeRequest::At(0, std::min(max_bytes, kFirstOfWhole));
  // A document that is replaced while we read it is read again: the writer will be done soon.
  for (int i = 0; i < kMostRereads; ++i) {
    UNSHARD_ASSIGN_OR_RETURN(ObjectStore::Opened opened, store.Open(key, first, deadline));
    if (!opened.version) return std::nullopt;
    const ObjectInfo& info = opened.version->info();
    if (info.size > max_bytes) {
      return Fail(ErrorCode::kResourceExhausted, store.Describe(key), ": expected at most ",
                  max_bytes, " bytes, found ", info.size);
    }
    if (info.size > kFirstOfWhole) {
      UNSHARD_ASSIGN_OR_RETURN(ReadResult read,
                               opened.version->Read(RangeRequest::At(0, info.size), deadline));
      if (read.state != ReadResult::State::kFound) continue;
      opened.first = std::move(read.value);
    }
    if (opened.first.size() != info.size) {
      return Fail(ErrorCode::kDataLoss, store.Describe(key), ": is shorter than announced");
    }
    return WholeObject{std::string(AsText(opened.first.span())), info};
  }
  return Fail(ErrorCode::kConflict, store.Describe(key), ": kept changing while it was read");
}

Status ObjectStore::ListFrom(std::string_view key, std::uint64_t resume, const Deadline& deadline,
                             const ListVisitor& visitor) {
  std::uint64_t position = 0;
  return List(key, deadline, [&](const ListEntry& entry) {
    if (++position <= resume) return true;
    return visitor(ListEntry{entry.name, entry.kind, position});
  });
}

}  // namespace unshard
