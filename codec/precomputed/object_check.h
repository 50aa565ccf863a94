// Checks of the chunks of meshes, skeletons and annotations before they are stored. The checks are
// immutable and thread-safe.
#pragma once

#include <memory>

#include "codec/grid/chunk_check.h"
#include "codec/json/json.h"

namespace unshard {

// A mesh manifest has exactly the length that its counts imply. Never null.
std::shared_ptr<const ChunkCheck> MakeMeshManifestCheck();

// A skeleton has at least the length that its counts and the vertex attributes of `info` imply.
// Readers ignore further bytes. Never null.
std::shared_ptr<const ChunkCheck> MakeSkeletonCheck(const JsonValue& info);

enum class AnnotationIndex {
  kById,  // one annotation with the ids of related objects
  kList,  // by related object, or spatial: a count, the annotations, their ids
};
// The length agrees with the counts, exactly where `info` fixes the length of an annotation, else
// as a lower bound. Never null.
std::shared_ptr<const ChunkCheck> MakeAnnotationCheck(const JsonValue& info, AnnotationIndex index);

}  // namespace unshard
