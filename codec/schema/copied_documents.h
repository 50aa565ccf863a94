// The documents of a new dataset that is to hold what another one holds, in another format or with
// other chunks, shards and codecs. Pure; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codec/pyramid/pyramid.h"
#include "codec/schema/new_pyramid.h"
#include "codec/schema/schema.h"

namespace unshard {

// Levels, names, units and positions are those of `source` (PresentDataset). `wanted` constrains
// chunks, shards and codec, and nothing else; without it, or where it says nothing of them, chunks
// and codec stay as far as the format allows. Nothing is sharded unless it says so. Fails as
// PresentDataset does, and with kInvalidArgument, naming the level and the constraint, where that
// cannot be satisfied.
Result<std::vector<DatasetDocument>> DocumentsOfCopy(const SourceDataset& source, ArrayDialect to,
                                                     const std::optional<Schema>& wanted);

// The directories of the levels of such a dataset, below its own. Fails as DocumentsOfCopy does.
Result<std::vector<std::string>> LevelsOfCopy(const SourceDataset& source, ArrayDialect to);

}  // namespace unshard
