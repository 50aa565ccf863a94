// The documents of a new dataset that is to become a copy of another one, in another format or with
// other chunks, shards and codecs. Pure; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codec/pyramid/array_documents.h"
#include "codec/pyramid/ome_version.h"
#include "codec/pyramid/pyramid.h"
#include "codec/schema/schema.h"

namespace unshard {

// The documents of a copy of `source`. Levels, names, units and positions are those of `source`
// (PresentDataset). `ome`: as in ViewOptions. `wanted` constrains only chunks, shards and codec;
// what it does not constrain stays as far as the format allows (CompressionOfCopy), but arrays are
// sharded only where it asks for shards. Fails as PresentDataset does, and with kInvalidArgument,
// naming the level and the constraint, where a constraint cannot be satisfied, or shards of Zarr
// would not have whole chunks of the source. What the metadata lack, and what is assumed instead,
// is appended to `warnings`.
Result<std::vector<MetadataDocument>> DocumentsOfCopy(const SourceDataset& source, Dialect to,
                                                      const std::optional<Schema>& wanted,
                                                      std::vector<std::string>* warnings = nullptr,
                                                      const OmeVersion* ome = nullptr);

// The directories of the levels of such a copy, below its own. Fails as DocumentsOfCopy does.
Result<std::vector<std::string>> LevelsOfCopy(const SourceDataset& source, Dialect to);

}  // namespace unshard
