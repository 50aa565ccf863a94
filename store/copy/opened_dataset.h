// The arrays of a dataset, or of all datasets in a group, to be copied from or into.
#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "store/copy/chunk_source.h"
#include "store/copy/dataset_members.h"
#include "store/copy/limits.h"
#include "store/dataset/stored_trees.h"
#include "store/source/catalog_store.h"
#include "store/source/source.h"

namespace unshard {

// Datasets whose arrays are open.
class OpenedDataset {
 public:
  // Opens the dataset at `options.source` and those beside its levels or, if that is a group, all
  // in it, except what FindMembers leaves out or skips. Fails, naming it, where no array or
  // pyramid is there, and with the reason where all are skipped.
  static Result<OpenedDataset> Open(const VolumeOptions& options, const CopyLimits& limits,
                                    const std::set<std::string>& excluded = {});
  // Opens the datasets at these paths below `options.source`, and no others. Fails, naming the
  // first that is missing.
  static Result<OpenedDataset> OpenAt(const VolumeOptions& options,
                                      const std::vector<std::string>& paths,
                                      const CopyLimits& limits);

  [[nodiscard]] const SourceParts& parts() const { return parts_; }
  [[nodiscard]] const std::shared_ptr<ObjectStore>& store() const { return store_; }
  // At least one, each before those below it.
  [[nodiscard]] const std::vector<DatasetMember>& datasets() const { return members_.datasets; }
  // The same with groups and files; of a dataset that was opened at paths, without these.
  [[nodiscard]] const DatasetMembers& members() const { return members_; }
  // Whether there is one dataset, and that at the root.
  [[nodiscard]] bool is_single() const {
    return datasets().size() == 1 && datasets().front().path.empty();
  }
  // Datasets at `path` and below become members().skipped. Requires: others are left.
  void LeaveOut(const std::string& path, Error reason);
  // The keys of all documents that were read.
  [[nodiscard]] std::vector<std::string> Documents() const;
  [[nodiscard]] std::string Describe() const { return store_->Describe(""); }
  [[nodiscard]] bool is_remote() const { return !store_->capabilities().keeps_replaced_versions; }
  // One a level of a dataset, in its order. Requires: `dataset` is one of datasets().
  Result<StoredArray> OpenLevel(const DatasetMember& dataset, std::size_t level) const;

 private:
  Status OpenStore(const VolumeOptions& options);
  void OpenTrees(const CopyLimits& limits);
  [[nodiscard]] tl::unexpected<Error> Missing(const std::string& path, bool is_group) const;
  [[nodiscard]] std::string DatasetsInRoot() const;

  SourceParts parts_;
  std::shared_ptr<ObjectStore> store_;
  std::shared_ptr<CatalogStore> catalog_;  // null where the store lists
  std::shared_ptr<StoredTrees> trees_;
  DatasetMembers members_;
};

}  // namespace unshard
