#include "fs/tree/schema_files.h"

#include "codec/json/writer.h"
#include "fs/tree/control.h"
#include "fs/tree/superblock.h"
#include "store/dataset/schema_reading.h"

namespace unshard {
namespace {

const DatasetIndex& IndexOf(const Superblock& superblock) {
  return superblock.parts.datasets->index();
}

std::string PresentedPath(const std::string& arrays) {
  return JoinPath(JoinPath(kControlDirectory, kSchemaDirectory), arrays);
}

}  // namespace

std::vector<std::string> SchemaNames(Superblock& superblock) {
  std::vector<std::string> names;
  if (IndexOf(superblock).HasArraysBelow("")) names.emplace_back(kSchemaDirectory);
  if (IndexOf(superblock).HasArray("")) {
    names.push_back(std::string(kSchemaDirectory) + std::string(kSchemaSuffix));
  }
  return names;
}

std::string SchemaDirectory::Path() const { return PresentedPath(arrays()); }

Result<std::unique_ptr<Name>> SchemaDirectory::Find(std::string_view name) {
  if (name.size() > kSchemaSuffix.size() && name.ends_with(kSchemaSuffix)) {
    const std::string_view array = name.substr(0, name.size() - kSchemaSuffix.size());
    return std::make_unique<SchemaFileName>(superblock(), Path(), name, JoinPath(arrays(), array));
  }
  return std::make_unique<SchemaDirectoryName>(superblock(), Path(), name,
                                               JoinPath(arrays(), name));
}

Result<Entry> SchemaDirectory::Stat() {
  return Entry{id(), {inode(), 0, superblock().mount_time, true}, kDayMilliseconds};
}

Status SchemaDirectory::List(const Listing& listing) {
  const auto files_of = [](const std::string& array) -> std::vector<std::string> {
    if (array.empty()) return {};  // its schema is beside this directory
    return {BaseName(array) + std::string(kSchemaSuffix)};
  };
  return ListArrays([&] { return IndexOf(superblock()).ArraysIn(arrays()); }, files_of, listing);
}

Result<Entry> SchemaFileName::Lookup(pid_t) {
  Superblock& sb = superblock();
  UNSHARD_ASSIGN_OR_RETURN(const auto schema,
                           ReadSchema(*sb.parts.store, array_, CallerDeadline()));
  if (!schema) return Entry{0, {}, 0};
  const std::string identity = "s:" + std::to_string(++sb.control_snapshots);
  const NodePtr node = sb.nodes.ReferControl(identity, [&](NodeId id) {
    return std::make_shared<ControlFile>(sb, id, path(), WriteJson(*schema) + "\n");
  });
  return node->AttributesNow();
}

Result<Entry> SchemaDirectoryName::Lookup(pid_t) {
  Superblock& sb = superblock();
  if (!IndexOf(sb).HasArraysBelow(arrays_)) return Entry{0, {}, 0};
  const std::string identity = "schemas:" + arrays_;
  const NodePtr node = sb.nodes.ReferControl(identity, [&](NodeId id) {
    return std::make_shared<SchemaDirectory>(sb, id, StableInode(path()), arrays_);
  });
  return node->AttributesNow();
}

}  // namespace unshard
