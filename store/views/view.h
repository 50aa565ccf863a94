// Views: ways to present a dataset. Each is one source of this folder, and an entry of the list in
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
  // A tree over each of its sharded arrays, scales and indexes as it is stored, by directory.
  std::vector<std::shared_ptr<ShardedTree>> arrays;
  // What the documents say, where the view presents the dataset in another way than it is stored:
  // `arrays` are then its levels, sharded or not.
  std::optional<SourceDataset> source;
  std::string view_root;  // the directory of the whole view: "", or its name with `view=all`
};

// What a view presents of one dataset, and where.
struct Presentation {
  struct Document {
    std::string directory;
    std::string name;
    std::string text;
  };
  struct Chunks {
    std::shared_ptr<ChunkTree> tree;      // the presented chunks, in tree->directory()
    std::shared_ptr<ShardedTree> stored;  // the chunks that they come from
  };
  std::vector<Document> documents;
  std::vector<Chunks> chunks;
  std::vector<std::string> warnings;
};

// What the trees of a view are made of, as in PresentedTree::Parts unless said otherwise.
struct TreeParts {
  std::function<std::uint32_t()> ordinal;    // gives the number of the next tree
  std::shared_ptr<ByteBudgetCache> encoded;  // Parts::cache
  std::uint64_t max_chunk_bytes = 0;
  Capabilities store;
  ViewOptions options;
  std::shared_ptr<CommittedVersions> written = nullptr;
  bool lossy = false;
  std::string source = {};  // as messages name it
};

// Immutable; thread-safe.
class View {
 public:
  virtual ~View() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  // Whether datasets of this format are presented as by the native view: StoredDataset::source is
  // nothing, and what is not sharded is passed through. Not so OME-Zarr of another version than
  // ViewOptions::ome.
  [[nodiscard]] virtual bool PresentsAsStored(Dialect dialect) const {
    (void)dialect;
    return true;
  }
  // Whether datasets with a StoredDataset::source keep their format: then other objects to which a
  // document refers are presented as they are stored.
  [[nodiscard]] virtual bool KeepsFormat() const { return false; }
  // Fails with kNotSupported, naming what is in the way, where the view cannot express the dataset.
  [[nodiscard]] virtual Result<Presentation> Present(const StoredDataset& dataset,
                                                     const TreeParts& parts) const = 0;
};

}  // namespace unshard
