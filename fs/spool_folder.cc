#include "fs/spool_folder.h"

#include <filesystem>
#include <system_error>

#include "fs/paths.h"
#include "store/file_system.h"
#include "store/log.h"

namespace unshard {
namespace {

constexpr int kMostSpools = 10000;

Result<std::shared_ptr<Spool>> OpenSpool(const std::string& path, const MountOptions& options) {
  UNSHARD_ASSIGN_OR_RETURN(auto files, OpenPosixFileSystem(path));
  SpoolOptions spool_options;
  spool_options.source = options.source;
  spool_options.max_bytes = options.spool_bytes;
  spool_options.max_files = options.spool_files;
  UNSHARD_ASSIGN_OR_RETURN(auto spool, Spool::Open(std::move(files), spool_options));
  return std::shared_ptr<Spool>(std::move(spool));
}

Status MakeFolder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error) return {};
  return FailErrno(error.value(), "making the spool folder " + folder +
                                      " (option spool=DIR names another, ro needs none)");
}

// A new folder with a name that a person recognises.
Result<std::string> MakeSpoolDirectory(FileSystem& files, const MountOptions& options) {
  std::string stem = BaseName(options.source);
  if (stem.empty()) stem = "root";
  for (int i = 1; i <= kMostSpools; ++i) {
    std::string name = stem + "-" + std::to_string(i);
    UNSHARD_ASSIGN_OR_RETURN(const bool made, files.MakeDirectory(name));
    if (made) return name;
  }
  return Fail(ErrorCode::kResourceExhausted, files.Describe("") + ": holds " +
                                                 std::to_string(kMostSpools) +
                                                 " spools of sources with this name");
}

}  // namespace

Result<VolumeFs::Writing> OpenSpools(const MountOptions& options) {
  const std::string folder = options.spool.empty() ? DefaultSpoolFolder() : options.spool;
  UNSHARD_RETURN_IF_ERROR(MakeFolder(folder));
  UNSHARD_ASSIGN_OR_RETURN(const auto files, OpenPosixFileSystem(folder));
  VolumeFs::Writing writing;
  UNSHARD_ASSIGN_OR_RETURN(const auto found, FindSpools(*files));
  for (const FoundSpool& one : found) {
    if (one.alive || one.source != options.source) continue;
    auto spool = OpenSpool(folder + "/" + one.path, options);
    if (!spool) {
      // Another mount was faster, or something is wrong with it that a person should look at.
      LogWarning(spool.error().message);
      continue;
    }
    writing.spools.push_back(*std::move(spool));
    writing.paths.push_back(folder + "/" + one.path);
  }
  if (writing.spools.empty()) {
    UNSHARD_ASSIGN_OR_RETURN(const std::string name, MakeSpoolDirectory(*files, options));
    UNSHARD_ASSIGN_OR_RETURN(auto spool, OpenSpool(folder + "/" + name, options));
    writing.spools.push_back(std::move(spool));
    writing.paths.push_back(folder + "/" + name);
  }
  return writing;
}

void RemoveEmptySpools(const VolumeFs::Writing& writing) {
  for (std::size_t i = 0; i < writing.spools.size(); ++i) {
    Spool& spool = *writing.spools[i];
    if (spool.usage().files != 0 || !spool.Conflicts().empty()) continue;
    std::error_code error;
    std::filesystem::remove_all(writing.paths[i], error);
    if (error) LogWarning("removing " + writing.paths[i] + ": " + error.message());
  }
}

}  // namespace unshard
