// The arrays of a dataset, to be copied from or into.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "store/copy/chunk_source.h"
#include "store/copy/limits.h"
#include "store/dataset/catalog_store.h"
#include "store/dataset/source.h"
#include "store/dataset/stored_trees.h"
#include "store/dataset/view_source.h"

namespace unshard {

// A dataset whose arrays are open.
class OpenedDataset {
 public:
  // Opens `options.source`. Fails, naming it, where no array or pyramid is there.
  static Result<OpenedDataset> Open(const VolumeOptions& options, const CopyLimits& limits);

  [[nodiscard]] const SourceParts& parts() const { return parts_; }
  [[nodiscard]] const std::shared_ptr<ObjectStore>& store() const { return store_; }
  [[nodiscard]] const SourceDataset& dataset() const { return source_.dataset; }
  // The keys of all documents that were read.
  [[nodiscard]] std::vector<std::string> Documents() const;
  [[nodiscard]] std::string Describe() const { return store_->Describe(""); }
  [[nodiscard]] bool is_remote() const { return !store_->capabilities().keeps_replaced_versions; }
  // One a level of dataset(), in its order.
  Result<StoredArray> OpenLevel(std::size_t level) const;

 private:
  SourceParts parts_;
  std::shared_ptr<ObjectStore> store_;
  std::shared_ptr<CatalogStore> catalog_;  // null where the store lists
  std::shared_ptr<StoredTrees> trees_;
  ViewSource source_;
};

}  // namespace unshard
