// The datasets of a store, found and readable through a view, for tests below the mount.
#pragma once

#include <memory>

#include "store/dataset/dataset_tree.h"

namespace unshard {

// Looks for the datasets of `store`, and shows them as `options` say: the view, and how long to
// trust what was read. Each cache, and the largest chunk, has a megabyte. Without a writer. A
// failure of the search fails the test that runs.
std::unique_ptr<DatasetTree> ShowDatasets(std::shared_ptr<ObjectStore> store,
                                          DatasetTreeOptions options);

}  // namespace unshard
