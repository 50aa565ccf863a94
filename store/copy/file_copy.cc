#include "store/copy/file_copy.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "store/copy/left_locks.h"
#include "store/copy/try_each.h"
#include "store/object/key.h"
#include "store/object/log.h"
#include "store/object/time_now.h"
#include "store/source/document_names.h"

namespace unshard {
namespace {

// Read and written at a time.
constexpr std::uint64_t kPiece = std::uint64_t{4} << 20;
// Of a file that is there these many bytes are compared at each end.
constexpr std::uint64_t kCompared = std::uint64_t{64} << 10;
// Names that are listed before their files are copied.
constexpr std::size_t kBatch = 4096;
// Each local file waits for the disk twice.
constexpr std::size_t kThreads = 16;
constexpr std::size_t kMostObjectDirectories = 100000;
// A copy alone may keep a file that has the right size.
constexpr const char* kCopyFileAgain = "; remove this file, and copy again";

tl::unexpected<Error> Changed(const std::string& file) {
  return Fail(ErrorCode::kConflict, file, ": another process has changed it while it was read");
}

// A range that the version has.
Result<Bytes> ReadRange(ObjectVersion& version, const ByteRange& range, const std::string& file) {
  UNSHARD_ASSIGN_OR_RETURN(
      ReadResult read, version.Read(RangeRequest::At(range.begin, range.size), CallerDeadline()));
  if (read.state != ReadResult::State::kFound || read.value.size() != range.size) {
    return Changed(file);
  }
  return std::move(read.value);
}

// Calls `use` with all bytes of a version, in pieces.
Status ForEachPiece(const ObjectStore::Opened& opened, const std::string& file,
                    const std::function<Status(std::uint64_t at, const Bytes& piece)>& use) {
  const std::uint64_t size = opened.version->info().size;
  if (!opened.first.empty()) UNSHARD_RETURN_IF_ERROR(use(0, opened.first));
  for (std::uint64_t at = opened.first.size(); at < size;) {
    const ByteRange range{at, std::min(kPiece, size - at)};
    UNSHARD_ASSIGN_OR_RETURN(const Bytes piece, ReadRange(*opened.version, range, file));
    UNSHARD_RETURN_IF_ERROR(use(at, piece));
    at += range.size;
  }
  return {};
}

bool IsEqual(ByteSpan a, ByteSpan b) { return std::ranges::equal(a, b); }

}  // namespace

Status FileCopy::Run(const FileDirectory& directory) {
  return ForEach(directory, [this](const std::string& key) { return Copy(key); });
}

Status FileCopy::Verify(const FileDirectory& directory) {
  return ForEach(directory, [this](const std::string& key) { return Compare(key); });
}

Status FileCopy::ForEach(const FileDirectory& directory, const FileWork& work) {
  std::vector<std::string> paths{directory.path};
  for (std::size_t i = 0; i < paths.size(); ++i) {
    std::vector<std::string> below;
    UNSHARD_RETURN_IF_ERROR(ForEachIn(paths[i], directory, work, below));
    if (directory.kind != FileDirectory::Kind::kObjects) return {};
    paths.insert(paths.end(), below.begin(), below.end());
    if (paths.size() <= kMostObjectDirectories) continue;
    return Fail(ErrorCode::kResourceExhausted, parts_.from->Describe(directory.path),
                ": more than 100000 directories below it");
  }
  return {};
}

Status FileCopy::ForEachIn(const std::string& path, const FileDirectory& directory,
                           const FileWork& work, std::vector<std::string>& below) {
  std::vector<std::string> keys;
  Status done;
  const Status listed =
      parts_.from->List(path, CallerDeadline(), [&](const ListEntry& entry) -> bool {
        if (IsLeftOver(entry.name)) return true;
        if (directory.has_documents && IsMetadataOfAnyFormat(entry.name)) return true;
        std::string key = JoinPath(path, entry.name);
        if (entry.kind == ObjectInfo::Kind::kOther) {
          LogWarning(parts_.from->Describe(key) +
                     ": is neither a file nor a directory: not copied");
        } else if (entry.kind == ObjectInfo::Kind::kDirectory) {
          if (below.size() <= kMostObjectDirectories) below.push_back(std::move(key));
        } else {
          keys.push_back(std::move(key));
        }
        if (keys.size() >= kBatch) done = WorkOn(keys, work);
        return done.has_value();
      });
  UNSHARD_RETURN_IF_ERROR(done);
  UNSHARD_RETURN_IF_ERROR(listed);
  return WorkOn(keys, work);
}

Status FileCopy::WorkOn(std::vector<std::string>& keys, const FileWork& work) const {
  const Status done = TryEachInParallel(keys.size(), std::max(kThreads, limits_.writing_threads),
                                        [&](std::size_t i) { return work(keys[i]); });
  keys.clear();
  return done;
}

Result<ObjectStore::Opened> FileCopy::OpenSource(const std::string& key) const {
  UNSHARD_ASSIGN_OR_RETURN(ObjectStore::Opened source,
                           parts_.from->Open(key, RangeRequest::At(0, kPiece), CallerDeadline()));
  if (!source.version) return Changed(parts_.from->Describe(key));
  return source;
}

Result<bool> FileCopy::IsThere(const std::string& key, const ObjectStore::Opened& source) const {
  UNSHARD_ASSIGN_OR_RETURN(const auto there,
                           parts_.to->Open(key, RangeRequest::At(0, kCompared), CallerDeadline()));
  const std::uint64_t size = source.version->info().size;
  if (!there.version || there.version->info().size != size) return false;
  if (IsLater(source.version->info().modified, there.version->info().modified)) return false;
  const std::uint64_t start = std::min(kCompared, size);
  if (!IsEqual(there.first.span(), source.first.span().first(start))) return false;
  if (size == start) return true;
  const std::uint64_t end = std::min(kCompared, size - start);
  const ByteRange last{size - end, end};
  UNSHARD_ASSIGN_OR_RETURN(const Bytes of_copy,
                           ReadRange(*there.version, last, parts_.to->Describe(key)));
  if (size <= source.first.size()) {
    return IsEqual(of_copy.span(), source.first.span().last(end));
  }
  UNSHARD_ASSIGN_OR_RETURN(const Bytes of_source,
                           ReadRange(*source.version, last, parts_.from->Describe(key)));
  return IsEqual(of_copy.span(), of_source.span());
}

Status FileCopy::Copy(const std::string& key) const {
  if (parts_.files) UNSHARD_RETURN_IF_ERROR(RemoveLeftLocks(*parts_.files, *parts_.replacer, key));
  UNSHARD_ASSIGN_OR_RETURN(const auto source, OpenSource(key));
  if (!parts_.mode.replaces) {
    UNSHARD_ASSIGN_OR_RETURN(const bool is_there, IsThere(key, source));
    if (is_there) {
      parts_.counters->kept_files += 1;
      return {};
    }
  }
  UNSHARD_RETURN_IF_ERROR(ReplaceObject(*parts_.replacer, key, [&](NewVersion& version) {
    return ForEachPiece(
        source, parts_.from->Describe(key),
        [&](std::uint64_t at, const Bytes& piece) { return version.Write(at, piece.span()); });
  }));
  parts_.counters->files += 1;
  parts_.counters->bytes += source.version->info().size;
  return {};
}

Status FileCopy::Compare(const std::string& key) const {
  UNSHARD_ASSIGN_OR_RETURN(const auto source, OpenSource(key));
  UNSHARD_ASSIGN_OR_RETURN(const auto copy,
                           parts_.to->Open(key, RangeRequest::At(0, 0), CallerDeadline()));
  const std::string file = parts_.to->Describe(key);
  if (!copy.version)
    return Fail(ErrorCode::kDataLoss, file, ": the destination lacks it; `unshard copy` adds it");
  const std::uint64_t size = source.version->info().size;
  if (copy.version->info().size != size) {
    return Fail(ErrorCode::kDataLoss, file,
                ": differs from the source: ", copy.version->info().size, " bytes instead of ",
                size, kCopyFileAgain);
  }
  UNSHARD_RETURN_IF_ERROR(ForEachPiece(
      source, parts_.from->Describe(key), [&](std::uint64_t at, const Bytes& piece) -> Status {
        UNSHARD_ASSIGN_OR_RETURN(const Bytes stored,
                                 ReadRange(*copy.version, {at, piece.size()}, file));
        const auto [a, b] = std::ranges::mismatch(stored.span(), piece.span());
        if (a == stored.span().end()) return {};
        const auto number = at + static_cast<std::uint64_t>(a - stored.span().begin());
        return Fail(ErrorCode::kDataLoss, file, ": differs from the source: byte ", number,
                    kCopyFileAgain);
      }));
  parts_.counters->files += 1;
  parts_.counters->bytes += size;
  return {};
}

}  // namespace unshard
