// The chunks of a stored array as chunks of the array that a view presents. codec/FORMATS.md,
// "Views".
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "codec/pyramid/chunk_mapping.h"

namespace unshard {

// One array of a view. Both are parsed: they have codecs.
struct PresentedArray {
  ArrayMetadata stored;
  ArrayMetadata presented;
  AxisMap axes;  // for each axis of `presented`, that of `stored`
  BlockForm form = BlockForm::kTranscode;
};

// Cells belong to GridOf(presented), except the stored cells that some methods take or return.
// Immutable; thread-safe; pure.
class ChunkConversion {
 public:
  // Fails with kNotSupported where the chunks of the two arrays do not lie on one grid, or those of
  // `presented` cannot be encoded.
  static Result<ChunkConversion> Make(PresentedArray array);

  [[nodiscard]] const ArrayMetadata& stored() const { return present_.from(); }
  [[nodiscard]] const ArrayMetadata& presented() const { return present_.to(); }
  // For each axis of presented(), that of stored().
  [[nodiscard]] const AxisMap& axes() const { return present_.axes(); }
  [[nodiscard]] BlockForm form() const { return present_.form(); }
  [[nodiscard]] const ChunkGrid& presented_grid() const { return present_.to_grid(); }
  // Whether a presented chunk has the voxels of several stored ones: in a precomputed volume, whose
  // chunks have all channels, of an array that stores its channels in several chunks.
  [[nodiscard]] bool joins() const { return joins_; }
  // The cell of GridOf(stored) with the voxels of this one (where chunks join: with its first
  // channels); and the presented cell of any stored one.
  [[nodiscard]] GridCell StoredCell(const GridCell& cell) const {
    return present_.FirstSourceCell(cell);
  }
  [[nodiscard]] GridCell PresentedCell(const GridCell& stored) const {
    return store_.FirstSourceCell(stored);
  }
  // All cells of GridOf(stored) with voxels of this one, in the order of their channels.
  [[nodiscard]] std::vector<GridCell> StoredCells(const GridCell& cell) const {
    return present_.SourceCells(cell);
  }

  // Whether chunks that are absent in the source have to be presented: where readers of the view
  // would take an absent one for other values than readers of the source.
  [[nodiscard]] bool presents_absent() const { return present_.writes_absent(); }
  // The size of the presented chunk, where it does not depend on its voxels. Never of kCopy.
  [[nodiscard]] std::optional<std::uint64_t> SizeOf(const GridCell& cell) const;
  // The N5 header of the presented chunk (kAddHeader), or the header that the stored one must have
  // to be stripped (kStripHeader).
  [[nodiscard]] ByteVector HeaderOf(const GridCell& cell) const { return present_.HeaderOf(cell); }

  // Decodes the stored chunk and encodes it as the presented one. Fails as CodecChain does. This
  // one and Present require a conversion that does not join.
  [[nodiscard]] Result<ByteVector> Convert(ByteSpan stored, const GridCell& cell) const;
  // The presented chunk of a stored one, made as form() says.
  [[nodiscard]] Result<ByteVector> Present(ByteSpan stored, const GridCell& cell) const;
  // The presented chunk of the stored ones in StoredCells: `read` returns the bytes of one of them,
  // nothing where it is absent. Each is decoded before the next one is read, so that only one of
  // them is in memory beside the presented chunk. Fails as Convert and `read` do.
  using PartReader = std::function<Result<std::optional<Bytes>>(std::size_t part)>;
  [[nodiscard]] Result<ByteVector> Join(const PartReader& read, const GridCell& cell) const;
  // The presented chunk of an absent one: of the source's fill value.
  [[nodiscard]] Result<ByteVector> Absent(const GridCell& cell) const;

  // The inverse: the stored chunks, those of StoredCells, for a presented chunk that a program has
  // written. Fails with kInvalidArgument if `presented` is no chunk of the presented array, and as
  // the codec of the stored array does.
  [[nodiscard]] Result<std::vector<ByteVector>> Restore(ByteSpan presented,
                                                        const GridCell& cell) const;
  // The stored chunks to write for a presented chunk that a program has removed, if removing the
  // stored chunks is not enough. They have the values that readers of the view take an absent chunk
  // for if the view presents absent chunks, else the fill value of the source.
  [[nodiscard]] Result<std::vector<ByteVector>> RestoreRemoved(const GridCell& cell) const;
  // Whether Restore is supported: else kNotSupported, naming the codec.
  [[nodiscard]] Status CanRestore() const;
  // Whether voxels that are written, stored and presented again may differ from those written.
  [[nodiscard]] bool is_lossy() const;
  // The only size that a presented chunk can have, also of kCopy; nothing where it varies.
  [[nodiscard]] std::optional<std::uint64_t> FixedSize(const GridCell& cell) const;

  // The bytes in memory of the voxels of the largest presented chunk.
  [[nodiscard]] std::uint64_t voxel_bytes() const { return voxel_bytes_; }

 private:
  explicit ChunkConversion(ChunkMapping present)
      : present_(std::move(present)), store_(present_.Inverse()) {}

  // Whether the stored type has these values: bool has no others than 0 and 1.
  [[nodiscard]] Status CanHold(const Voxels& presented) const;
  // The stored chunks of presented voxels; without them, of none.
  [[nodiscard]] Result<std::vector<ByteVector>> EncodeStored(const Voxels* voxels,
                                                             const GridCell& cell) const;

  ChunkMapping present_;  // from stored to presented
  ChunkMapping store_;    // the inverse
  bool joins_ = false;
  std::uint64_t voxel_bytes_ = 0;
};

}  // namespace unshard
