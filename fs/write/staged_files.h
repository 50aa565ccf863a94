// The life of staged inodes: they are opened, committed, and ended at their last release.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fs/write/open_file.h"
#include "fs/write/open_versions.h"
#include "fs/write/open_writers.h"
#include "fs/write/scratch_files.h"
#include "fs/write/staged_inode.h"
#include "store/chunks/committed_versions.h"
#include "store/volume/write_pipeline.h"

namespace unshard {

// Thread-safe.
class StagedFiles {
 public:
  using StagedPtr = std::shared_ptr<StagedInode>;
  struct Parts {  // all outlive this object
    WritePipeline& writes;
    CommittedVersions& written;
    OpenWriters& writers;
    OpenVersions& open_versions;
    ScratchFiles& scratch;
    std::function<void()> committed;  // a chunk: listings have it
    std::function<Status(const StagedInode::Document&, StagedFile& bytes, const timespec& modified)>
        commit_document;
    std::function<void(NodeId node)> drop_pages;  // KernelInvalidation, soon; null: never
    // A commit at a RELEASE failed, which has no answer that would reach a program.
    std::function<void(const std::string& path, const Error& error)> report;
  };
  explicit StagedFiles(Parts parts) : parts_(std::move(parts)) {}

  // The id under which writers of a staged inode are counted: that of the chunk, or document, that
  // it becomes. Nothing for scratch files.
  static std::optional<ChunkId> WriterId(const StagedInode& staged);
  static ChunkId DocumentId(const StagedInode::Document& document);
  // Its path below the mount point, for messages: that of the chunk, or document, that it becomes,
  // else of the scratch file. Its node may have been that of another name, and be gone by now.
  [[nodiscard]] std::string PathOf(const StagedInode& staged) const;

  // Opens one more file on `staged`, at `node`. Null where it has ended.
  OpenFilePtr Open(const StagedPtr& staged, NodeId node, const OpenRequest& request);

  // Ends the caller's hold, and `staged` with it where it is open nowhere.
  void Release(const StagedPtr& staged);
  // `led_to`: the staged inodes of redirects that have ended (OpenWriters::EndOpen). Ends those
  // that are open nowhere.
  void RedirectsEnded(const std::vector<StagedPtr>& led_to);

  // Commits the staged bytes as the chunk, or the document. `version`, where given, is set to the
  // committed version of a chunk.
  Status Commit(StagedInode& staged, WrittenVersionPtr* version = nullptr);
  // Makes its latest commit durable.
  Status Sync(StagedInode& staged);
  // A rename changes what it becomes; files that are open on it go on writing to it.
  void ChangePurpose(const StagedPtr& staged, StagedInode::Purpose purpose);
  // Its last file was closed: releases its bytes, unless it has a name, or is opened meanwhile.
  void End(const StagedPtr& staged);

 private:
  class Handle;
  void ReleaseHandle(Handle& file);
  Status CommitAtRelease(StagedInode& staged, const ChunkId& id);
  void CommitLast(StagedInode& staged, const ChunkId& id) noexcept;
  static bool MayBeEmpty(const StagedInode& staged);

  const Parts parts_;
};

}  // namespace unshard
