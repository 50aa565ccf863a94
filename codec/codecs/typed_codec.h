// The filters of numcodecs, which take the items that reach them for items of a type of their own.
#pragma once

#include <optional>
#include <string>

#include "codec/chain/codec.h"
#include "codec/chain/codec_spec.h"
#include "codec/types/data_type.h"

namespace unshard {

// The types that such a filter names.
struct FilterTypes {
  NumpyType plain;   // of the items that it takes
  NumpyType stored;  // of those that it gives
};

// It takes the bytes of items for those of its type `plain`, as numcodecs does: where byte order or
// size differ, for other values. Immutable; thread-safe; pure.
class TypedCodec : public ArrayToArrayCodec {
 public:
  // `is_lossless`: for all values of the type `plain`.
  TypedCodec(const CodecSpec& spec, const ArrayRepresentation& decoded, const FilterTypes& types,
             bool is_lossless);

  [[nodiscard]] const ArrayRepresentation& encoded() const final { return encoded_; }
  [[nodiscard]] bool is_lossless() const final { return is_lossless_; }
  [[nodiscard]] Result<Shape> EncodedShape(ShapeSpan decoded) const final;
  [[nodiscard]] Result<Voxels> Encode(Voxels decoded) const final;
  [[nodiscard]] Result<Voxels> Decode(Voxels encoded, ShapeSpan decoded) const final;

 protected:
  // From voxels of plain_type() to voxels of stored_type() in StoredShape, and back.
  [[nodiscard]] virtual Result<Voxels> EncodeItems(Voxels plain) const = 0;
  [[nodiscard]] virtual Result<Voxels> DecodeItems(Voxels stored, ShapeSpan plain) const = 0;
  [[nodiscard]] virtual Shape StoredShape(Shape plain) const { return plain; }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const DataType& plain_type() const { return types_.plain.type; }
  [[nodiscard]] const DataType& stored_type() const { return types_.stored.type; }

 private:
  [[nodiscard]] Result<Shape> PlainShape(ShapeSpan decoded) const;

  const std::string name_;
  const ArrayRepresentation decoded_;
  const FilterTypes types_;
  const bool is_lossless_;
  ArrayRepresentation encoded_;
};

// kNotSupported where the filter would take items of another size, and may not.
Status RefuseOtherSize(const CodecSpec& spec, const ArrayRepresentation& decoded,
                       const NumpyType& plain);

// The type in the member `key`. Where that is absent: `absent`, or, without one, kDataLoss. Fails
// with kNotSupported for types that are not known here.
Result<NumpyType> ParseItemType(const CodecSpec& spec, const char* key,
                                const std::optional<NumpyType>& absent = std::nullopt);
// The same; kNotSupported unless IsNumberType.
Result<NumpyType> ParseNumberType(const CodecSpec& spec, const char* key,
                                  const std::optional<NumpyType>& absent = std::nullopt);

// kNotSupported: the codec rounds floats, and is bound to other items.
tl::unexpected<Error> EncodesOnlyFloats(const std::string& codec);

}  // namespace unshard
