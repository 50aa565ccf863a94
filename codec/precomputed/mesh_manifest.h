// Manifests of multi-resolution meshes (neuroglancer_multilod_draco). codec/FORMATS.md, "Meshes".
#pragma once

#include <cstdint>

#include "codec/core/bytes.h"
#include "codec/core/error.h"

namespace unshard {

// The total size of all fragments of all levels, which immediately precede the stored manifest.
// Fails with kDataLoss unless the manifest has exactly the length that its counts imply. Pure
// function; thread-safe.
Result<std::uint64_t> MeshFragmentBytes(ByteSpan manifest);

}  // namespace unshard
