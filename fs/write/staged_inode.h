// A file that is being written through the mount: scratch, the next version of a chunk, or an
// edited metadata document.
#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <variant>

#include "store/chunks/chunk_content.h"
#include "store/chunks/chunk_tree.h"
#include "store/spool/spool.h"
#include "store/volume/metadata_documents.h"

namespace unshard {

// Thread-safe. Its own lock is held across I/O on its own staged file, and on nothing else: writes
// to one file wait for each other and for its commit.
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

  // `base`: its contents until the first write (null: empty). `always_direct`: all files on it
  // bypass the page cache.
  StagedInode(std::shared_ptr<Spool> spool, Purpose purpose, ContentPtr base, std::uint64_t inode,
              bool always_direct = false);

  // Creates the spool file of the first write, so that an open for writing fails with EMFILE or
  // ENOSPC where there can be none. Released with the last writer.
  Status Reserve();
  // Copies `base` into that file, so that it is read no more. Fails as Write does, with kConflict
  // where the bytes are gone, and with nothing changed; where they cannot be read for another
  // reason it succeeds, with nothing changed as well: the first write fails then.
  Status TakeBase();
  Result<FilePiece> Read(std::uint64_t offset, std::uint64_t size);
  // kEnd: after all that is written before.
  static constexpr std::uint64_t kEnd = ~std::uint64_t{0};
  Status Write(std::uint64_t offset, ByteSpan bytes);
  Status Truncate(std::uint64_t size);
  // It begins empty, although its name may have a version: it counts as written to. `has_size`: the
  // kernel may have the i_size of that version for its node, so it is opened with direct I/O.
  void MarkTruncated(bool has_size);
  // fsyncs the staged file without a commit: for scratch files.
  Status Sync();

  // Counts open file descriptions; Close() returns how many are left. The first one gets kDirect
  // (FOPEN_DIRECT_IO) if it only writes and none was kCached before, and so do those that join it:
  // some kernels leave stale pages behind at direct writes.
  enum class Opened { kEnded, kCached, kDirect };
  [[nodiscard]] Opened Open(bool reads, bool writable);
  std::uint64_t Close(bool writable);
  // A writer has closed its file (`flushed` is that file's), or goes on writing.
  void SetFlushed(bool& flushed, bool now);
  // All writers have closed it, and their RELEASE requests are on their way.
  [[nodiscard]] bool all_flushed() const;
  [[nodiscard]] std::uint64_t opens() const;
  [[nodiscard]] std::uint64_t writers() const;
  // A reader opened it while it was open with direct I/O: the kernel may have stale pages.
  [[nodiscard]] bool pages_doubtful() const;
  // A hold keeps it from ending until the holder has opened it. Hold() is false where it has ended.
  [[nodiscard]] bool Hold();
  void Release();
  // Ends it once it is not open and has no name of its own: drops its bytes, which a committed
  // version keeps, and every later open fails. False, and nothing happens, where it is open or
  // held.
  bool End();
  [[nodiscard]] bool ended() const;

  [[nodiscard]] std::uint64_t inode() const { return inode_; }
  // Its node. Set once: before others know this object, or by the first look-up.
  void SetNode(std::uint64_t node) { node_ = node; }
  [[nodiscard]] std::uint64_t node() const { return node_; }
  [[nodiscard]] std::uint64_t size() const;
  [[nodiscard]] timespec modified() const;
  void SetModified(const timespec& modified);
  // Held while its purpose changes, and while it is opened or closed together with the counting of
  // writers: a writer is removed from the count of the same chunk that it was added to.
  [[nodiscard]] std::mutex& counting_mutex() { return counting_mutex_; }
  [[nodiscard]] Purpose purpose() const;
  // The chunk, or the document, that it is the next version of; nothing where it is none.
  [[nodiscard]] std::optional<Chunk> chunk() const { return As<Chunk>(); }
  [[nodiscard]] std::optional<Document> document() const { return As<Document>(); }
  [[nodiscard]] bool is_scratch() const { return As<Scratch>().has_value(); }
  // A scratch file becomes a chunk or a document by being renamed onto its name.
  void SetPurpose(Purpose purpose);
  // A rename has given it a purpose that is taken back where the rename fails: until that is known
  // the RELEASE of a file that was closed before must not commit it.
  void SetOnTrial(bool on_trial) { on_trial_ = on_trial; }
  [[nodiscard]] bool on_trial() const { return on_trial_; }
  // Written to since it was last committed.
  [[nodiscard]] bool dirty() const;

  // How often it was written to, and whether a close was refused since the last time. A close that
  // could not commit the bytes has said so to its program: the release must not commit them later,
  // since another version may have been written and acknowledged in between.
  struct Changes {
    std::uint64_t count = 0;
    bool refused = false;
  };
  [[nodiscard]] Changes changes() const;
  // A close that began when it had these changes could not commit them: they are refused, unless
  // there are more by now.
  void Refuse(const Changes& then);

  // Runs `commit` on the staged bytes, with writes locked out. Where it succeeds they are sealed: a
  // later write, or commit, begins with a copy of them.
  using Commit = std::function<Status(StagedFile& staged)>;
  Status CommitWith(const Commit& commit);

 private:
  template <class Kind>
  std::optional<Kind> As() const {
    const std::lock_guard lock(mutex_);
    const Kind* const found = std::get_if<Kind>(&purpose_);
    return found != nullptr ? std::optional<Kind>(*found) : std::nullopt;
  }
  Result<std::shared_ptr<StagedFile>> Fresh();
  [[nodiscard]] Status CopyBase(StagedFile& to, Status& written) const;
  Status OwnBytes();

  const std::shared_ptr<Spool> spool_;
  const std::uint64_t inode_;
  std::atomic<std::uint64_t> node_{0};
  std::atomic<bool> on_trial_{false};
  std::mutex counting_mutex_;  // taken before mutex_
  mutable std::mutex mutex_;
  Purpose purpose_;                       // guarded by mutex_, like all below
  ContentPtr base_;                       // read while `staged_` is null
  std::shared_ptr<StagedFile> staged_;    // null until the first write
  std::shared_ptr<StagedFile> reserved_;  // empty, for what is written next
  bool sealed_ = false;                   // staged_ belongs to a committed version
  bool dirty_ = false;
  Changes changes_;
  bool ended_ = false;
  std::uint64_t opens_ = 0;
  std::uint64_t writers_ = 0;
  std::uint64_t flushed_ = 0;  // of them
  std::uint64_t holds_ = 0;
  bool always_direct_;
  bool direct_ = false;  // of the files that are open now
  bool cached_ = false;  // it was opened without direct I/O: there may be pages
  bool pages_doubtful_ = false;
  timespec modified_{};
};

}  // namespace unshard
