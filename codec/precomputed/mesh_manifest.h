// Multi-LOD mesh manifests (neuroglancer_multilod_draco): how many fragment bytes precede one.
#pragma once

#include <cstdint>

#include "codec/core/bytes.h"
#include "codec/core/error.h"

namespace unshard {

// The total size of all fragments of all levels, which immediately precede the stored manifest.
// Fails with kDataLoss unless the manifest has exactly the length that its counts imply.
Result<std::uint64_t> MeshFragmentBytes(ByteSpan manifest);

}  // namespace unshard
