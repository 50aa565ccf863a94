// The directory .unshard and the files in it, which report the state of the mount.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "fs/tree/control_files.h"
#include "fs/tree/name.h"
#include "fs/tree/node.h"
#include "fs/tree/text_node.h"

namespace unshard {

class ControlDirectory final : public Directory {
 public:
  using Directory::Directory;
  [[nodiscard]] std::string Path() const override { return std::string(kControlDirectory); }
  Result<std::unique_ptr<Name>> Find(std::string_view name) override;
  Status List(const Listing& listing) override;
  [[nodiscard]] bool ListingIsKept() const override;

 protected:
  Result<Entry> Stat() override;
};

// The text of a control file as it was when it was looked up.
class ControlFile final : public TextNode {
 public:
  ControlFile(Superblock& superblock, NodeId id, const std::string& path, std::string text);
  Result<OpenFilePtr> Open(const OpenRequest& request) override;

 protected:
  Result<Entry> Stat() override;
};

// ".unshard" in the root.
class ControlName final : public Name {
 public:
  using Name::Name;
  Result<Entry> Lookup(pid_t thread) override;
};

}  // namespace unshard
