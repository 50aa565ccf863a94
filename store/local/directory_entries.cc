#include "store/local/directory_entries.h"

#include <cerrno>
#include <memory>
#include <string_view>

namespace unshard {
namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

}  // namespace

Status ForEachEntry(FileDescriptor directory, std::uint64_t resume, const std::string& described,
                    const std::function<Result<bool>(const dirent& entry)>& visitor) {
  const std::unique_ptr<DIR, CloseDirectory> open(::fdopendir(directory.get()));
  if (!open) return FailErrno(errno, described + ": listing");
  directory.Release();
  if (resume != 0) ::seekdir(open.get(), static_cast<long>(resume));
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(open.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    UNSHARD_ASSIGN_OR_RETURN(const bool more, visitor(*entry));
    if (!more) return {};
  }
  if (errno != 0) return FailErrno(errno, described + ": listing");
  return {};
}

}  // namespace unshard
