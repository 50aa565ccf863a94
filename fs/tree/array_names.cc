#include "fs/tree/array_names.h"

#include <set>
#include <string_view>
#include <utility>

#include "fs/tree/listing.h"

namespace unshard {
namespace {

// What stands below `directory` of a path below it: "a/b" of "x/a/b" below "x"; "" elsewhere.
std::string_view Below(std::string_view path, const std::string& directory) {
  if (directory.empty()) return path;
  if (path.size() <= directory.size() || !path.starts_with(directory)) return {};
  return path[directory.size()] == '/' ? path.substr(directory.size() + 1) : std::string_view();
}

}  // namespace

Status ArraysDirectory::ListArrays(const FoundArrays& found, const FilesOfArray& files_of,
                                   const Listing& listing) const {
  if (!ListDots(inode(), listing)) return {};
  const auto collect = [&](std::vector<DirectorySnapshots::Name>& collected) -> Status {
    std::set<std::pair<std::string, bool>> names;  // and whether it is a directory
    for (const std::string& path : found()) {
      const std::string_view below = Below(path, arrays_);
      if (below.empty() && !(path.empty() && arrays_.empty())) continue;
      const std::size_t end = below.find('/');
      if (end != std::string_view::npos) {
        names.emplace(below.substr(0, end), true);
      } else {
        for (std::string& name : files_of(path)) names.emplace(std::move(name), false);
      }
    }
    for (const auto& [name, is_directory] : names) collected.push_back({name, is_directory});
    return {};
  };
  const auto inode_of = [](const std::string& path, bool) { return StableInode(path); };
  UNSHARD_RETURN_IF_ERROR(ListSnapshot(superblock(), Path(), collect, listing, inode_of));
  return {};
}

}  // namespace unshard
