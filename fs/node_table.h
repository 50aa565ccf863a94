// Nodes that are no grid cells: directories and files of the source, metadata documents, id-keyed
// chunks, control files. Lives as long as the kernel refers to it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "fs/tree/chunk_tree.h"
#include "fs/tree/node_id.h"
#include "fs/write/node_choice.h"
#include "fs/write/scratch_files.h"
#include "fs/write/staged_inode.h"
#include "fs/write/written_chunks.h"
#include "store/object/object_store.h"

namespace unshard {

// A directory of the source, or one that only keys of a dataset need.
struct DirectoryTarget {
  std::string path;
  bool opaque = false;  // nothing below is a dataset
};
// A directory inside a chunk tree whose position does not fit a node number.
struct GridDirectoryTarget {
  std::shared_ptr<ChunkTree> tree;
  GridDirectory directory;
};
// A file of the source as it is; one generation of it.
struct FileTarget {
  std::string path;
  ObjectInfo info;
};
// Text that stands in memory: a rewritten document, or one snapshot of a control file.
struct DocumentTarget {
  std::string path;
  std::shared_ptr<const std::string> text;
  timespec modified{};
  bool control = false;
};
// A chunk without an arithmetic number, in the generation of its shard with this count, to which
// each of the node's references is a reference.
struct ChunkTarget {
  std::shared_ptr<ChunkTree> tree;
  ChunkRef chunk;
  std::uint32_t generation_count = 0;
  NodeUse use = NodeUse::kCached;
};
// A chunk file as it was written through this mount; one version of it.
struct WrittenTarget {
  WrittenVersionPtr version;
  ContentPtr gzipped;  // "<chunk>.gz" of this version; null: the chunk itself
  NodeUse use = NodeUse::kCached;
};
// A file that is being written.
struct StagedTarget {
  std::shared_ptr<StagedInode> staged;
};
// The name of a chunk that is being written and has no committed version: it can be removed, and be
// opened for writing. Nobody reads what is not committed.
struct UncommittedTarget {
  std::shared_ptr<StagedInode> staged;
  std::shared_ptr<ChunkTree> tree;
  ChunkRef chunk;
};
// A file of the source on a writable mount: whatever stands in the file, which others write to.
struct LiveFileTarget {
  std::string path;  // where it was found first
};
// The directory .unshard.
struct ControlDirectoryTarget {};
struct ScratchDirectoryTarget {
  ScratchDirectoryPtr directory;
};

using NodeTarget = std::variant<DirectoryTarget, GridDirectoryTarget, FileTarget, DocumentTarget,
                                ChunkTarget, ControlDirectoryTarget, WrittenTarget, StagedTarget,
                                UncommittedTarget, LiveFileTarget, ScratchDirectoryTarget>;

struct TableNode {
  NodeId id = 0;
  std::string identity;
  std::uint64_t inode = 0;
  NodeTarget target;

  // Keeps a file open from its first read on, so that who holds the node keeps its bytes.
  mutable std::mutex mutex;
  mutable std::shared_ptr<ObjectVersion> handle;  // guarded by mutex
  // A live file: where it was found last, and the file while anybody has it open.
  mutable std::string live_path;          // guarded by mutex
  mutable std::weak_ptr<File> live_file;  // guarded by mutex
  // A chunk's node that nobody else is given: the version that was looked up
  // (fs/write/node_choice.h).
  mutable std::weak_ptr<ChunkContent> held;  // guarded by mutex
};

// Thread-safe.
class NodeTable {
 public:
  NodeTable();

  // The node of `identity`, made if there is none, with one more reference of the kernel's. Two
  // nodes never share an identity; it says what the node is and of which generation. `inode_name`
  // is the part of it that st_ino follows.
  std::shared_ptr<const TableNode> Refer(const std::string& identity, const std::string& inode_name,
                                         NodeTarget target);
  // The same with a given st_ino.
  std::shared_ptr<const TableNode> Refer(const std::string& identity, std::uint64_t inode,
                                         NodeTarget target);
  // One more reference to a node that the kernel refers to; false where it does not.
  bool ReferAgain(NodeId id);
  // Null where the kernel holds no reference. The root is always there.
  std::shared_ptr<const TableNode> Get(NodeId id) const;
  // The node of an identity, if the kernel refers to it.
  std::optional<NodeId> Find(const std::string& identity) const;
  void Forget(NodeId id, std::uint64_t references);
  // A directory or file of the source was renamed, and `to` replaced: the nodes at and below `from`
  // have new paths, as the kernel takes its dentries along. The new paths of the directories.
  using OpaqueAt = std::function<bool(const std::string& path)>;
  std::vector<std::string> Move(const std::string& from, const std::string& to,
                                const OpaqueAt& opaque);
  // The node of this identity stands for something that was removed; what is found there next gets
  // another one.
  void Disown(const std::string& identity);
  // The paths of all directories and files of the source that the kernel refers to.
  [[nodiscard]] std::vector<std::string> SourcePaths() const;
  [[nodiscard]] std::size_t size() const;

 private:
  void DisownFrom(const std::string& directory);  // at and below; requires the mutex
  struct Slot {
    std::shared_ptr<TableNode> node;
    std::uint64_t references = 0;
  };
  mutable std::mutex mutex_;
  std::unordered_map<NodeId, Slot> nodes_;               // guarded by mutex_
  std::unordered_map<std::string, NodeId> by_identity_;  // guarded by mutex_
  NodeId next_ = kRootNode;                              // guarded by mutex_
};

}  // namespace unshard
