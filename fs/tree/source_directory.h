// A directory of the source, or a directory that exists only in the keys of a dataset.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "fs/tree/node.h"
#include "store/dataset/dataset_tree.h"

namespace unshard {

class SourceDirectory final : public Directory {
 public:
  // `opaque`: nothing below is a dataset.
  SourceDirectory(Superblock& superblock, NodeId id, std::uint64_t inode, std::string path,
                  bool opaque)
      : Directory(superblock, id, inode), path_(std::move(path)), opaque_(opaque) {}

  [[nodiscard]] std::string Path() const override { return path_; }
  [[nodiscard]] std::optional<std::string> SourcePath() const override { return path_; }
  NodePtr MovedTo(const std::string& path) override;
  // In this order: the control directory, the document that is presented rewritten, chunks and
  // directories of the trees that are rooted here, scratch files, and names of the source.
  Result<std::unique_ptr<Name>> Find(std::string_view name) override;
  Result<Entry> Lookup(std::string_view name, pid_t thread) override;
  Status List(const Listing& listing) override;
  [[nodiscard]] bool ListingIsKept() const override;
  Status Sync() override;
  Result<Entry> SetAttributes(OpenFile* file, const AttributeChange& change, pid_t thread) override;

 protected:
  Result<Entry> Stat() override;

 private:
  using OverlayPtr = std::shared_ptr<const DirectoryOverlay>;
  // Its dataset overlay; null for an ordinary directory.
  [[nodiscard]] OverlayPtr Overlay() const;
  [[nodiscard]] bool IsReplaced() const;
  std::unique_ptr<Name> FindInTrees(const OverlayPtr& overlay, std::string_view name,
                                    std::size_t first);
  Result<std::unique_ptr<Name>> FindBesideChunks(const OverlayPtr& overlay, std::string_view name);
  // All names but ".", ".." and that of files=.
  Status ListNames(const Listing& listing);
  Status ListBesideChunks(const DirectoryOverlay& overlay, const Listing& listing);
  std::unique_ptr<Name> NameInSource(const OverlayPtr& overlay, std::string_view name);

  const std::string path_;
  const bool opaque_;
};

Entry ReferDirectory(Superblock& superblock, const std::string& path, bool opaque,
                     const timespec& modified);

// Of a directory of the source: whether its permission bits are shown, and can be changed. Not
// where a dataset has its chunks or documents: there all is as the mount says.
bool ShowsModeOfSource(const Superblock& superblock, const std::string& path);

}  // namespace unshard
