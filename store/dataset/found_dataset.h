// Descriptions of datasets for `unshard info` and status.json.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codec/json/json.h"
#include "codec/precomputed/info.h"
#include "store/dataset/dataset_index.h"
#include "store/dataset/view_source.h"
#include "store/views/view.h"

namespace unshard {

std::string_view NameOf(NeuroglancerInfo::Type type);
// The shape of the chunks of an array, in words.
std::string ChunksText(const FoundDataset& array);
FoundDataset FoundArray(const std::string& path, const std::string& format,
                        const ArrayDescription& array);

// What a view presents in another form: the dataset in `path`, then its levels.
std::vector<FoundDataset> FoundIn(const std::string& path, const ViewSource& source);
// The trees of its levels that are sharded.
void AddStoredTrees(const StoredDataset& dataset, const ViewSource& source,
                    std::vector<FoundDataset>& found);

}  // namespace unshard
