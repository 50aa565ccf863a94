// Finding a chunk by the path of its file.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "store/chunks/chunk_tree.h"
#include "store/dataset/dataset_tree.h"

namespace unshard {

struct ChunkInTree {
  std::shared_ptr<ChunkTree> tree;
  ChunkRef chunk;
};

// `path` is below the directory of `tree`, as ChunkTree::Path gives it. Nothing where no chunk of
// the tree has this path. Does no I/O.
std::optional<ChunkInTree> FindChunk(const std::shared_ptr<ChunkTree>& tree, std::string_view path);

// The same of a chunk as it is stored, whatever the view presents: in `directory`, which is a key
// of the store. Reads the metadata documents of directories down to that one which have not been
// searched yet.
std::optional<ChunkInTree> FindChunk(DatasetTree& datasets, const std::string& directory,
                                     std::string_view path);

}  // namespace unshard
