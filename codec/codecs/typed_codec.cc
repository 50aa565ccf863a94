#include "codec/codecs/typed_codec.h"

#include <utility>

#include "codec/chain/transpose.h"
#include "codec/codecs/item_values.h"

namespace unshard {
namespace {

using Kind = DataType::Kind;

// Of items that are taken for booleans one bit of a byte is kept, and of those that are taken for
// floats not all bits of NaNs.
bool KeepsBitsOf(const DataType& items, const DataType& plain) {
  return (plain.kind != Kind::kBool && plain.kind != Kind::kFloat) || plain.kind == items.kind;
}

// The same bytes as items of another type, where these are the byte orders of both.
Result<Voxels> TakeFor(Voxels voxels, bool was_big_endian, const NumpyType& type, Shape shape) {
  const std::uint32_t was_ordered = voxels.type().ordered_size();
  ByteVector bytes = std::move(voxels).TakeBytes();
  const bool alike = was_big_endian == type.big_endian && was_ordered == type.type.ordered_size();
  if (!alike && was_big_endian) ReverseBytes(bytes, was_ordered);
  if (!alike && type.big_endian) ReverseBytes(bytes, type.type.ordered_size());
  return Voxels::Make(type.type, std::move(shape), std::move(bytes));
}

}  // namespace

TypedCodec::TypedCodec(const CodecSpec& spec, const ArrayRepresentation& decoded,
                       const FilterTypes& types, bool is_lossless)
    : name_(spec.name),
      decoded_(decoded),
      types_(types),
      is_lossless_(is_lossless && KeepsBitsOf(decoded.type, types.plain.type)) {
  const bool same_size = decoded.type.size == types.plain.type.size;
  encoded_ = {types.stored.type, same_size ? decoded.rank : 1, types.stored.big_endian};
}

Result<Shape> TypedCodec::PlainShape(ShapeSpan decoded) const {
  const std::uint32_t size = plain_type().size;
  if (size == decoded_.type.size) return Shape(decoded.begin(), decoded.end());
  UNSHARD_ASSIGN_OR_RETURN(const std::uint64_t bytes, VoxelBytes(decoded_.type, decoded));
  if (bytes % size == 0) return Shape{bytes / size};
  return Fail(ErrorCode::kInvalidArgument, name_, ": expected a multiple of ", size,
              " bytes, found ", bytes);
}

Result<Shape> TypedCodec::EncodedShape(ShapeSpan decoded) const {
  UNSHARD_ASSIGN_OR_RETURN(Shape shape, PlainShape(decoded));
  return StoredShape(std::move(shape));
}

Result<Voxels> TypedCodec::Encode(Voxels decoded) const {
  UNSHARD_RETURN_IF_ERROR(CanEncode());
  UNSHARD_ASSIGN_OR_RETURN(Shape shape, PlainShape(decoded.shape()));
  UNSHARD_ASSIGN_OR_RETURN(Voxels items, TakeFor(std::move(decoded), decoded_.big_endian,
                                                 types_.plain, std::move(shape)));
  return EncodeItems(std::move(items));
}

Result<Voxels> TypedCodec::Decode(Voxels encoded, ShapeSpan decoded) const {
  UNSHARD_ASSIGN_OR_RETURN(const Shape shape, PlainShape(decoded));
  UNSHARD_ASSIGN_OR_RETURN(Voxels items, DecodeItems(std::move(encoded), shape));
  return TakeFor(std::move(items), types_.plain.big_endian, {decoded_.type, decoded_.big_endian},
                 {decoded.begin(), decoded.end()});
}

Status RefuseOtherSize(const CodecSpec& spec, const ArrayRepresentation& decoded,
                       const NumpyType& plain) {
  if (decoded.may_change_size || plain.type.size == decoded.type.size) return {};
  return Fail(ErrorCode::kNotSupported, spec.at(), " takes items of ", DataTypeName(plain.type),
              ", but the codec before it produces items of ", decoded.type.size, " bytes");
}

Result<NumpyType> ParseItemType(const CodecSpec& spec, const char* key,
                                const std::optional<NumpyType>& absent) {
  UNSHARD_ASSIGN_OR_RETURN(const auto found, spec.options().Find(key));
  if (!found && absent) return *absent;
  if (!found) {
    return Fail(ErrorCode::kDataLoss, spec.configuration_path(), ": expected the member \"", key,
                "\"");
  }
  UNSHARD_ASSIGN_OR_RETURN(const std::string name, found->String());
  if (const auto type = ParseNumpyType(name)) return *type;
  // NumPy's other names, which are those of Zarr v3.
  if (const auto type = FindDataType(DataTypeDialect::kZarr, name)) return NumpyType{*type, false};
  return Fail(ErrorCode::kNotSupported, found->path(), ": unsupported data type \"", name, "\"");
}

Result<NumpyType> ParseNumberType(const CodecSpec& spec, const char* key,
                                  const std::optional<NumpyType>& absent) {
  UNSHARD_ASSIGN_OR_RETURN(const NumpyType type, ParseItemType(spec, key, absent));
  if (IsNumberType(type.type)) return type;
  return Fail(ErrorCode::kNotSupported, spec.configuration_path(), ": converting values of ",
              DataTypeName(type.type), " is not supported");
}

tl::unexpected<Error> EncodesOnlyFloats(const std::string& codec) {
  return Fail(ErrorCode::kNotSupported, "the codec \"", codec,
              "\" encodes only floats; other types can only be read");
}

}  // namespace unshard
