#include "fs/tree/schema_files.h"

#include <algorithm>
#include <set>
#include <utility>

#include "codec/json/writer.h"
#include "fs/tree/control.h"
#include "fs/tree/listing.h"
#include "fs/tree/superblock.h"
#include "store/dataset/schema_reading.h"

namespace unshard {
namespace {

// The paths of all arrays and scales that have been found.
std::vector<std::string> FoundArrays(Superblock& superblock) {
  std::vector<std::string> paths;
  for (const FoundDataset& found : superblock.parts.datasets->found()) {
    if (!found.shape.empty()) paths.push_back(found.path);
  }
  return paths;
}

// What stands below `directory` of a path below it: "a/b" of "x/a/b" below "x"; "" elsewhere.
std::string_view Below(std::string_view path, const std::string& directory) {
  if (directory.empty()) return path;
  if (path.size() <= directory.size() || !path.starts_with(directory)) return {};
  return path[directory.size()] == '/' ? path.substr(directory.size() + 1) : std::string_view();
}

bool HasArraysBelow(Superblock& superblock, const std::string& directory) {
  const std::vector<std::string> all = FoundArrays(superblock);
  return std::any_of(all.begin(), all.end(),
                     [&](const std::string& path) { return !Below(path, directory).empty(); });
}

std::string ShownPath(const std::string& arrays) {
  return JoinPath(JoinPath(kControlDirectory, kSchemaDirectory), arrays);
}

}  // namespace

std::vector<std::string> SchemaNames(Superblock& superblock) {
  std::vector<std::string> names;
  const std::vector<std::string> all = FoundArrays(superblock);
  if (HasArraysBelow(superblock, "")) names.emplace_back(kSchemaDirectory);
  if (std::find(all.begin(), all.end(), "") != all.end()) {
    names.push_back(std::string(kSchemaDirectory) + std::string(kSchemaSuffix));
  }
  return names;
}

std::string SchemaDirectory::Path() const { return ShownPath(arrays_); }

Result<std::unique_ptr<Name>> SchemaDirectory::Find(std::string_view name) {
  if (name.size() > kSchemaSuffix.size() && name.ends_with(kSchemaSuffix)) {
    const std::string_view array = name.substr(0, name.size() - kSchemaSuffix.size());
    return std::make_unique<SchemaFileName>(superblock(), Path(), name, JoinPath(arrays_, array));
  }
  return std::make_unique<SchemaDirectoryName>(superblock(), Path(), name, JoinPath(arrays_, name));
}

Result<Entry> SchemaDirectory::Stat() {
  return Entry{id(), {inode(), 0, superblock().mount_time, true}, kDayMilliseconds};
}

Status SchemaDirectory::List(const Listing& listing) {
  if (!ListDots(inode(), listing)) return {};
  std::set<std::pair<std::string, bool>> names;  // and whether it is a directory
  for (const std::string& path : FoundArrays(superblock())) {
    const std::string_view below = Below(path, arrays_);
    if (below.empty()) continue;
    const std::size_t end = below.find('/');
    const bool directory = end != std::string_view::npos;
    const std::string name(below.substr(0, end));
    names.emplace(directory ? name : name + std::string(kSchemaSuffix), directory);
  }
  std::uint64_t at = kAfterDots;
  for (const auto& [name, directory] : names) {
    if (++at <= listing.cookie) continue;
    const std::uint64_t inode_of_name = StableInode(JoinPath(Path(), name));
    if (!listing.visitor({name, inode_of_name, directory, at, std::nullopt})) return {};
  }
  return {};
}

Result<Entry> SchemaFileName::Lookup(pid_t) {
  Superblock& sb = superblock();
  UNSHARD_ASSIGN_OR_RETURN(const auto schema,
                           ReadSchema(*sb.parts.store, array_, CallerDeadline()));
  if (!schema) return Entry{0, {}, 0};
  const std::string identity = "s:" + std::to_string(++sb.control_snapshots);
  const NodePtr node = sb.nodes.Refer(identity, [&](NodeId id) {
    return std::make_shared<ControlFile>(sb, id, path(), WriteJson(*schema) + "\n");
  });
  return node->AttributesNow();
}

Result<Entry> SchemaDirectoryName::Lookup(pid_t) {
  Superblock& sb = superblock();
  if (!HasArraysBelow(sb, arrays_)) return Entry{0, {}, 0};
  const std::string identity = "schemas:" + arrays_;
  const NodePtr node = sb.nodes.Refer(identity, [&](NodeId id) {
    return std::make_shared<SchemaDirectory>(sb, id, StableInode(path()), arrays_);
  });
  return node->AttributesNow();
}

}  // namespace unshard
