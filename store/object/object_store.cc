#include "store/object/object_store.h"

#include <unistd.h>

#include <cerrno>

#include <algorithm>

namespace unshard {

Status ReadSlice(const FileSlice& slice, std::span<std::uint8_t> to) {
  for (std::size_t done = 0; done < to.size();) {
    const ssize_t got = ::pread(slice.descriptor, to.data() + done, to.size() - done,
                                static_cast<off_t>(slice.range.begin + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FailErrno(errno, "reading an open file");
    if (got == 0) return Fail(ErrorCode::kDataLoss, "an open file has become shorter");
    done += static_cast<std::size_t>(got);
  }
  return {};
}
namespace {

constexpr int kAttempts = 8;

}  // namespace

Status CheckKey(std::string_view key) {
  if (key.empty()) return {};
  const auto fail = [&] {
    return Fail(ErrorCode::kInvalidArgument,
                "'" + std::string(key) + "': expected a relative path without '.' and '..'");
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

Result<std::optional<WholeObject>> ReadWhole(ObjectStore& store, std::string_view key,
                                             std::uint64_t max_bytes) {
  // A document that is replaced while we read it is read again: the writer will be done soon.
  for (int i = 0; i < kAttempts; ++i) {
    UNSHARD_ASSIGN_OR_RETURN(const std::shared_ptr<ObjectVersion> object, store.Open(key));
    if (!object) return std::nullopt;
    const std::uint64_t size = object->info().size;
    if (size > max_bytes) {
      return Fail(ErrorCode::kResourceExhausted, store.Describe(key) + ": expected at most " +
                                                     std::to_string(max_bytes) + " bytes, found " +
                                                     std::to_string(size));
    }
    UNSHARD_ASSIGN_OR_RETURN(const ReadResult read, object->Read(RangeRequest::At(0, size)));
    if (read.state != ReadResult::State::kFound) continue;
    if (read.value.size() != size) {
      return Fail(ErrorCode::kDataLoss, store.Describe(key) + ": ends before its size");
    }
    return WholeObject{std::string(AsText(read.value.span())), object->info()};
  }
  return Fail(ErrorCode::kConflict, store.Describe(key) + ": kept changing while it was read");
}

Status ObjectStore::ListFrom(std::string_view key, std::uint64_t resume,
                             const ListVisitor& visitor) {
  std::uint64_t position = 0;
  return List(key, [&](const ListEntry& entry) {
    if (++position <= resume) return true;
    return visitor(ListEntry{entry.name, entry.kind, position});
  });
}

}  // namespace unshard
