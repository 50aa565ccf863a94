#include "store/spool/state.h"

#include <algorithm>
#include <cerrno>
#include <set>

#include "store/object/catch_exceptions.h"
#include "store/object/error_number.h"
#include "store/spool/sealed_name.h"
#include "store/spool/staged_file.h"

namespace unshard {
namespace {

constexpr std::size_t kMaxHeld = 256;
constexpr std::size_t kMaxSpareFiles = 4096;
// Beyond twice a cap: what many programs that write at the same time may write at once.
constexpr std::uint64_t kBytesAtOnce = std::uint64_t{256} << 20;
constexpr std::uint64_t kFilesAtOnce = 4096;
constexpr std::uint64_t kLargestCap = std::uint64_t{1} << 60;
constexpr std::uint64_t kMostUntilLook = std::uint64_t{64} << 20;

}  // namespace

std::string SealedPath(const char* top, const SpooledChunk& chunk) {
  return std::string(top) + '/' + DatasetDirectory(chunk.dataset) + '/' + SealedName(chunk);
}

bool IsGone(const Error& error) { return error.system_errno == ENOENT; }

Error Spool::State::AsRemoved(Error error) const {
  if (!IsGone(error)) return error;
  return {ErrorCode::kUnavailable,
          files->Describe("") +
              ": another process removed this spool or a part of it; unmount, and mount again"};
}

Status MakeDatasetDirectory(FileSystem& files, const char* top, const std::string& dataset) {
  const std::string directory = std::string(top) + '/' + DatasetDirectory(dataset);
  UNSHARD_ASSIGN_OR_RETURN(const bool made, files.MakeDirectory(top));
  if (made) UNSHARD_RETURN_IF_ERROR(files.SyncDirectory(""));
  UNSHARD_RETURN_IF_ERROR(files.MakeDirectory(directory));
  // Always a new file, renamed: of an existing file the page cache may hold bytes that a failed
  // fsync has kept from the disk, and chunks may be beside it already.
  const std::string path = directory + '/' + kDatasetPathFile;
  const std::string new_path = directory + '/' + kNewDatasetPathFile;
  UNSHARD_ASSIGN_OR_RETURN(const std::shared_ptr<File> file,
                           files.Open(new_path, {.write = true, .create = true, .truncate = true}));
  // A line end marks that it is whole.
  UNSHARD_RETURN_IF_ERROR(file->Write(0, AsBytes(DatasetPathText(dataset))));
  UNSHARD_RETURN_IF_ERROR(file->Sync());
  UNSHARD_RETURN_IF_ERROR(files.Rename(new_path, path));
  UNSHARD_RETURN_IF_ERROR(files.SyncDirectory(directory));
  return files.SyncDirectory(top);
}

Status Spool::State::Fits(std::uint64_t more_files, std::uint64_t more_bytes, bool beyond) const {
  const auto full = [&](const std::string& cap_text) {
    return FailWith(ENOSPC, ErrorCode::kResourceExhausted, files->Describe(""),
                    ": this spool is full: its cap is ", cap_text);
  };
  const std::uint64_t most_bytes = beyond ? 2 * std::min(cap, kLargestCap) + kBytesAtOnce : cap;
  const auto new_bytes = CheckedAdd(usage.bytes, more_bytes);
  if (more_bytes != 0 && (!new_bytes || *new_bytes > most_bytes)) {
    const bool small_disk = cap < options.max_bytes;
    return full(std::to_string(cap) + " bytes" +
                (small_disk ? ", half of the free space of its disk" : ""));
  }
  const std::uint64_t most_files =
      beyond ? 2 * std::min(options.max_files, kLargestCap) + kFilesAtOnce : options.max_files;
  if (more_files != 0 && usage.files + more_files > most_files) {
    return full(std::to_string(options.max_files) + " files");
  }
  return {};
}

Status Spool::State::Charge(std::uint64_t more_files, std::uint64_t more_bytes) {
  std::unique_lock lock(mutex);
  since_look += std::min(more_bytes, kLargestCap);
  if (since_look > std::min(cap / 16, kMostUntilLook)) {
    lock.unlock();
    LookAtDisk();
    lock.lock();
  }
  if (Status full = Fits(more_files, more_bytes, false); !full) {
    if (!may_exceed) return full;
    UNSHARD_RETURN_IF_ERROR(Fits(more_files, more_bytes, true));
    const auto ask = may_exceed;
    lock.unlock();
    if (const Status may = ask(); !may) {
      full.error().message += ", " + may.error().message;
      return full;
    }
    lock.lock();
  }
  usage.bytes += more_bytes;
  usage.files += more_files;
  Counted();
  return {};
}

void Spool::State::Counted() {
  const auto over = [&](unsigned times) {
    return usage.bytes / times > cap || usage.files / times > options.max_files;
  };
  times_over = over(2) ? 2 : over(1) ? 1 : 0;
}

// Half of the disk is left to other programs, and to what exceeds the cap.
void Spool::State::LookAtDisk() {
  const Result<std::uint64_t> free = files->FreeBytes();
  const std::lock_guard lock(mutex);
  since_look = 0;
  cap = options.max_bytes;
  if (free) {
    const auto on_disk = CheckedAdd(*free, usage.bytes);
    if (on_disk) cap = std::min(cap, *on_disk / 2);
  }
  Counted();
}

void Spool::State::Discharge(std::uint64_t fewer_files, std::uint64_t fewer_bytes) {
  const std::lock_guard lock(mutex);
  usage.files -= fewer_files;
  usage.bytes -= fewer_bytes;
  Counted();
}

std::vector<SpooledChunk> Spool::State::Kept(const char* top, std::vector<SpooledChunk>& list) {
  std::vector<SpooledChunk> kept;
  {
    const std::lock_guard lock(mutex);
    kept = list;
  }
  // Of each directory once, however many files it has.
  std::map<std::string, Result<std::vector<std::string>>> names;
  const auto is_gone = [&](const SpooledChunk& chunk) {
    const std::string directory = std::string(top) + '/' + DatasetDirectory(chunk.dataset);
    auto listed = names.find(directory);
    if (listed == names.end()) {
      listed = names.emplace(directory, SortedNames(*files, directory)).first;
    }
    return listed->second &&
           !std::binary_search(listed->second->begin(), listed->second->end(), SealedName(chunk));
  };
  std::set<std::uint64_t> gone;
  for (const SpooledChunk& chunk : kept) {
    if (is_gone(chunk)) gone.insert(chunk.sequence);
  }
  if (gone.empty()) return kept;
  const auto forget = [&](const SpooledChunk& chunk) { return gone.contains(chunk.sequence); };
  std::erase_if(kept, forget);
  const std::lock_guard lock(mutex);
  std::erase_if(list, forget);
  return kept;
}

std::string Spool::State::NextStagedPath() {
  const std::lock_guard lock(mutex);
  return std::string(kStagingDirectory) + '/' + std::to_string(next_staged++);
}

void Spool::State::Hold(std::uint64_t sequence, std::shared_ptr<File> file) {
  held.emplace(sequence, std::move(file));
  held_order.push_back(sequence);
  if (held_order.size() <= std::min(kMaxHeld, options.max_descriptors / 4)) return;
  held.erase(held_order.front());
  held_order.pop_front();
}

SpoolDirectory* Spool::State::FindDirectory(const std::string& dataset) {
  const auto found = directories.find(dataset);
  return found == directories.end() ? nullptr : &found->second;
}

SpoolVersion* Spool::State::FindVersion(const SpooledChunk& chunk) {
  SpoolDirectory* const directory = FindDirectory(chunk.dataset);
  if (directory == nullptr) return nullptr;
  const auto versions = directory->chunks.find(chunk.chunk);
  if (versions == directory->chunks.end()) return nullptr;
  const auto found =
      std::find_if(versions->second.begin(), versions->second.end(),
                   [&](const SpoolVersion& version) { return version.sequence == chunk.sequence; });
  return found == versions->second.end() ? nullptr : &*found;
}

bool Spool::State::ForgetVersion(SpoolDirectory& directory, const SpooledChunk& chunk) {
  const auto versions = directory.chunks.find(chunk.chunk);
  if (versions == directory.chunks.end()) return false;
  const auto forgotten = std::erase_if(versions->second, [&](const SpoolVersion& version) {
    return version.sequence == chunk.sequence;
  });
  if (versions->second.empty()) directory.chunks.erase(versions);
  superseded.erase(chunk.sequence);
  held.erase(chunk.sequence);
  if (forgotten == 0) return false;
  usage.files -= 1;
  usage.bytes -= chunk.size;
  Counted();
  return true;
}

std::unique_ptr<StagedFile::State> Spool::State::StageSpare() {
  std::string path;
  {
    const std::lock_guard lock(mutex);
    if (spare_files.empty()) return nullptr;
    path = std::move(spare_files.back());
    spare_files.pop_back();
  }
  auto file = files->Open(path, {.write = true});
  if (!file || !*file) return nullptr;
  return std::make_unique<StagedFile::State>(*this, path, *std::move(file));
}

Result<std::unique_ptr<StagedFile::State>> Spool::State::StageNew() {
  const std::string path = NextStagedPath();
  UNSHARD_ASSIGN_OR_RETURN(auto file,
                           files->Open(path, {.write = true, .create = true, .exclusive = true}));
  return std::make_unique<StagedFile::State>(*this, path, std::move(file));
}

bool Spool::State::Recycle(const SpooledChunk& chunk) {
  std::shared_ptr<File> file;
  {
    const std::lock_guard lock(mutex);
    const SpoolVersion* const version = FindVersion(chunk);
    // What is superseded cannot be opened any more: its readers only become fewer.
    if (version == nullptr || !version->superseded || version->readers.use_count() != 1) {
      return false;
    }
    // What the disk did not take once it may refuse again.
    if (version->durability == Durability::kLost) return false;
    if (spare_files.size() >= kMaxSpareFiles) return false;
    // No other thread uses it: the version has no readers, and is not being synced.
    if (const auto open = held.find(chunk.sequence); open != held.end()) {
      file = std::move(open->second);
      held.erase(open);
    }
  }
  const std::string path = NextStagedPath();
  if (!files->Rename(SealedPath(kChunksDirectory, chunk), path)) return false;
  // Emptied at once, so that bytes which are in the shard by now are not written to the disk; and
  // closed while it is empty: of a file that is written between the two ext4 writes the bytes to
  // the disk when it is closed.
  const bool emptied =
      file ? file->Truncate(0).has_value()
           : files->Open(path, {.write = true, .truncate = true}).value_or(nullptr) != nullptr;
  file.reset();
  if (emptied) {
    const std::lock_guard lock(mutex);
    spare_files.push_back(path);
  } else {
    (void)files->Remove(path);  // or when the spool is opened next
  }
  return true;
}

Status Spool::State::SealAs(SpoolDirectory& directory, StagedFile::State& from,
                            SpooledChunk& sealed) {
  UNSHARD_RETURN_IF_ERROR(from.CheckUnsealed());
  sealed.size = from.size;
  UNSHARD_ASSIGN_OR_RETURN(sealed.checksum, from.Checksum());
  UNSHARD_ASSIGN_OR_RETURN(const FileStatus status, from.file->Stat());
  sealed.committed = status.modified;
  const std::string path = SealedPath(kChunksDirectory, sealed);
  Status renamed = files->Rename(from.path, path);
  if (!renamed && IsGone(renamed.error()) &&
      MakeDatasetDirectory(*files, kChunksDirectory, sealed.dataset)) {
    renamed = files->Rename(from.path, path);
  }
  if (!renamed) return tl::unexpected<Error>(AsRemoved(std::move(renamed).error()));
  from.sealed = true;
  const std::lock_guard lock(mutex);
  auto& versions = directory.chunks[sealed.chunk];
  const auto later =
      std::find_if(versions.begin(), versions.end(),
                   [&](const SpoolVersion& version) { return version.sequence > sealed.sequence; });
  from.reader = versions.insert(later, SpoolVersion{sealed.sequence})->readers;
  Hold(sealed.sequence, from.file);
  return {};
}

Result<SpoolDirectory*> Spool::State::DirectoryOf(const std::string& dataset) {
  const std::string path = std::string(kChunksDirectory) + '/' + DatasetDirectory(dataset);
  std::unique_lock lock(mutex);
  if (!directories.contains(dataset)) {
    const auto same = std::find_if(directories.begin(), directories.end(),
                                   [&](const auto& other) { return other.second.path == path; });
    // Two long paths that begin alike and have the same checksum.
    if (same != directories.end()) {
      return FailErrno(ENAMETOOLONG, dataset + ": a name for this dataset in the spool");
    }
    directories[dataset].path = path;
  }
  SpoolDirectory& directory = directories[dataset];
  changed.wait(lock, [&] { return !directory.making; });
  if (directory.made) return &directory;
  directory.making = true;
  lock.unlock();
  auto made =
      CatchExceptions([&] { return MakeDatasetDirectory(*files, kChunksDirectory, dataset); });
  lock.lock();
  directory.making = false;
  directory.made = made.has_value();
  changed.notify_all();
  if (!made) return tl::unexpected<Error>(AsRemoved(std::move(made).error()));
  return &directory;
}

Status Spool::State::SyncRound(SpoolDirectory& directory) {
  std::unique_lock lock(mutex);
  const std::uint64_t wanted = directory.round_begun + 1;
  changed.wait(lock, [&] { return !directory.round_running || directory.round_done >= wanted; });
  if (directory.round_done >= wanted) return {};
  const std::uint64_t round = ++directory.round_begun;
  const std::uint64_t sealed_until = next_sequence;
  directory.round_running = true;
  lock.unlock();
  // An exception counts as a failed fsync, which it may have followed.
  auto synced = CatchExceptions([&] { return files->SyncDirectory(directory.path); });
  lock.lock();
  directory.round_running = false;
  if (synced) {
    directory.round_done = round;
  } else if (!FoundNoDescriptor(synced.error())) {
    directory.doubtful_below = sealed_until;
  }
  changed.notify_all();
  return synced;
}

}  // namespace unshard
