#include "store/local/named_file.h"

namespace unshard {

Result<bool> IsNamed(FileSystem& files, const std::string& path, File& file) {
  UNSHARD_ASSIGN_OR_RETURN(const FileStatus ours, file.Stat());
  UNSHARD_ASSIGN_OR_RETURN(const auto named, files.Stat(path));
  return named && IsSameFile(*named, ours);
}

}  // namespace unshard
