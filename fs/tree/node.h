// The file or directory of a node number: one class for each kind. Callers ask a Node, never what
// kind it is.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/core/error.h"
#include "fs/tree/entry.h"
#include "fs/write/open_file.h"
#include "fs/write/open_versions.h"
#include "fs/write/staged_inode.h"

namespace unshard {

class Directory;
class Name;
class Node;
struct Superblock;
using NodePtr = std::shared_ptr<Node>;

// Thread-safe. A failure with kConflict and without a message (StaleName) asks the kernel to look
// the name up again, and is no error. The superblock outlives its nodes.
class Node {
 public:
  // `inode`: st_ino.
  Node(Superblock& superblock, NodeId id, std::uint64_t inode)
      : superblock_(superblock), id_(id), inode_(inode) {}
  virtual ~Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  [[nodiscard]] NodeId id() const { return id_; }
  [[nodiscard]] std::uint64_t inode() const { return inode_; }
  // Below the mount point, for messages.
  [[nodiscard]] virtual std::string Path() const = 0;

  // GETATTR. While the node is open, the size is that of the version that was opened.
  Result<Entry> GetAttributes();
  // The same without regard to open files.
  Result<Entry> AttributesNow();
  // SETATTR without a staged file. Sizes are refused (kReadOnly) and times ignored, as on file
  // systems that keep none, unless overridden. `file`: the open file it came through, or null.
  virtual Result<Entry> SetAttributes(OpenFile* file, const AttributeChange& change, pid_t thread);
  // The value of user.unshard.*; nothing where the node has no such attribute.
  virtual Result<std::optional<std::string>> ExtendedAttribute(std::string_view name);
  [[nodiscard]] virtual std::vector<std::string> ExtendedAttributes() { return {}; }

  // OPEN on a writable mount, and READ of files that were not opened on a read-only one.
  // Directories fail with kInvalidArgument.
  virtual Result<OpenFilePtr> Open(const OpenRequest& request);
  virtual Result<FilePiece> Read(std::uint64_t offset, std::uint64_t size);
  // OPEN on a read-only mount of a store that does not keep replaced versions: StaleName() where
  // this one is gone, so that the kernel looks the name up once more.
  virtual Status Load() { return {}; }
  // What becomes of its pages at an OPEN of a read-only mount, which makes no OpenFile.
  [[nodiscard]] virtual PageUse PagesAtOpen() const { return PageUse::kKept; }
  // The bytes of a version of a chunk, and the attributes that fstat(2) gives until the release.
  struct Version {
    ContentPtr content;
    OpenVersions::Presented presented;
  };
  // The version that readers get now, where this node is of that version; nothing for all else.
  virtual Result<std::optional<Version>> OpenCurrent();
  // The staged inode that is written at this node; null where it has no writer.
  [[nodiscard]] virtual std::shared_ptr<StagedInode> Staged() const;
  // LINK: gives it the name `to` as well. EPERM unless overridden.
  virtual Result<Entry> LinkTo(Name& to);

  // This node, where it is a directory; null where it is a file.
  [[nodiscard]] virtual Directory* directory() { return nullptr; }
  // The path of the file or directory of the source that it presents; nothing for all other nodes.
  [[nodiscard]] virtual std::optional<std::string> SourcePath() const { return std::nullopt; }
  // Its file or directory has been renamed: returns the node that replaces it in the table, or null
  // where it stays, and knows its new path from now on.
  virtual NodePtr MovedTo(const std::string& path);
  // The kernel gets one more reference to it.
  virtual void ReferAgain() {}
  // The kernel has dropped `references` to it.
  virtual void Forget(std::uint64_t references) { (void)references; }

 protected:
  [[nodiscard]] Superblock& superblock() const { return superblock_; }
  // Attributes of the node itself. Only called where no writer has it.
  virtual Result<Entry> Stat() = 0;

 private:
  // The staged inode that was created at this node, or has taken it over.
  [[nodiscard]] std::shared_ptr<StagedInode> Taker() const;

  Superblock& superblock_;
  const NodeId id_;
  const std::uint64_t inode_;
};

// A directory, which alone decides the meaning of its names.
class Directory : public Node {
 public:
  using Node::Node;
  [[nodiscard]] Directory* directory() override { return this; }

  // The meaning of a name, whether or not there is such a file. Never null.
  virtual Result<std::unique_ptr<Name>> Find(std::string_view name) = 0;
  // LOOKUP: Find, and the name's own look-up. `thread` is the caller's.
  virtual Result<Entry> Lookup(std::string_view name, pid_t thread);
  virtual Status List(const Listing& listing) = 0;
  // Whether the kernel may keep the listing: it is notified of all that changes it.
  [[nodiscard]] virtual bool ListingIsKept() const = 0;
  // fsync of the directory: what was committed in it becomes durable.
  virtual Status Sync() { return {}; }
  // Whether a listing has no names beside "." and "..".
  Result<bool> IsEmpty();
};

}  // namespace unshard
