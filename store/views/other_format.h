// What the views of other formats have in common: documents and chunks of a PresentedDataset.
#pragma once

#include "codec/pyramid/dataset_view.h"
#include "store/views/view.h"

namespace unshard {

// Requires: `dataset.source`, of which `presented` was made.
Result<Presentation> MakePresentation(const StoredDataset& dataset, PresentedDataset presented,
                                      const TreeParts& parts);
// The whole of a view in one format.
Result<Presentation> PresentInFormat(const StoredDataset& dataset, ArrayDialect format,
                                     const TreeParts& parts);

}  // namespace unshard
