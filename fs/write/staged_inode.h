// A file that is being written through the mount: scratch, the next version of a chunk, or an
// edited metadata document.
#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <variant>

#include "store/chunks/chunk_content.h"
#include "store/chunks/chunk_tree.h"
#include "store/dataset/metadata_documents.h"
#include "store/object/time_now.h"
#include "store/spool/spool.h"

namespace unshard {

// Thread-safe. A lock of its own is held across I/O on its own staged file, and on nothing else:
// writes to one file wait for each other and for its commit.
class StagedInode {
 public:
  struct Scratch {};
  struct Chunk {
    std::shared_ptr<ChunkTree> tree;
    ChunkRef chunk;
    bool gzipped = false;  // written under the name "<chunk>.gz"
  };
  using Document = EditedDocument;
  using Purpose = std::variant<Scratch, Chunk, Document>;

  // `base` is what it holds before anything is written (null: nothing).
  StagedInode(std::shared_ptr<Spool> spool, Purpose purpose, ContentPtr base, std::uint64_t inode);

  // Has a staged file ready for the first write, so that whoever opens it for writing learns that
  // there is none to be had: EMFILE, ENOSPC. It goes with the last who writes.
  Status Reserve();
  Result<FilePiece> Read(std::uint64_t offset, std::uint64_t size);
  Status Write(std::uint64_t offset, ByteSpan bytes);
  Status Truncate(std::uint64_t size);
  // It begins with nothing although something may stand under its name: counts as written to.
  void MarkTruncated();
  // The same, where the kernel may believe that it has a size: it is to ask for each byte.
  void StartOver();
  // Durable, but not committed: for scratch files.
  Status Sync();

  // Open file descriptions on it; Close() returns how many are left. The kernel keeps no pages for
  // who only writes and is alone (kDirect), nor for those who join him: of some kernels direct
  // writes leave pages of the past behind.
  enum class Opened { kEnded, kCached, kDirect };
  [[nodiscard]] Opened Open(bool reads, bool writable);
  std::uint64_t Close(bool writable);
  // One of those who write has closed its file (`flushed` is that file's), or goes on writing.
  void SetFlushed(bool& flushed, bool now);
  // All who have it open for writing have closed it, and their releases are on their way.
  [[nodiscard]] bool all_flushed() const;
  [[nodiscard]] std::uint64_t opens() const;
  [[nodiscard]] std::uint64_t writers() const;
  // Somebody could read where others wrote directly: the kernel may have pages of the past.
  [[nodiscard]] bool pages_doubtful() const;
  // Who is about to open it holds it until then. Hold() is false where it has ended.
  [[nodiscard]] bool Hold();
  void LetGo();
  // Nobody has it open and it has no name of its own any more: lets its bytes go, which a committed
  // version has. From then on it cannot be opened. False, and nothing happens, where somebody has
  // opened it, or is about to.
  bool End();
  [[nodiscard]] bool ended() const;

  [[nodiscard]] std::uint64_t inode() const { return inode_; }
  // The kernel's node of it. Set once: before others know this object, or by the first look-up.
  void SetNode(std::uint64_t node) { node_ = node; }
  [[nodiscard]] std::uint64_t node() const { return node_; }
  [[nodiscard]] std::uint64_t size() const;
  [[nodiscard]] timespec modified() const;
  void SetModified(const timespec& modified);
  // Held while its purpose changes, and while it is opened or closed, together with the counting of
  // writers: whoever counts as a writer of a chunk is counted out of the same one.
  [[nodiscard]] std::mutex& counting() { return counting_; }
  [[nodiscard]] Purpose purpose() const;
  // A scratch file becomes a chunk or a document by being renamed onto its name.
  void SetPurpose(Purpose purpose);
  // Written to since it was last committed.
  [[nodiscard]] bool dirty() const;

  // Runs `commit` on the staged bytes while nobody writes. Where it succeeds they are sealed: a
  // later write, or commit, begins with a copy of them.
  using Commit = std::function<Status(StagedFile& staged)>;
  Status CommitWith(const Commit& commit);

 private:
  Result<std::shared_ptr<StagedFile>> Fresh();
  Status OwnBytes();

  const std::shared_ptr<Spool> spool_;
  const std::uint64_t inode_;
  std::atomic<std::uint64_t> node_{0};
  std::mutex counting_;  // taken before mutex_
  mutable std::mutex mutex_;
  Purpose purpose_;                       // guarded by mutex_, like all below
  ContentPtr base_;                       // read while `staged_` is null
  std::shared_ptr<StagedFile> staged_;    // null until the first write
  std::shared_ptr<StagedFile> reserved_;  // empty, for what is written next
  bool sealed_ = false;                   // staged_ belongs to a committed version
  bool dirty_ = false;
  bool ended_ = false;
  std::uint64_t opens_ = 0;
  std::uint64_t writers_ = 0;
  std::uint64_t flushed_ = 0;  // of them
  std::uint64_t holds_ = 0;
  bool always_direct_ = false;
  bool direct_ = false;  // those who have it open now
  bool cached_ = false;  // somebody had it open otherwise, so that there may be pages
  bool pages_doubtful_ = false;
  timespec modified_{};
};

}  // namespace unshard
