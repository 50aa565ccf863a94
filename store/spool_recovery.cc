// What is done with a spool that stands there when it is opened:
//
//   1. What was only staged is removed.
//   2. Every sealed file is read and compared with its seal; one that does not match is removed.
//   3. Of each chunk only the latest version stays. It is made to last before earlier ones are
//      removed: the power may fail next.
//   4. Each directory is synced, so that no file that is gone now comes back later under a number
//      that is used again.
#include <algorithm>
#include <unordered_set>

#include "codec/crc32c.h"
#include "store/log.h"
#include "store/sealed_name.h"
#include "store/spool_owner.h"
#include "store/spool_state.h"

namespace unshard {
namespace {

constexpr std::uint64_t kMaxPathFile = 64 << 10;

Result<std::vector<std::string>> Names(FileSystem& files, const std::string& path) {
  std::vector<std::string> names;
  UNSHARD_RETURN_IF_ERROR(files.List(path, [&](std::string_view name) {
    names.emplace_back(name);
    return true;
  }));
  std::sort(names.begin(), names.end());
  return names;
}

tl::unexpected<Error> Foreign(FileSystem& files, const std::string& path) {
  return Fail(ErrorCode::kInvalidArgument,
              files.Describe(path) +
                  ": is no part of a spool; expected an empty directory or one "
                  "that only unshard has written to");
}

// What `.path` says; nothing where it is missing or not whole.
Result<std::optional<std::string>> ReadDatasetPath(FileSystem& files, const std::string& path,
                                                   const std::string& name) {
  UNSHARD_ASSIGN_OR_RETURN(const std::shared_ptr<File> file,
                           files.Open(path + '/' + kDatasetPathFile, {}));
  if (!file) return std::nullopt;
  UNSHARD_ASSIGN_OR_RETURN(const FileStatus status, file->Stat());
  if (status.size == 0 || status.size > kMaxPathFile) return std::nullopt;
  ByteVector bytes(static_cast<std::size_t>(status.size));
  UNSHARD_ASSIGN_OR_RETURN(const std::size_t size, file->Read(0, bytes));
  return ParseDatasetPath(AsText(ByteSpan(bytes).first(size)), name);
}

// The sealed chunks in `<top>/<name>`, unread.
struct Listed {
  std::string dataset;
  std::vector<SpooledChunk> chunks;
};
Result<Listed> ListDataset(FileSystem& files, const char* top, const std::string& name) {
  const std::string path = std::string(top) + '/' + name;
  Listed listed;
  UNSHARD_ASSIGN_OR_RETURN(const auto names, Names(files, path));
  for (const std::string& each : names) {
    if (each == kDatasetPathFile) continue;
    auto chunk = ParseSealedName(each);
    if (!chunk) return Foreign(files, path + '/' + each);
    listed.chunks.push_back(*std::move(chunk));
  }
  // The path lasts before the first chunk comes: without chunks it may be missing.
  if (listed.chunks.empty()) return listed;
  UNSHARD_ASSIGN_OR_RETURN(auto dataset, ReadDatasetPath(files, path, name));
  if (!dataset) {
    return Fail(ErrorCode::kDataLoss, files.Describe(path + '/' + kDatasetPathFile) +
                                          ": expected the path of the dataset " + name);
  }
  listed.dataset = *std::move(dataset);
  for (SpooledChunk& chunk : listed.chunks) chunk.dataset = listed.dataset;
  return listed;
}

// Step 2. Whether the file is what its seal says; its time is put into the chunk.
Result<bool> IsWhole(FileSystem& files, SpooledChunk& chunk) {
  const std::string path = SealedPath(kChunksDirectory, chunk);
  UNSHARD_ASSIGN_OR_RETURN(const std::shared_ptr<File> file, files.Open(path, {}));
  if (!file) return false;
  UNSHARD_ASSIGN_OR_RETURN(const FileStatus status, file->Stat());
  chunk.committed = status.modified;
  if (status.size != chunk.size) return false;
  auto crc = FileCrc32c(*file, 0, chunk.size, 0);
  if (!crc) return Forward(std::move(crc).error(), files.Describe(path));
  return *crc == chunk.crc32c;
}

Status SyncSealed(FileSystem& files, const SpooledChunk& chunk) {
  UNSHARD_ASSIGN_OR_RETURN(const std::shared_ptr<File> file,
                           files.Open(SealedPath(kChunksDirectory, chunk), {.write = true}));
  if (!file) return Fail(ErrorCode::kNotFound, chunk.chunk + ": is gone from the spool");
  return file->Sync();
}

// Step 3 for one directory, whose whole chunks are given, the earliest first.
Status KeepLatest(Spool::State& state, const std::string& path, std::vector<SpooledChunk>& chunks) {
  std::unordered_map<std::string, std::uint64_t> latest;
  for (const SpooledChunk& chunk : chunks) latest[chunk.chunk] = chunk.sequence;
  std::vector<SpooledChunk> earlier;
  const auto is_earlier = [&](const SpooledChunk& chunk) {
    return latest.at(chunk.chunk) != chunk.sequence;
  };
  std::copy_if(chunks.begin(), chunks.end(), std::back_inserter(earlier), is_earlier);
  std::erase_if(chunks, is_earlier);
  if (earlier.empty()) return {};
  std::unordered_set<std::string_view> replaces;
  for (const SpooledChunk& chunk : earlier) replaces.insert(chunk.chunk);
  for (const SpooledChunk& chunk : chunks) {
    if (replaces.contains(chunk.chunk)) UNSHARD_RETURN_IF_ERROR(SyncSealed(*state.files, chunk));
  }
  UNSHARD_RETURN_IF_ERROR(state.files->SyncDirectory(path));
  for (const SpooledChunk& chunk : earlier) {
    UNSHARD_RETURN_IF_ERROR(state.files->Remove(SealedPath(kChunksDirectory, chunk)));
  }
  return {};
}

Status RecoverDataset(Spool::State& state, const std::string& name) {
  UNSHARD_ASSIGN_OR_RETURN(Listed listed, ListDataset(*state.files, kChunksDirectory, name));
  const std::string path = std::string(kChunksDirectory) + '/' + name;
  std::vector<SpooledChunk> whole;
  for (SpooledChunk& chunk : listed.chunks) {
    state.next_sequence = std::max(state.next_sequence, chunk.sequence + 1);
    UNSHARD_ASSIGN_OR_RETURN(const bool is_whole, IsWhole(*state.files, chunk));
    if (is_whole) {
      whole.push_back(std::move(chunk));
      continue;
    }
    const std::string torn = SealedPath(kChunksDirectory, chunk);
    LogWarning(state.files->Describe(torn) + ": was torn by a power loss; removed");
    UNSHARD_RETURN_IF_ERROR(state.files->Remove(torn));
  }
  std::sort(whole.begin(), whole.end(),
            [](const auto& a, const auto& b) { return a.sequence < b.sequence; });
  UNSHARD_RETURN_IF_ERROR(KeepLatest(state, path, whole));
  UNSHARD_RETURN_IF_ERROR(state.files->SyncDirectory(path));  // step 4
  if (whole.empty()) return {};
  SpoolDirectory& directory = state.directories[listed.dataset];
  directory.path = path;
  directory.made = true;
  for (SpooledChunk& chunk : whole) {
    directory.chunks[chunk.chunk] = {{chunk.sequence, Durability::kUnsynced, true, false}};
    state.usage.files += 1;
    state.usage.bytes += chunk.size;
    state.recovered.push_back(std::move(chunk));
  }
  return {};
}

}  // namespace

Status CheckSpoolRoot(FileSystem& files) {
  UNSHARD_ASSIGN_OR_RETURN(const auto names, Names(files, ""));
  const bool is_owned = std::binary_search(names.begin(), names.end(), kOwnerFile);
  for (const std::string& name : names) {
    if (name == kOwnerFile || name == kNewOwnerFile) continue;
    const bool is_part =
        name == kStagingDirectory || name == kChunksDirectory || name == kConflictsDirectory;
    if (!is_part || !is_owned) return Foreign(files, name);
  }
  return {};
}

Status RecoverSpool(Spool::State& state) {
  FileSystem& files = *state.files;
  UNSHARD_ASSIGN_OR_RETURN(const auto staged, Names(files, kStagingDirectory));
  for (const std::string& name : staged) {
    UNSHARD_RETURN_IF_ERROR(files.Remove(std::string(kStagingDirectory) + '/' + name));
  }
  UNSHARD_ASSIGN_OR_RETURN(const auto datasets, Names(files, kChunksDirectory));
  for (const std::string& name : datasets) UNSHARD_RETURN_IF_ERROR(RecoverDataset(state, name));
  std::sort(state.recovered.begin(), state.recovered.end(),
            [](const auto& a, const auto& b) { return a.sequence < b.sequence; });
  UNSHARD_ASSIGN_OR_RETURN(const auto conflicting, Names(files, kConflictsDirectory));
  for (const std::string& name : conflicting) {
    UNSHARD_ASSIGN_OR_RETURN(Listed listed, ListDataset(files, kConflictsDirectory, name));
    for (SpooledChunk& chunk : listed.chunks) {
      state.next_sequence = std::max(state.next_sequence, chunk.sequence + 1);
      state.conflicts.push_back(std::move(chunk));
    }
  }
  return {};
}

}  // namespace unshard
