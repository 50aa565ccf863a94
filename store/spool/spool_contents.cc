#include "store/spool/spool_contents.h"

#include <algorithm>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "store/local/posix_file_system.h"
#include "store/object/key.h"
#include "store/object/object_store.h"
#include "store/spool/sealed_name.h"

namespace unshard {
namespace {

constexpr const char* kRemovedList = "REMOVED";
constexpr const char* kConflictsFolder = "CONFLICTS";
constexpr const char* kDamagedFolder = "DAMAGED";
constexpr std::uint64_t kMaxPathBytes = 65536;

// A small file, whole; nothing where it is missing.
Result<std::optional<std::string>> ReadSmall(FileSystem& files, const std::string& path) {
  UNSHARD_ASSIGN_OR_RETURN(const auto file, files.Open(path, {}));
  if (!file) return std::nullopt;
  UNSHARD_ASSIGN_OR_RETURN(const FileStatus status, file->Stat());
  if (status.size > kMaxPathBytes) {
    return Fail(ErrorCode::kDataLoss, files.Describe(path), ": expected at most ", kMaxPathBytes,
                " bytes, found ", status.size);
  }
  std::vector<std::uint8_t> bytes(status.size);
  UNSHARD_ASSIGN_OR_RETURN(const std::size_t got, file->Read(0, bytes));
  return std::string(AsText(ByteSpan(bytes).first(got)));
}

// Appends the sealed files of one directory of a dataset.
Status ReadDataset(FileSystem& files, const std::string& directory, std::vector<SpoolFile>& found) {
  UNSHARD_ASSIGN_OR_RETURN(const auto text, ReadSmall(files, directory + "/.path"));
  if (!text) return {};  // made a moment ago: nothing is sealed in it yet
  const auto dataset = ParseDatasetPath(*text, BaseName(directory));
  if (dataset && !dataset->empty()) UNSHARD_RETURN_IF_ERROR(CheckKey(*dataset));
  UNSHARD_ASSIGN_OR_RETURN(const auto names, SortedNames(files, directory));
  for (const std::string& name : names) {
    auto chunk = ParseSealedName(name);
    if (!chunk || !CheckKey(chunk->chunk)) continue;
    if (!dataset) {
      return Fail(ErrorCode::kDataLoss, files.Describe(directory + "/.path"),
                  ": expected the path of the dataset ", BaseName(directory));
    }
    SpoolFile file{*std::move(chunk), directory + "/" + name};
    file.chunk.dataset = *dataset;
    UNSHARD_ASSIGN_OR_RETURN(const auto status, files.Stat(file.path));
    if (!status) continue;  // published since
    file.chunk.committed = status->modified;
    found.push_back(std::move(file));
  }
  return {};
}

Result<std::vector<SpoolFile>> ReadTop(FileSystem& files, const std::string& top) {
  std::vector<SpoolFile> found;
  UNSHARD_ASSIGN_OR_RETURN(const auto names, SortedNames(files, top));
  for (const std::string& name : names) {
    UNSHARD_RETURN_IF_ERROR(ReadDataset(files, top + "/" + name, found));
  }
  std::sort(found.begin(), found.end(), [](const SpoolFile& a, const SpoolFile& b) {
    return std::tie(a.chunk.dataset, a.chunk.chunk, a.chunk.sequence) <
           std::tie(b.chunk.dataset, b.chunk.chunk, b.chunk.sequence);
  });
  return found;
}

// Removals by a move that was cut off before its copy was there.
void DropHalfMoves(std::vector<SpoolFile>& files) {
  std::set<std::pair<std::string, std::uint64_t>> there;
  for (const SpoolFile& file : files) there.emplace(file.chunk.dataset, file.chunk.sequence);
  std::erase_if(files, [&](const SpoolFile& file) {
    const std::uint64_t with = file.chunk.only_with;
    return with != 0 && !there.contains({file.chunk.dataset, with});
  });
}

void KeepLatest(std::vector<SpoolFile>& files) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const bool replaced = i + 1 < files.size() &&
                          files[i].chunk.dataset == files[i + 1].chunk.dataset &&
                          files[i].chunk.chunk == files[i + 1].chunk.chunk;
    if (!replaced && kept++ != i) files[kept - 1] = std::move(files[i]);
  }
  files.resize(kept);
}

// Whether the bytes of `file` are those of its seal; reads it once.
Result<bool> FitsItsSeal(File& file, const SpooledChunk& chunk) {
  UNSHARD_ASSIGN_OR_RETURN(const FileStatus status, file.Stat());
  if (status.size != chunk.size) return false;
  const auto sum = ReadWithChecksum(file, {0, chunk.size});
  if (!sum && sum.error().code == ErrorCode::kDataLoss) return false;  // it became shorter
  UNSHARD_RETURN_IF_ERROR(sum);
  return *sum == chunk.checksum;
}

Status CopyChunk(FileSystem& spool, const SpoolFile& from, FileSystem& to,
                 const std::string& name) {
  UNSHARD_ASSIGN_OR_RETURN(const auto source, spool.Open(from.path, {}));
  if (!source) return Fail(ErrorCode::kNotFound, "published meanwhile");
  std::uint64_t size = from.chunk.size;
  if (from.damaged) {
    UNSHARD_ASSIGN_OR_RETURN(const FileStatus status, source->Stat());
    size = status.size;
  } else {
    UNSHARD_ASSIGN_OR_RETURN(const bool whole, FitsItsSeal(*source, from.chunk));
    if (!whole) {
      return Fail(ErrorCode::kDataLoss, spool.Describe(from.path),
                  ": its bytes are not those that were committed: torn by a power loss, or damaged "
                  "since; not copied");
    }
  }
  UNSHARD_RETURN_IF_ERROR(MakeDirectories(to, ParentPath(name)));
  UNSHARD_ASSIGN_OR_RETURN(const auto target,
                           to.Open(name, {.write = true, .create = true, .exclusive = true}));
  Status copied = target->CopyFrom(*source, {0, size}, 0);
  if (copied) copied = target->Sync();
  // What is only half there must not be taken for the chunk.
  if (!copied) (void)to.Remove(name);
  return copied;
}

// To the list in `folder`, a directory that is there or "".
Status AppendRemoved(FileSystem& to, const std::string& folder, const std::string& name) {
  UNSHARD_ASSIGN_OR_RETURN(
      const auto list, to.Open(JoinPath(folder, kRemovedList), {.write = true, .create = true}));
  UNSHARD_ASSIGN_OR_RETURN(const FileStatus status, list->Stat());
  const std::string line = name + "\n";
  return list->Write(status.size, AsBytes(line));
}

}  // namespace

Result<SpoolContents> ReadSpool(FileSystem& files) {
  SpoolContents contents;
  UNSHARD_ASSIGN_OR_RETURN(contents.chunks, ReadTop(files, "chunks"));
  DropHalfMoves(contents.chunks);
  KeepLatest(contents.chunks);
  for (const SpoolFile& file : contents.chunks) contents.bytes += file.chunk.size;
  UNSHARD_ASSIGN_OR_RETURN(contents.conflicts, ReadTop(files, "conflicts"));
  for (SpoolFile& file : contents.conflicts) file.conflict = true;
  UNSHARD_ASSIGN_OR_RETURN(contents.damaged, ReadTop(files, "damaged"));
  for (SpoolFile& file : contents.damaged) file.damaged = true;
  return contents;
}

Result<SpoolContents> ReadSpool(const std::string& path) {
  UNSHARD_ASSIGN_OR_RETURN(const auto files, OpenPosixFileSystem(path));
  return ReadSpool(*files);
}

Result<std::uint64_t> DropQuarantined(FileSystem& files, const std::vector<SpoolFile>& dropped) {
  std::set<std::string> directories;
  std::uint64_t count = 0;
  for (const SpoolFile& file : dropped) {
    UNSHARD_ASSIGN_OR_RETURN(const bool removed, files.Remove(file.path));
    if (removed) ++count;
    directories.insert(ParentPath(file.path));
  }
  for (const std::string& directory : directories) {
    UNSHARD_RETURN_IF_ERROR(files.SyncDirectory(directory));
  }
  return count;
}

Status ExportSpool(FileSystem& spool, const SpoolContents& contents, FileSystem& to,
                   ExportReport& report) {
  for (const SpoolFile& file : contents.chunks) {
    const std::string name = JoinPath(file.chunk.dataset, file.chunk.chunk);
    if (file.chunk.removed) {
      UNSHARD_RETURN_IF_ERROR(AppendRemoved(to, "", name));
      ++report.removals;
    } else if (const Status copied = CopyChunk(spool, file, to, name); copied) {
      ++report.chunks;
      report.bytes += file.chunk.size;
    } else {
      report.problems.push_back(name + ": " + copied.error().message);
    }
  }
  for (const SpoolFile& file : contents.conflicts) {
    const std::string chunk = JoinPath(file.chunk.dataset, file.chunk.chunk);
    if (file.chunk.removed) {
      UNSHARD_RETURN_IF_ERROR(MakeDirectories(to, kConflictsFolder));
      UNSHARD_RETURN_IF_ERROR(AppendRemoved(to, kConflictsFolder, chunk));
      ++report.conflicts;
      continue;
    }
    const std::string name =
        JoinPath(kConflictsFolder, chunk) + "," + std::to_string(file.chunk.sequence);
    const Status copied = CopyChunk(spool, file, to, name);
    if (copied) ++report.conflicts;
    if (!copied) report.problems.push_back(name + ": " + copied.error().message);
  }
  for (const SpoolFile& file : contents.damaged) {
    const std::string name =
        JoinPath(kDamagedFolder, JoinPath(file.chunk.dataset, file.chunk.chunk)) + "," +
        std::to_string(file.chunk.sequence);
    const Status copied = CopyChunk(spool, file, to, name);
    if (copied) ++report.damaged;
    if (!copied) report.problems.push_back(name + ": " + copied.error().message);
  }
  // The spool may be removed once it is exported: names and lists have to last as well.
  return to.SyncAll();
}

}  // namespace unshard
