// Views: ways to present a dataset. Each is one source of this folder, and a line in views.h and in
// the table in views.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "store/chunks/sharded_tree.h"

namespace unshard {

// What the metadata document of one directory describes.
struct StoredDataset {
  std::string path;      // of the directory
  std::string document;  // "info", "zarr.json"
  // The document of the unsharded dataset that this one is equivalent to.
  std::string unsharded_text;
  // Its sharded arrays, scales and indexes, by directory; a tree over each as it is stored.
  std::vector<std::shared_ptr<ShardedTree>> arrays;
};

// What stands where instead. Directories are those of the source.
struct Presentation {
  struct Document {
    std::string directory;
    std::string name;
    std::string text;
  };
  struct Chunks {
    std::shared_ptr<ChunkTree> tree;      // what is listed, read and written in tree->directory()
    std::shared_ptr<ShardedTree> stored;  // what its chunks come from
  };
  std::vector<Document> documents;
  std::vector<Chunks> chunks;
};

// Immutable; thread-safe.
class View {
 public:
  virtual ~View() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  // Fails with kNotSupported, naming what is in the way, where the view cannot say what this
  // dataset says. `ordinal` numbers the trees that the view makes.
  using NextOrdinal = std::function<std::uint32_t()>;
  [[nodiscard]] virtual Result<Presentation> Present(const StoredDataset& dataset,
                                                     const NextOrdinal& ordinal) const = 0;
};

}  // namespace unshard
