#include "store/spool/recovery.h"

#include <algorithm>
#include <unordered_set>

#include "codec/core/text.h"
#include "store/object/key.h"
#include "store/object/log.h"
#include "store/spool/attempts.h"
#include "store/spool/move.h"
#include "store/spool/owner.h"
#include "store/spool/sealed_name.h"
#include "store/spool/state.h"

namespace unshard {
namespace {

constexpr std::uint64_t kMaxPathFile = 64 << 10;

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
  UNSHARD_ASSIGN_OR_RETURN(const auto names, SortedNames(files, path));
  for (const std::string& each : names) {
    auto chunk = ParseSealedName(each);
    if (chunk) listed.chunks.push_back(*std::move(chunk));
  }
  // The path is durable before the first chunk comes: without chunks it may be missing.
  if (listed.chunks.empty()) return listed;
  UNSHARD_ASSIGN_OR_RETURN(auto dataset, ReadDatasetPath(files, path, name));
  if (!dataset) {
    return Fail(ErrorCode::kDataLoss, files.Describe(path + '/' + kDatasetPathFile),
                ": expected the path of the dataset ", name);
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
  auto sum = ReadWithChecksum(*file, {0, chunk.size});
  if (!sum) return Forward(std::move(sum).error(), files.Describe(path));
  return *sum == chunk.checksum;
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

// Step 2 for a file that does not match its seal. Its number stays taken.
Status Quarantine(Spool::State& state, SpooledChunk chunk) {
  FileSystem& files = *state.files;
  const std::string from = SealedPath(kChunksDirectory, chunk);
  const std::string to = SealedPath(kDamagedDirectory, chunk);
  UNSHARD_RETURN_IF_ERROR(MakeDatasetDirectory(files, kDamagedDirectory, chunk.dataset));
  UNSHARD_RETURN_IF_ERROR(files.Rename(from, to));
  UNSHARD_RETURN_IF_ERROR(files.SyncDirectory(ParentPath(to)));
  LogWarning(files.Describe(from) +
             ": its bytes are not those that were committed: torn by a power loss before it was "
             "fsynced, or damaged since. It is not published; it is kept as " +
             files.Describe(to));
  state.damaged.push_back(std::move(chunk));
  return {};
}

Status RecoverDataset(Spool::State& state, const std::string& name) {
  UNSHARD_ASSIGN_OR_RETURN(Listed listed, ListDataset(*state.files, kChunksDirectory, name));
  const std::string path = std::string(kChunksDirectory) + '/' + name;
  std::vector<SpooledChunk> whole;
  for (SpooledChunk& chunk : listed.chunks) {
    const std::uint64_t last = std::max(chunk.sequence, chunk.only_with);
    state.next_sequence = std::max(state.next_sequence, last + 1);
    UNSHARD_ASSIGN_OR_RETURN(const bool is_whole, IsWhole(*state.files, chunk));
    if (is_whole) {
      whole.push_back(std::move(chunk));
      continue;
    }
    UNSHARD_RETURN_IF_ERROR(Quarantine(state, std::move(chunk)));
  }
  std::sort(whole.begin(), whole.end(),
            [](const auto& a, const auto& b) { return a.sequence < b.sequence; });
  UNSHARD_RETURN_IF_ERROR(EndMoves(*state.files, path, whole));
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

// The quarantined files that an earlier process has put into `top`.
Status ListAside(Spool::State& state, const char* top, std::vector<SpooledChunk>& found) {
  UNSHARD_ASSIGN_OR_RETURN(const auto datasets, SortedNames(*state.files, top));
  for (const std::string& name : datasets) {
    UNSHARD_ASSIGN_OR_RETURN(Listed listed, ListDataset(*state.files, top, name));
    for (SpooledChunk& chunk : listed.chunks) {
      state.next_sequence = std::max(state.next_sequence, chunk.sequence + 1);
      found.push_back(std::move(chunk));
    }
  }
  return {};
}

}  // namespace

Status SyncSealed(FileSystem& files, const SpooledChunk& chunk) {
  UNSHARD_ASSIGN_OR_RETURN(const std::shared_ptr<File> file,
                           files.Open(SealedPath(kChunksDirectory, chunk), {.write = true}));
  if (!file) return Fail(ErrorCode::kNotFound, chunk.chunk, ": is gone from the spool");
  return file->Sync();
}

Status RemoveStaged(FileSystem& files) {
  UNSHARD_ASSIGN_OR_RETURN(const auto names, SortedNames(files, kStagingDirectory));
  for (const std::string& name : names) {
    if (!IsDigits(name)) continue;
    UNSHARD_RETURN_IF_ERROR(files.Remove(std::string(kStagingDirectory) + '/' + name));
  }
  return {};
}

Status CheckSpoolRoot(FileSystem& files) {
  UNSHARD_ASSIGN_OR_RETURN(const auto names, SortedNames(files, ""));
  if (std::binary_search(names.begin(), names.end(), kOwnerFile)) return {};
  for (const std::string& name : names) {
    if (name == kNewOwnerFile) continue;
    return Fail(ErrorCode::kInvalidArgument, files.Describe(name),
                ": is not part of a spool; expected an empty directory, or a spool of unshard");
  }
  return {};
}

Status RecoverSpool(Spool::State& state) {
  FileSystem& files = *state.files;
  UNSHARD_RETURN_IF_ERROR(RemoveStaged(files));
  // Before those of today come to them.
  UNSHARD_RETURN_IF_ERROR(ListAside(state, kDamagedDirectory, state.damaged));
  UNSHARD_ASSIGN_OR_RETURN(const auto datasets, SortedNames(files, kChunksDirectory));
  for (const std::string& name : datasets) UNSHARD_RETURN_IF_ERROR(RecoverDataset(state, name));
  UNSHARD_ASSIGN_OR_RETURN(state.attempts, ReadAttempts(files));
  for (const auto& [number, attempt] : state.attempts) {
    state.next_attempt = number + 1;
    // Also of files that are gone: another one with such a number would count as published.
    for (const std::uint64_t sequence : attempt.sequences) {
      state.next_sequence = std::max(state.next_sequence, sequence + 1);
    }
  }
  std::sort(state.recovered.begin(), state.recovered.end(),
            [](const auto& a, const auto& b) { return a.sequence < b.sequence; });
  return ListAside(state, kConflictsDirectory, state.conflicts);
}

}  // namespace unshard
