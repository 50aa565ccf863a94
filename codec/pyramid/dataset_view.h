// The documents and arrays of a dataset in another format. codec/FORMATS.md, "Views". Pure;
// thread-safe.
#pragma once

#include <string>
#include <vector>

#include "codec/pyramid/array_documents.h"
#include "codec/pyramid/array_view.h"
#include "codec/pyramid/pyramid.h"

namespace unshard {

struct PresentedDataset {
  struct Level {
    std::string path;  // below the directory of the dataset
    PresentedArray array;
  };
  std::vector<MetadataDocument> documents;
  std::vector<Level> levels;  // those of the source, in its order
  std::vector<std::string> warnings;
};

// The dataset in the format `to`. In its own one it loses its shards and, unless it is a copy, its
// compression; all else stays as it is, also paths. Fails with kNotSupported, naming what is in the
// way, where the format cannot express the dataset, and with kDataLoss where its metadata are
// damaged.
Result<PresentedDataset> PresentDataset(const SourceDataset& dataset, Dialect to,
                                        const ViewOptions& options);
// A warning about a dataset that is all of a source, which messages name `source`. That of an array
// without units names a command on the group above, which has the scale where the array is a level
// of OME-Zarr: "unshard COMMAND ABOVE ARGUMENTS".
std::string WithWayOut(std::string warning, const SourceDataset& dataset, const std::string& source,
                       const std::string& command, const std::string& arguments);

}  // namespace unshard
