// A dataset in the documents of another format: which of them are where. codec/FORMATS.md, "Views".
#pragma once

#include <string>
#include <vector>

#include "codec/pyramid/array_view.h"
#include "codec/pyramid/pyramid.h"

namespace unshard {

struct PresentedDataset {
  struct Document {
    std::string directory;  // below that of the dataset; "": that one
    std::string name;
    JsonValue content;
  };
  struct Level {
    std::string path;  // below the directory of the dataset
    PresentedArray array;
  };
  std::vector<Document> documents;
  std::vector<Level> levels;  // those of the source, in its order
  std::vector<std::string> warnings;
};

// Fails with kNotSupported, naming what is in the way, where the format cannot say what the dataset
// says, and with kDataLoss where its metadata are damaged.
Result<PresentedDataset> PresentDataset(const SourceDataset& dataset, ArrayDialect to,
                                        const ViewOptions& options);
// In its own format and at its own paths, without compression.
Result<PresentedDataset> PresentRawDataset(const SourceDataset& dataset);
// The same with the encoding that it has: only the shards are gone.
Result<PresentedDataset> PresentUnshardedDataset(const SourceDataset& dataset);

}  // namespace unshard
