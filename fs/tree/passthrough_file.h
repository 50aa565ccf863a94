// A file of the source on a writable mount: reads and writes go to the file itself, which other
// processes write too.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "fs/tree/node.h"
#include "store/local/file_system.h"

namespace unshard {

class PassthroughFile final : public Node {
 public:
  // kUnknown: of a name of which the store, which is away, could not be asked whether it exists. It
  // leads here so that the file can be written, as chunks can (UnknownChunk).
  enum class Existence { kKnown, kUnknown };
  PassthroughFile(Superblock& superblock, NodeId id, std::string identity, std::string path,
                  Existence existence = Existence::kKnown);

  // Device, inode and time of birth: all names of one file lead to one node, and a file that gets
  // the inode number of a removed file has another node.
  static std::string IdentityOf(const FileStatus& status);

  [[nodiscard]] std::string Path() const override;
  Result<Entry> SetAttributes(OpenFile* file, const AttributeChange& change, pid_t thread) override;
  // The document of a dataset is staged like those that are presented rewritten, until it is known
  // whether it can be stored as it is (store/volume/metadata_documents.h).
  Result<OpenFilePtr> Open(const OpenRequest& request) override;
  Result<Entry> LinkTo(Name& to) override;
  [[nodiscard]] std::optional<std::string> SourcePath() const override { return Path(); }
  NodePtr MovedTo(const std::string& path) override;

  // Names have no time to live: each look-up stats the file in the source.
  [[nodiscard]] Entry EntryOf(const FileStatus& status) const;
  // `file` is this one, and was opened for `request`.
  OpenFilePtr OpenAs(std::shared_ptr<File> file, const OpenRequest& request);

 protected:
  Result<Entry> Stat() override;

 private:
  // Opens this file. If its path leads to another file now, leaves that alone, and returns a file
  // that this node has open already, or null if it has none.
  Result<std::shared_ptr<File>> OpenSelf(OpenFlags flags) const;
  // One of its open files, that can be written for `write`; null where there is none.
  [[nodiscard]] std::shared_ptr<File> AnyOpen(bool write) const;
  Result<OpenFilePtr> OpenDocument(const std::string& path, const OpenRequest& request);
  // Opens `staged` at this node, while others go on reading the file of the source there.
  Result<OpenFilePtr> OpenDocumentHere(const std::shared_ptr<StagedInode>& staged,
                                       const OpenRequest& request);
  // What was opened last by OpenDocumentHere; null where it is closed.
  [[nodiscard]] std::shared_ptr<StagedInode> WrittenHere() const;

  const std::string identity_;
  const Existence existence_;
  mutable std::mutex mutex_;
  std::string path_;  // guarded by mutex_; of its latest look-up
  struct Opened {
    std::weak_ptr<File> file;
    bool write = false;
  };
  std::vector<Opened> opened_;               // guarded by mutex_; some are closed
  std::weak_ptr<StagedInode> written_here_;  // guarded by mutex_
};

// The node of the file at `path`, which has this status.
std::shared_ptr<PassthroughFile> ReferPassthroughFile(Superblock& superblock,
                                                      const std::string& path,
                                                      const FileStatus& status);
// The entry of a file at `path` that may or may not exist; its attributes have to be asked for.
Entry ReferUnknownFile(Superblock& superblock, const std::string& path);

}  // namespace unshard
