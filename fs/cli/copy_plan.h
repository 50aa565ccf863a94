// What a copy is going to do, in words.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codec/array/array.h"
#include "codec/core/error.h"
#include "fs/cli/copy_command.h"
#include "store/copy/present_chunks.h"
#include "store/dataset/dataset_creation.h"

namespace unshard {

// An array of the destination.
struct PlannedArray {
  std::string path;           // below the destination, or as messages name it
  std::optional<Array> from;  // where it is known
  Array to;
};

// The arrays that new documents describe, in their order. Fails where one of them cannot be read.
Result<std::vector<PlannedArray>> PlannedIn(const std::vector<NewDocument>& documents);

// "zarr3, chunks [32, 64, 64], shards [256, 1024, 1024], zstd 3"
std::string StorageText(const Array& array);

// Lines for a person: each array with both of its forms, as far as there are few, and how many
// chunks, files and bytes all have together. `destination`: a path or a URL.
std::string PlanText(const std::vector<PlannedArray>& arrays, const std::string& destination);

// A line that says what the destination has already, and what becomes of it; with --delete one more
// that says how many chunks are removed. "": nothing is there.
std::string PresentText(const PresentChunks& present, const CopyCommand& command);

}  // namespace unshard
