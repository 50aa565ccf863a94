#include "fs/tree/control.h"

#include <algorithm>

#include "fs/tree/listing.h"
#include "fs/tree/schema_files.h"
#include "fs/tree/superblock.h"
#include "store/object/time_now.h"

namespace unshard {
namespace {

constexpr std::string_view kIdentity = "control";

std::string PathOfFile(std::string_view name) { return JoinPath(kControlDirectory, name); }

// A name in .unshard: each look-up of a control file makes a snapshot of its text.
class ControlFileName final : public Name {
 public:
  using Name::Name;
  Result<Entry> Lookup(pid_t) override {
    auto text = ControlFileText(superblock(), name());
    if (!text) return Entry{0, {}, kDayMilliseconds};
    const std::string identity = "s:" + std::to_string(++superblock().control_snapshots);
    const NodePtr node = superblock().nodes.ReferControl(identity, [&](NodeId id) {
      return std::make_shared<ControlFile>(superblock(), id, path(), *std::move(text));
    });
    return node->AttributesNow();
  }
};

}  // namespace

Result<Entry> ControlName::Lookup(pid_t) {
  const NodePtr node = superblock().nodes.ReferControl(std::string(kIdentity), [&](NodeId id) {
    return std::make_shared<ControlDirectory>(superblock(), id, StableInode(kIdentity));
  });
  return node->AttributesNow();
}

Result<NamePtr> ControlDirectory::Find(std::string_view name) {
  const std::string here(kControlDirectory);
  if (name == kSchemaDirectory) {
    return std::make_unique<SchemaDirectoryName>(superblock(), here, name, "");
  }
  if (name == std::string(kSchemaDirectory) + std::string(kSchemaSuffix)) {
    return std::make_unique<SchemaFileName>(superblock(), here, name, "");
  }
  return std::make_unique<ControlFileName>(superblock(), std::string(kControlDirectory), name);
}

Result<Entry> ControlDirectory::Stat() {
  return Entry{id(), {inode(), 0, superblock().mount_time, true}, kDayMilliseconds};
}

// More arrays may be found.
bool ControlDirectory::ListingIsKept() const { return false; }

Status ControlDirectory::List(const Listing& listing) {
  if (!ListDots(inode(), listing)) return {};
  std::vector<std::string> names = ControlFileNames();
  const std::size_t files = names.size();
  for (std::string& name : SchemaNames(superblock())) names.push_back(std::move(name));
  for (std::uint64_t at = std::max(listing.cookie, kAfterDots) - kAfterDots; at < names.size();
       ++at) {
    const std::uint64_t inode_of_name = StableInode(PathOfFile(names[at]));
    const std::uint64_t next = at + 1 + kAfterDots;
    const bool directory = at >= files && names[at] == kSchemaDirectory;
    if (!listing.visitor({names[at], inode_of_name, directory, next, std::nullopt})) return {};
  }
  return {};
}

ControlFile::ControlFile(Superblock& superblock, NodeId id, const std::string& path,
                         std::string text)
    : TextNode(superblock, id, StableInode(path), path,
               std::make_shared<const std::string>(std::move(text)), TimeNow()) {}

Result<Entry> ControlFile::Stat() {
  return Entry{id(), {inode(), text()->size(), modified(), false, 1, true}, 0};
}

Result<OpenFilePtr> ControlFile::Open(const OpenRequest& request) {
  if (request.write) return Fail(ErrorCode::kReadOnly, "control files are read-only");
  return std::make_unique<OpenContent>(id(), request, text(), nullptr);
}

}  // namespace unshard
