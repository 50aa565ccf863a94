// Views: ways to present a dataset. Each is one source of this folder, and a line of the list in
// views.h. codec/FORMATS.md, "Views".
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/pyramid/array_view.h"
#include "codec/pyramid/pyramid.h"
#include "store/chunks/committed_versions.h"
#include "store/chunks/sharded_tree.h"
#include "store/object/index_cache.h"
#include "store/object/object_store.h"

namespace unshard {

// What the metadata document of one directory describes.
struct StoredDataset {
  std::string path;      // of the directory
  std::string document;  // "info", "zarr.json"
  // The document of the unsharded dataset that this one is equivalent to.
  std::string unsharded_text;
  // Its sharded arrays, scales and indexes, by directory; a tree over each as it is stored.
  std::vector<std::shared_ptr<ShardedTree>> arrays;
  // What the documents say, where the view presents it otherwise than it is stored: `arrays` are
  // then the levels, sharded or not.
  std::optional<SourceDataset> source;
  std::string view_root;  // the directory at which the view begins: "" or, of all, its name
};

// What a view presents of one dataset, and where.
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
  std::vector<std::string> warnings;
};

// What the trees of a view are made of.
struct TreeParts {
  std::function<std::uint32_t()> ordinal;  // the number of the next tree
  std::shared_ptr<ByteBudgetCache> encoded;
  std::uint64_t max_chunk_bytes = 0;
  Capabilities store;
  ViewOptions options;
  // PresentedTree::Parts
  std::shared_ptr<CommittedVersions> written = nullptr;
  bool lossy = false;
};

// Immutable; thread-safe.
class View {
 public:
  virtual ~View() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  // Whether datasets of this format are presented as the native view presents them: without
  // StoredDataset::source, and what is not sharded is passed through.
  [[nodiscard]] virtual bool PresentsAsStored(ArrayDialect dialect) const {
    (void)dialect;
    return true;
  }
  // Whether what it presents otherwise is still in the format of the source: other objects that a
  // document names go on being presented as they are.
  [[nodiscard]] virtual bool KeepsFormat() const { return false; }
  // Fails with kNotSupported, naming what is in the way, where the view cannot say what this
  // dataset says.
  [[nodiscard]] virtual Result<Presentation> Present(const StoredDataset& dataset,
                                                     const TreeParts& parts) const = 0;
};

}  // namespace unshard
