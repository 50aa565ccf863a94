// `files/` of a mount with the option files=: each array or scale of the source as one file of all
// its voxels, `files/ARRAY.FORMAT`, and `files/volume.FORMAT` where the source is one array.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "codec/volume_file/volume_file.h"
#include "fs/tree/array_names.h"
#include "fs/tree/name.h"
#include "fs/tree/node.h"
#include "store/volume_file/source_arrays.h"

namespace unshard {

inline constexpr std::string_view kFilesDirectory = "files";

// Fails where the source has a name in its root that files= takes.
Status CanHoldFiles(const VolumeParts& parts);

// A directory of these files.
class FilesDirectory final : public ArraysDirectory {
 public:
  FilesDirectory(Superblock& superblock, NodeId id, std::uint64_t inode, std::string arrays)
      : ArraysDirectory(superblock, id, inode, std::move(arrays)) {}
  [[nodiscard]] std::string Path() const override;
  Result<std::unique_ptr<Name>> Find(std::string_view name) override;
  // Lists arrays that have been found so far, and of each the formats that can hold it.
  Status List(const Listing& listing) override;

 protected:
  Result<Entry> Stat() override;
};

// `files` in the root.
class FilesDirectoryName final : public Name {
 public:
  using Name::Name;
  Result<Entry> Lookup(pid_t thread) override;
};

// A name in one of these directories: a file or a directory.
class VolumeFileName final : public Name {
 public:
  // `arrays`: below which its array is.
  VolumeFileName(Superblock& superblock, std::string directory, std::string_view name,
                 std::string arrays)
      : Name(superblock, std::move(directory), name), arrays_(std::move(arrays)) {}
  // ENOENT, and a line in the log, where the format cannot hold the array.
  Result<Entry> Lookup(pid_t thread) override;

 private:
  // Null where there is no array for a file of this name without its suffix.
  Result<SourceArrayPtr> FindArray(const std::string& stem);
  Result<Entry> LookupFile(const VolumeFileFormat& format, const SourceArray& array);

  const std::string arrays_;
};

// One file, for as long as the metadata of its array stay as they are.
class VolumeFileNode final : public Node {
 public:
  VolumeFileNode(Superblock& superblock, NodeId id, std::string path, const SourceArray& array,
                 ContentPtr content);
  ~VolumeFileNode() override;
  [[nodiscard]] std::string Path() const override { return path_; }
  Result<OpenFilePtr> Open(const OpenRequest& request) override;
  Result<FilePiece> Read(std::uint64_t offset, std::uint64_t size) override {
    return content_->Read(offset, size);
  }
  [[nodiscard]] PageUse PagesAtOpen() const override;

 protected:
  Result<Entry> Stat() override;

 private:
  const std::string path_;
  const timespec modified_;
  const std::shared_ptr<const ChunkTree> served_;
  const ContentPtr content_;
};

}  // namespace unshard
