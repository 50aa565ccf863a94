// Copying an array chunk by chunk into another one of the same voxels, between any two formats,
// chunk grids and encodings. fs/SEMANTICS.md, "Copies".
#pragma once

#include <optional>
#include <span>
#include <utility>

#include "codec/pyramid/chunk_mapping.h"

namespace unshard {

// For each axis of `to`, the axis of `from`: by name where both arrays name all their axes, else by
// MapAxes, else in order. Axes of extent 1 may be added and dropped; origins may differ. Fails with
// kInvalidArgument, naming the axis and both extents, where the shapes differ, and naming both
// types where these differ (a bool may become a uint8).
Result<AxisMap> MatchArrays(const ArrayMetadata& from, std::span<const PyramidAxis> from_axes,
                            const ArrayMetadata& to);

// The copy of one array. Its form is kTranscode between different grids. Immutable; thread-safe;
// pure.
class ArrayCopy : public ChunkMapping {
 public:
  // `axes` as MatchArrays returns them. Fails with kNotSupported, naming the codec, where chunks of
  // `to` cannot be encoded.
  static Result<ArrayCopy> Make(ArrayMetadata from, ArrayMetadata to, AxisMap axes);

  // Fails with kDataLoss where a chunk of `from` cannot be decoded. It is decoded only where its
  // size does not show that it can be, and not where this build lacks the codec's library.
  [[nodiscard]] Status Check(ByteSpan chunk, const GridCell& from_cell) const;
  // Whether every voxel of a chunk of `to` has the fill value of `to`: such chunks are not stored.
  [[nodiscard]] bool IsFill(const Voxels& voxels) const;
  // The voxels of a stored chunk of `to`, with the fill value beyond the array, whatever the
  // program that encoded it put there. Fails with kDataLoss where it cannot be decoded.
  [[nodiscard]] Result<Voxels> DecodeCopied(ByteSpan chunk, const GridCell& to_cell) const;
  // The encoded chunk of `to`; nothing where IsFill(voxels).
  [[nodiscard]] Result<std::optional<ByteVector>> Encode(Voxels voxels) const;

 private:
  explicit ArrayCopy(ChunkMapping mapping) : ChunkMapping(std::move(mapping)) {}
};

}  // namespace unshard
