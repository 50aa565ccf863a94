// Checks of what is keyed by ids and of annotations by place: meshes, skeletons, annotations.
#pragma once

#include <cstdint>
#include <memory>

#include "codec/json/json.h"
#include "codec/voxel/chunk_check.h"

namespace unshard {

// A mesh manifest has exactly the length that its counts announce. Never null.
std::shared_ptr<const ChunkCheck> MakeMeshManifestCheck();

// A skeleton is at least as long as its counts and the vertex attributes of `info` ask for. Readers
// ignore what stands behind that. Never null.
std::shared_ptr<const ChunkCheck> MakeSkeletonCheck(const JsonValue& info);

enum class AnnotationIndex {
  kById,  // one annotation with the ids of related objects
  kList,  // by related object, or by place: a count, the annotations, their ids
};
// The length fits the counts, as far as `info` says how long one annotation is. Never null.
std::shared_ptr<const ChunkCheck> MakeAnnotationCheck(const JsonValue& info, AnnotationIndex index);

}  // namespace unshard
