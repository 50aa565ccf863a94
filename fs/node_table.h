// Nodes that are no grid cells: directories and files of the source, metadata documents, id-keyed
// chunks, control files. Lives as long as the kernel refers to it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "fs/chunk_tree.h"
#include "fs/node_id.h"
#include "fs/staged_inode.h"
#include "fs/written_chunks.h"
#include "store/kv_store.h"

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
};
// A chunk file as it was written through this mount; one version of it.
struct WrittenTarget {
  WrittenVersionPtr version;
  ContentPtr gzipped;  // "<chunk>.gz" of this version; null: the chunk itself
};
// A file that is being written.
struct StagedTarget {
  std::shared_ptr<StagedInode> staged;
};
// A chunk that `thread` is expected to write next (fs/write_streaks.h).
struct PromisedTarget {
  std::shared_ptr<ChunkTree> tree;
  ChunkRef chunk;
  std::uint64_t size = 0;  // what the kernel was told
  pid_t thread = 0;
};
// A file of the source on a writable mount: whatever stands in the file, which others write to.
struct LiveFileTarget {
  std::string path;  // where it was found first
};
// The directory .unshard.
struct ControlDirectoryTarget {};

using NodeTarget = std::variant<DirectoryTarget, GridDirectoryTarget, FileTarget, DocumentTarget,
                                ChunkTarget, ControlDirectoryTarget, WrittenTarget, StagedTarget,
                                PromisedTarget, LiveFileTarget>;

struct TableNode {
  NodeId id = 0;
  std::string identity;
  std::uint64_t inode = 0;
  NodeTarget target;

  // Keeps a file open from its first read on, so that who holds the node keeps its bytes.
  mutable std::mutex mutex;
  mutable std::shared_ptr<ObjectHandle> handle;  // guarded by mutex
  // A live file: where it was found last, and the file while anybody has it open.
  mutable std::string live_path;          // guarded by mutex
  mutable std::weak_ptr<File> live_file;  // guarded by mutex
  // A promised chunk: the file that is being written, once it is.
  mutable std::shared_ptr<StagedInode> begun;  // guarded by mutex
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
  // The paths of all directories and files of the source that the kernel refers to.
  [[nodiscard]] std::vector<std::string> SourcePaths() const;
  [[nodiscard]] std::size_t size() const;

 private:
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
