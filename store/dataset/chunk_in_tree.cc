#include "store/dataset/chunk_in_tree.h"

namespace unshard {

std::optional<ChunkInTree> FindChunk(const std::shared_ptr<ChunkTree>& tree,
                                     std::string_view path) {
  GridDirectory in;
  for (;;) {
    const std::size_t slash = path.find('/');
    const ChunkTree::Match match = tree->Resolve(in, path.substr(0, slash));
    if (slash == std::string_view::npos) {
      if (match.kind != ChunkTree::Match::Kind::kChunk) return std::nullopt;
      return ChunkInTree{tree, match.chunk};
    }
    if (match.kind != ChunkTree::Match::Kind::kDirectory) return std::nullopt;
    in = match.directory;
    path.remove_prefix(slash + 1);
  }
}

std::optional<ChunkInTree> FindChunk(DatasetTree& datasets, const std::string& directory,
                                     std::string_view path) {
  // A dataset above may own the directory: look-ups examine directories from the top down as well.
  for (std::size_t end = directory.find('/'); end != std::string::npos;
       end = directory.find('/', end + 1)) {
    datasets.Find(directory.substr(0, end));
  }
  datasets.Find(directory);
  for (const auto& tree : datasets.StoredIn(directory)) {
    if (auto place = FindChunk(tree, path)) return place;
  }
  return std::nullopt;
}

}  // namespace unshard
