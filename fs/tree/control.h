// The directory .unshard and the files in it, which tell how the mount is doing.
#pragma once

#include <ctime>
#include <memory>
#include <string>
#include <string_view>

#include "fs/tree/control_files.h"
#include "fs/tree/name.h"
#include "fs/tree/node.h"

namespace unshard {

class ControlDirectory final : public Directory {
 public:
  using Directory::Directory;
  [[nodiscard]] std::string Path() const override { return std::string(kControlDirectory); }
  [[nodiscard]] bool is_control() const override { return true; }
  Result<std::unique_ptr<Name>> Find(std::string_view name) override;
  Status List(const Listing& listing) override;
  [[nodiscard]] bool ListingIsKept() const override;

 protected:
  Result<Entry> Stat() override;
};

// The text of a control file as it was when it was looked up.
class ControlFile final : public Node {
 public:
  ControlFile(Superblock& superblock, NodeId id, std::string path, std::string text);
  [[nodiscard]] std::string Path() const override { return path_; }
  [[nodiscard]] bool is_control() const override { return true; }
  Result<OpenFilePtr> Open(const OpenRequest& request) override;
  Result<FilePiece> Read(std::uint64_t offset, std::uint64_t size) override;

 protected:
  Result<Entry> Stat() override;

 private:
  const std::string path_;
  const ContentPtr text_;
  const timespec made_;
};

// ".unshard" in the root.
class ControlName final : public Name {
 public:
  using Name::Name;
  Result<Entry> Lookup(pid_t thread) override;
};

}  // namespace unshard
