// Names of the chunks of a Zarr v3 array: files of one directory, or of a tree of directories.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "codec/grid/chunk_key.h"
#include "codec/grid/chunk_names.h"

namespace unshard {

// Also the names of Zarr v2 chunks and N5 blocks, which have the key encoding v2. depth() is 0
// where a whole chunk key is one path component. Immutable; thread-safe.
class ZarrNames final : public ChunkNames {
 public:
  ZarrNames(const ChunkKeyEncoding& encoding, std::vector<std::uint64_t> grid_shape);

  NameMeaning Parse(const GridDirectory& in, std::string_view name) const override;
  std::string Path(const ChunkFile& chunk) const override;
  std::string Path(const GridDirectory& in) const override;
  GridDirectory Parent(const ChunkFile& chunk) const override;
  GridDirectory Parent(const GridDirectory& in) const override;
  unsigned depth() const override { return depth_; }

  // 1 where the "c" of the default key encoding is a directory, else 0.
  [[nodiscard]] unsigned prefix_levels() const { return prefix_levels_; }
  // Whether "c" is the only name in a directory.
  [[nodiscard]] bool HoldsPrefix(const GridDirectory& in) const {
    return in.level < prefix_levels_;
  }
  // The number of chunk indices in the path of a directory, and these indices.
  [[nodiscard]] std::size_t IndexCount(const GridDirectory& in) const {
    return in.level - (in.level > 0 ? prefix_levels_ : 0);
  }
  [[nodiscard]] GridCell Indices(const GridDirectory& in) const;
  // The directory or chunk with one more index. Requires: depth() > 0, !HoldsPrefix(in).
  [[nodiscard]] NameMeaning Child(const GridDirectory& in, std::uint64_t index) const;

 private:
  const ChunkKeyEncoding encoding_;
  const std::vector<std::uint64_t> grid_shape_;
  const unsigned depth_;
  const unsigned prefix_levels_;
};

}  // namespace unshard
