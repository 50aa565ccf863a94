#include "store/volume/spool_folder.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "store/local/file_system.h"
#include "store/local/posix_file_system.h"
#include "store/local/private_folder.h"
#include "store/local/source_identity.h"
#include "store/object/key.h"
#include "store/object/log.h"
#include "store/source/source.h"
#include "store/spool/spool_contents.h"

namespace unshard {
namespace {

constexpr int kMostSpools = 10000;

std::string FolderOf(const VolumeOptions& options) {
  return options.spool.empty() ? DefaultSpoolFolder() : options.spool;
}

// The spool `name` in a folder that was checked.
Result<std::shared_ptr<Spool>> OpenSpool(FileSystem& folder, const std::string& name,
                                         const VolumeOptions& options,
                                         const SourceIdentity& identity) {
  UNSHARD_ASSIGN_OR_RETURN(auto files,
                           OpenBelow(folder, name, NewFiles::kPrivate, Directories::kKeptOpen));
  SpoolOptions spool_options;
  spool_options.source = options.source;
  spool_options.identity = identity;
  spool_options.max_bytes = options.spool_bytes;
  spool_options.max_files = options.spool_files;
  // Half of the descriptors are for shards; the others are for commits and publishes.
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) spool_options.max_descriptors = limit.rlim_cur / 4;
  UNSHARD_ASSIGN_OR_RETURN(auto spool, Spool::Open(std::move(files), spool_options));
  return std::shared_ptr<Spool>(std::move(spool));
}

constexpr const char* kWayOut = "name another with -o spool=DIR, or mount with -o ro";

// A new folder with a name that a person recognises, durable.
Result<std::string> MakeSpoolDirectory(FileSystem& files, const VolumeOptions& options) {
  std::string stem = BaseName(options.source);
  if (stem.empty()) stem = "root";
  for (int i = 1; i <= kMostSpools; ++i) {
    std::string name = stem + "-" + std::to_string(i);
    UNSHARD_ASSIGN_OR_RETURN(const bool made, files.MakeDirectory(name));
    if (!made) continue;
    UNSHARD_RETURN_IF_ERROR(files.SyncDirectory(""));
    return name;
  }
  return Fail(ErrorCode::kResourceExhausted, files.Describe(""), ": holds ", kMostSpools,
              " spools of sources with this name");
}

// Whether this is a dead mount's spool of our source, which may have had another path then; says so
// where only the path is the same.
bool IsLeftOver(const FoundSpool& found, const SpoolOwner& ours, const std::string& path) {
  if (found.alive) return false;
  const auto why = WhyOfAnotherSource(found.record, ours);
  if (why && found.source == ours.source) {
    LogWarning(path + ": left alone: " + *why + "; `unshard spool export` copies its chunks");
  }
  return !why;
}

// Whether a dead mount of a directory above our source or below it left this spool, and that is
// still the directory that it was.
bool IsLeftAround(const FoundSpool& found, const VolumeOptions& ours) {
  if (found.alive) return false;
  if (!IsAtOrBelow(found.source, ours.source) && !IsAtOrBelow(ours.source, found.source)) {
    return false;
  }
  VolumeOptions theirs = ours;
  theirs.source = found.source;
  theirs.url = IsUrl(found.source) ? found.source : "";
  const auto identity = IdentifyVolume(theirs);
  return identity && !WhyOfAnotherSource(found.record, ThisProcess(found.source, *identity));
}

// True where the spool `name`, which is open, held nothing and is gone.
Result<bool> RemoveIfEmpty(FileSystem& folder, const std::string& name, Spool& spool) {
  UNSHARD_ASSIGN_OR_RETURN(const bool emptied, spool.RemoveIfEmpty());
  if (!emptied) return false;
  UNSHARD_RETURN_IF_ERROR(folder.Remove(name));
  UNSHARD_RETURN_IF_ERROR(folder.SyncDirectory(""));
  return true;
}

}  // namespace

std::string DefaultSpoolFolder() {
  // The specification of these folders has relative ones ignored.
  const auto absolute = [](const char* name) {
    const char* value = getenv(name);
    return value != nullptr && *value == '/' ? std::string(value) : std::string();
  };
  if (const std::string state = absolute("XDG_STATE_HOME"); !state.empty()) {
    return state + "/unshard/spool";
  }
  const std::string home = absolute("HOME");
  return home.empty() ? "/var/lib/unshard/spool" : home + "/.local/state/unshard/spool";
}

Result<OpenedSpools> OpenSpools(const VolumeOptions& options) {
  const std::string folder = FolderOf(options);
  // Else other users could read committed chunks of a source that they may not read, and alter
  // them.
  UNSHARD_ASSIGN_OR_RETURN(const std::shared_ptr<FileSystem> files,
                           MakePrivateFolder({folder, "spool folder", kWayOut}));
  UNSHARD_ASSIGN_OR_RETURN(const SourceIdentity identity, IdentifyVolume(options));
  const SpoolOwner ours = ThisProcess(options.source, identity);
  OpenedSpools opened;
  opened.folder = files;
  UNSHARD_ASSIGN_OR_RETURN(const auto found, FindSpools(*files));
  for (const FoundSpool& one : found) {
    const std::string path = folder + "/" + one.path;
    if (!IsLeftOver(one, ours, path)) continue;
    auto spool = OpenSpool(*files, one.path, options, identity);
    if (!spool) {
      // Another mount was faster, or the spool is damaged in a way that a person should examine.
      LogWarning(spool.error().message);
      continue;
    }
    opened.spools.push_back(*std::move(spool));
    opened.paths.push_back(path);
  }
  if (opened.spools.empty()) {
    UNSHARD_ASSIGN_OR_RETURN(const std::string name, MakeSpoolDirectory(*files, options));
    UNSHARD_ASSIGN_OR_RETURN(auto spool, OpenSpool(*files, name, options, identity));
    opened.spools.push_back(std::move(spool));
    opened.paths.push_back(folder + "/" + name);
  }
  return opened;
}

void RemoveEmptySpools(const OpenedSpools& opened) {
  for (std::size_t i = 0; i < opened.spools.size(); ++i) {
    const auto removed =
        RemoveIfEmpty(*opened.folder, BaseName(opened.paths[i]), *opened.spools[i]);
    // A spool that was deleted behind our back is gone, as it should be.
    if (!removed && removed.error().system_errno != ENOENT) LogWarning(removed.error().message);
  }
}

Result<bool> RemoveEmptySpool(FileSystem& folder, const FoundSpool& left) {
  UNSHARD_ASSIGN_OR_RETURN(
      auto files, OpenBelow(folder, left.path, NewFiles::kPrivate, Directories::kKeptOpen));
  SpoolOptions options;
  options.source = left.source;
  options.identity = left.record.identity;
  const auto spool = Spool::Open(std::move(files), options);
  if (!spool && spool.error().code == ErrorCode::kUnavailable) return false;
  if (!spool) return tl::unexpected<Error>(spool.error());
  if (!(*spool)->TakeAttempts().empty()) return false;
  return RemoveIfEmpty(folder, left.path, **spool);
}

std::vector<LeftChunks> ChunksLeftBehind(const VolumeOptions& options) {
  const std::string folder = FolderOf(options);
  const auto files = OpenPosixFileSystem(folder);
  if (!files) return {};  // none was ever made here
  const auto identity = IdentifyVolume(options);
  const auto found = FindSpools(**files);
  if (!identity || !found) return {};
  const SpoolOwner ours = ThisProcess(options.source, *identity);
  std::vector<LeftChunks> all;
  for (const FoundSpool& one : *found) {
    const std::string path = folder + "/" + one.path;
    const bool is_own = IsLeftOver(one, ours, path);
    if (!is_own && !IsLeftAround(one, options)) continue;
    const auto contents = ReadSpool(path);
    if (!contents) continue;
    LeftChunks left{path, one.source};
    for (const SpoolFile& file : contents->chunks) {
      const std::string chunk = JoinPath(file.chunk.dataset, file.chunk.chunk);
      if (!is_own && !IsAtOrBelow(JoinPath(one.source, chunk), options.source) &&
          !IsAtOrBelow(one.source, options.source)) {
        continue;
      }
      ++left.count;
      left.bytes += file.chunk.size;
    }
    if (left.count > 0) all.push_back(std::move(left));
  }
  return all;
}

}  // namespace unshard
