// A file of the source on a read-only mount: one generation of it.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "fs/tree/node.h"
#include "store/object/object_store.h"

namespace unshard {

class SourceFile final : public Node {
 public:
  SourceFile(Superblock& superblock, NodeId id, std::string path, ObjectInfo info);

  [[nodiscard]] std::string Path() const override { return path_; }
  [[nodiscard]] std::optional<std::string> SourcePath() const override { return path_; }
  // Opens the file at the first read and keeps it open, so that the node keeps its bytes. kConflict
  // where the file has another generation at the first read.
  Result<FilePiece> Read(std::uint64_t offset, std::uint64_t size) override;

 protected:
  Result<Entry> Stat() override;

 private:
  Result<std::shared_ptr<ObjectVersion>> Opened();

  const std::string path_;
  const ObjectInfo info_;
  std::mutex mutex_;
  std::shared_ptr<ObjectVersion> handle_;  // guarded by mutex_; null until the first read
};

Entry ReferSourceFile(Superblock& superblock, const std::string& path, const ObjectInfo& info);

}  // namespace unshard
