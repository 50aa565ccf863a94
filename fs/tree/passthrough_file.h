// A file of the source on a writable mount: whatever stands in the file, which others write to.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "fs/tree/node.h"
#include "store/local/file_system.h"

namespace unshard {

class PassthroughFile final : public Node {
 public:
  PassthroughFile(Superblock& superblock, NodeId id, std::string identity, std::string path);

  // Device and inode: names of one file lead to one node.
  static std::string IdentityOf(const FileStatus& status);

  [[nodiscard]] std::string Path() const override;
  Result<Entry> SetAttributes(OpenFile* file, const AttributeChange& change, pid_t thread) override;
  // The document of a dataset is staged like those that are shown rewritten, until it is known
  // whether it can stand there (store/dataset/metadata_documents.h).
  Result<OpenFilePtr> Open(const OpenRequest& request) override;
  Result<Entry> LinkTo(Name& to) override;
  [[nodiscard]] std::optional<std::string> SourcePath() const override { return Path(); }
  NodePtr MovedTo(const std::string& path) override;

  // Names have no time to live: the source is asked each time.
  [[nodiscard]] Entry EntryOf(const FileStatus& status) const;
  // `file` is this one, and was opened for `request`.
  OpenFilePtr OpenAs(std::shared_ptr<File> file, const OpenRequest& request);

 protected:
  Result<Entry> Stat() override;

 private:
  Result<OpenFilePtr> OpenDocument(const std::string& path, const OpenRequest& request);

  const std::string identity_;
  mutable std::mutex mutex_;
  std::string path_;          // guarded by mutex_; where it was found last
  std::weak_ptr<File> file_;  // guarded by mutex_; while anybody has it open
};

// The node of the file at `path`, which has this status.
std::shared_ptr<PassthroughFile> ReferPassthroughFile(Superblock& superblock,
                                                      const std::string& path,
                                                      const FileStatus& status);

}  // namespace unshard
