// The bound chain of codecs of one array: the voxels of a chunk to the bytes of its file and back,
// for all dialects. codec/FORMATS.md, "Chunk encodings", "Chunks of Zarr and N5 arrays".
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codec/chain/codec.h"
#include "codec/chain/codec_spec.h"
#include "codec/chain/voxels.h"
#include "codec/core/bytes.h"
#include "codec/core/error.h"
#include "codec/json/json.h"
#include "codec/types/data_type.h"

namespace unshard {

// Immutable; thread-safe; pure.
class CodecChain {
 public:
  // Binds each codec to what the one before it gives. `path` is that of the list, for messages.
  // Fails with kDataLoss, naming path and member, on damaged options, and with kNotSupported,
  // naming the codec, where it is not known, or does not take what reaches it.
  static Result<std::shared_ptr<const CodecChain>> Bind(const ChainSpec& codecs,
                                                        const std::string& path,
                                                        const ArrayRepresentation& decoded);
  // The same, only to check stored chunks: where Bind fails, or the decoded items are not known,
  // the chain has only the known codecs at the end of the list. Never null.
  static std::shared_ptr<const CodecChain> BindToCheck(
      const ChainSpec& codecs, const std::optional<ArrayRepresentation>& decoded);

  [[nodiscard]] const DataType& type() const { return decoded_.type; }
  // As they were bound. Without meaning where BindToCheck made the chain.
  [[nodiscard]] const ChainSpec& codecs() const { return codecs_; }
  // The chain of the bytes after the header of a block (N5 datasets, and `n5_default`); this one
  // where chunks have no header.
  [[nodiscard]] const CodecChain& items() const {
    const CodecChain* const block = to_bytes_->block();
    return block != nullptr ? *block : *this;
  }
  // "zstd 3", "delta, gzip 6", "compressed_segmentation 8 x 8 x 8", "raw": for users, by the names
  // that are common to all dialects. Transposes and byte orders are left out.
  [[nodiscard]] std::string text() const;
  // As that of ArrayToBytesCodec, of the whole chain.
  [[nodiscard]] JsonValue DecodingKey() const;

  // Whether Decode is supported: else kNotSupported, naming the codec and the library that this
  // build lacks.
  [[nodiscard]] Status CanDecode() const;
  // The same of Encode. Fails where CanDecode does.
  [[nodiscard]] Status CanEncode() const;
  // Whether voxels that are encoded and decoded may differ from those before.
  [[nodiscard]] bool is_lossy() const;
  // The size of an encoded chunk of `shape`, where it does not depend on the voxels.
  [[nodiscard]] std::optional<std::uint64_t> EncodedSize(ShapeSpan shape) const;

  // The voxels of a chunk of `shape`, slowest axis first: in Zarr the chunk shape, in precomputed
  // volumes clipped to the volume. The header of an N5 block may have another shape: its voxels are
  // clipped to `shape`, or extended by zeros. Fails as CanDecode does, with kDataLoss where
  // `encoded` is damaged, and with kResourceExhausted before it would decode to much more than the
  // chunk has: the byte codec next to the items is bounded by their size, the others by 16 times
  // that and 64 KiB.
  [[nodiscard]] Result<Voxels> Decode(ByteSpan encoded, ShapeSpan shape) const;
  // The same bytes for the same voxels and version of the libraries. Fails as CanEncode does, with
  // kInvalidArgument where type or shape are not those of a chunk of the array, and with
  // kResourceExhausted where the format cannot take so many bytes.
  [[nodiscard]] Result<ByteVector> Encode(Voxels voxels) const;

  // What is known of stored chunks of `shape` without decoding their voxels, as ChunkCheck has it:
  // a fixed size, that the bytes-to-bytes codecs at the end decode, to the bytes of all items where
  // these have a fixed size, and what the array-to-bytes codec finds in its headers.
  [[nodiscard]] std::optional<std::uint64_t> FixedSize(ShapeSpan shape) const;
  [[nodiscard]] std::uint64_t NeededBytes(std::uint64_t size, ShapeSpan shape) const;
  [[nodiscard]] Status Check(ByteSpan start, std::uint64_t size, ShapeSpan shape) const;

 private:
  friend class ChainBinder;
  explicit CodecChain(const ArrayRepresentation& decoded) : decoded_(decoded) {}

  // What the array-to-array codecs give.
  [[nodiscard]] const ArrayRepresentation& encoded() const;
  [[nodiscard]] Result<std::vector<Shape>> ShapesOf(ShapeSpan shape) const;
  // The size to which the bytes-to-bytes codecs decode, where no other one is right.
  [[nodiscard]] std::optional<std::uint64_t> FixedItems(ShapeSpan shape) const;
  [[nodiscard]] std::optional<std::uint64_t> WithOverheads(
      std::optional<std::uint64_t> items) const;
  [[nodiscard]] Status CheckDecoding(ByteSpan stored, std::optional<std::uint64_t> items,
                                     ShapeSpan shape) const;
  [[nodiscard]] Result<Voxels> DecodeBytes(ByteSpan encoded, const Shape& shape) const;
  [[nodiscard]] Status ExpectDeclared(const Voxels& voxels, std::size_t count,
                                      const Shape& shape) const;
  [[nodiscard]] Status ProveDecoding(ByteSpan encoded, ShapeSpan shape) const;

  ArrayRepresentation decoded_;
  // In the order of encoding.
  std::vector<ArrayCodecPtr> array_codecs_;
  ArrayToBytesCodecPtr to_bytes_;  // null until the chain is bound
  std::vector<BytesCodecPtr> bytes_codecs_;
  ChainSpec codecs_;
};
using ChunkCodecPtr = std::shared_ptr<const CodecChain>;

// Whether each of two chains of items of one type decodes what the other one encodes to the same
// voxels. Levels, and other options of encoding, may differ.
bool SameEncoding(const CodecChain& a, const CodecChain& b);

}  // namespace unshard
