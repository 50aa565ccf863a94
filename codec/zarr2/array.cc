#include "codec/zarr2/array.h"

#include <optional>
#include <string>
#include <utility>

#include "codec/array/document.h"
#include "codec/chain/codec_chain.h"
#include "codec/chain/codec_spec.h"
#include "codec/chain/codec_spelling.h"
#include "codec/chain/definition.h"
#include "codec/chain/transpose.h"
#include "codec/json/writer.h"
#include "codec/types/data_type.h"
#include "codec/types/fill_value.h"
#include "codec/types/time_type.h"

namespace unshard {
namespace {

constexpr std::uint64_t kMaxExtent = ~std::uint64_t{0} >> 1;
constexpr const char* kAxisNames = "_ARRAY_DIMENSIONS";
constexpr const char* kCodecMembers[] = {"dtype", "order", "compressor", "filters"};

struct ItemType {
  NumpyType numbers;
  JsonValue item_type;  // as Array has it
};

Result<ItemType> ParseType(const JsonCursor& dtype) {
  const auto type = ParseNumpyType(dtype.value().text());
  if (dtype.value().is_string() && type) return ItemType{*type, {}};
  auto time = ParseNumpyTime(dtype.value().text());
  if (dtype.value().is_string() && time) {
    return ItemType{{kTimeNumber, time->big_endian}, std::move(time->data_type)};
  }
  if (!dtype.value().is_string() && !dtype.value().is_array()) return dtype.Expected("a string");
  const char* const expected = dtype.value().is_array()
                                   ? "structured types are not supported"
                                   : "expected a type of numbers, booleans, times or raw bytes";
  return Fail(ErrorCode::kNotSupported, dtype.path(), ": unsupported data type ",
              WriteJson(dtype.value(), 0), "; ", expected);
}

// A string that is one of two letters.
Result<char> ParseLetter(const JsonCursor& value, char a, char b) {
  const std::string& text = value.value().text();
  const bool known =
      value.value().is_string() && text.size() == 1 && (text[0] == a || text[0] == b);
  if (known) return text[0];
  return value.Expected(std::string("\"") + a + "\" or \"" + b + "\"");
}

// Collects the filters and the compressor in the order of encoding. Zarr v2 does not name `bytes`,
// which stores items as the filters give them where the compressor does not encode items itself.
class ChainParser {
 public:
  explicit ChainParser(bool is_big_endian) : is_big_endian_(is_big_endian) {}

  Status TakeOrder(const JsonCursor& order, std::size_t rank) {
    UNSHARD_ASSIGN_OR_RETURN(const char letter, ParseLetter(order, 'C', 'F'));
    if (letter == 'C') return {};
    chain_.push_back(CodecOfZarr3(
        "transpose", JsonValue::Object({{"order", ExtentsJson(ReversedOrder(rank))}})));
    return {};
  }

  Status TakeCodec(const JsonCursor& codec) {
    UNSHARD_ASSIGN_OR_RETURN(CodecSpec spec, ParseNamedCodec(codec, Dialect::kZarr2));
    if (spec.definition != nullptr && spec.definition->IsBytesToBytes()) {
      TakeBytes();
    } else {
      has_filters_ = true;
      has_bytes_ |= spec.definition != nullptr && spec.definition->IsArrayToBytes();
    }
    chain_.push_back(std::move(spec));
    return {};
  }

  Result<ChunkCodecPtr> Finish(const DataType& type, std::size_t rank) && {
    TakeBytes();
    return CodecChain::Bind(chain_, "", {type, rank, is_big_endian_ && has_filters_});
  }

 private:
  // Filters find the byte order in the items that they take.
  void TakeBytes() {
    if (has_bytes_) return;
    has_bytes_ = true;
    const char* const endian = is_big_endian_ && !has_filters_ ? "big" : "little";
    chain_.push_back(
        CodecOfZarr3("bytes", JsonValue::Object({{"endian", JsonValue::String(endian)}})));
  }

  const bool is_big_endian_;
  ChainSpec chain_;
  bool has_filters_ = false;
  bool has_bytes_ = false;
};

class ArrayParser {
 public:
  explicit ArrayParser(const JsonCursor& document) : document_(document) {
    array_.dialect = Dialect::kZarr2;
  }

  Result<Array> Parse() {
    UNSHARD_RETURN_IF_ERROR(document_.UnsignedMember("zarr_format", 2, 2));
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor shape, document_.Member("shape"));
    UNSHARD_ASSIGN_OR_RETURN(array_.shape, shape.UnsignedItems(0, kMaxExtent));
    array_.origin.assign(array_.rank(), 0);
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor chunks, document_.Member("chunks"));
    UNSHARD_ASSIGN_OR_RETURN(array_.chunk_shape, ParseChunkShape(chunks, array_.shape, kMaxExtent));
    if (array_.chunk_shape.size() != array_.rank()) {
      return chunks.Expected(std::to_string(array_.rank()) + " extents, as many as `shape`");
    }
    if (const auto grid = GridOf(array_); !grid) return Forward(grid.error(), chunks.path());
    array_.type_name = TextOf(document_.value(), "dtype");
    array_.codec_json = JsonValue::Object();
    for (const char* key : kCodecMembers) {
      const JsonValue* const member = document_.value().Find(key);
      if (member != nullptr) array_.codec_json.Set(key, *member);
    }
    if (const JsonValue* fill = document_.value().Find("fill_value")) array_.fill_json = *fill;
    array_.voxels = TakeVoxels();
    return std::move(array_);
  }

 private:
  Status TakeVoxels() {
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor dtype, document_.Member("dtype"));
    array_.passable = TakeSeparator();
    UNSHARD_ASSIGN_OR_RETURN(ItemType type, ParseType(dtype));
    array_.data_type = type.numbers.type;
    array_.item_type = std::move(type.item_type);
    UNSHARD_RETURN_IF_ERROR(TakeFillValue());
    UNSHARD_RETURN_IF_ERROR(array_.passable);
    UNSHARD_ASSIGN_OR_RETURN(array_.codec, MakeZarr2ChunkCodec(document_, array_.rank()));
    return {};
  }

  Status TakeFillValue() {
    UNSHARD_ASSIGN_OR_RETURN(const auto fill, document_.OptionalMember("fill_value"));
    if (!fill) return {};
    const bool is_raw = array_.data_type.kind == DataType::Kind::kRaw;
    const bool is_time = !array_.item_type.is_null();
    const JsonValue value = is_raw    ? fill->value()
                            : is_time ? WithNumberOfNoTime(fill->value())
                                      : WithNumbersOfStrings(fill->value());
    UNSHARD_ASSIGN_OR_RETURN(array_.fill_value,
                             ParseFillValue(JsonCursor(value, fill->path()), array_.data_type));
    return {};
  }

  Status TakeSeparator() {
    array_.key_encoding = {ChunkKeyEncoding::Kind::kV2, '.'};
    UNSHARD_ASSIGN_OR_RETURN(const auto found, document_.OptionalMember("dimension_separator"));
    if (!found) return {};
    UNSHARD_ASSIGN_OR_RETURN(array_.key_encoding.separator, ParseLetter(*found, '.', '/'));
    return {};
  }

  const JsonCursor document_;
  Array array_;
};

Status TakeAttributes(const JsonValue& zattrs, Array& array) {
  const JsonCursor document(zattrs, "");
  UNSHARD_RETURN_IF_ERROR(document.ExpectObject());
  array.attributes = zattrs;
  UNSHARD_ASSIGN_OR_RETURN(const auto names, document.OptionalMember(kAxisNames));
  if (!names) return {};
  // A convention of xarray. A value of another form is an ordinary attribute.
  auto parsed = ParseAxisNames(*names, array.rank());
  if (!parsed) return {};
  array.axis_names = *std::move(parsed);
  array.attributes.Erase(kAxisNames);
  return {};
}

}  // namespace

Result<ChunkCodecPtr> MakeZarr2ChunkCodec(const JsonCursor& members, std::size_t rank) {
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor dtype, members.Member("dtype"));
  UNSHARD_ASSIGN_OR_RETURN(const ItemType item, ParseType(dtype));
  const NumpyType& type = item.numbers;
  ChainParser parser(type.big_endian);
  UNSHARD_ASSIGN_OR_RETURN(const auto order, members.OptionalMember("order"));
  if (order) UNSHARD_RETURN_IF_ERROR(parser.TakeOrder(*order, rank));
  UNSHARD_ASSIGN_OR_RETURN(const auto filters, members.OptionalMember("filters"));
  if (filters) {
    constexpr std::size_t kMaxFilters = 64;
    UNSHARD_ASSIGN_OR_RETURN(const auto items, filters->Items(kMaxFilters));
    for (const JsonCursor& filter : items) UNSHARD_RETURN_IF_ERROR(parser.TakeCodec(filter));
  }
  UNSHARD_ASSIGN_OR_RETURN(const auto compressor, members.OptionalMember("compressor"));
  if (compressor) UNSHARD_RETURN_IF_ERROR(parser.TakeCodec(*compressor));
  return std::move(parser).Finish(type.type, rank);
}

JsonValue Zarr2CodecMembers(const DataType& type, const ChainSpec& chain) {
  JsonValue members = JsonValue::Object({{"compressor", JsonValue()}, {"filters", JsonValue()}});
  const bool is_reversed = chain.front().name == "transpose";
  bool big_endian = false;
  for (const CodecSpec& codec : chain) {
    if (codec.name == "bytes") big_endian = IsBigEndian(codec).value_or(false);
    if (codec.definition->IsBytesToBytes()) members.Set("compressor", NamedCodecJson(codec));
  }
  members.Set("order", JsonValue::String(is_reversed ? "F" : "C"));
  members.Set("dtype", JsonValue::String(NumpyTypeName({type, big_endian})));
  return members;
}

JsonValue Zarr2EncodingOf(const JsonValue& members) {
  JsonValue encoding = members;
  for (const char* const key : {"compressor", "filters"}) {
    const JsonValue* const member = encoding.Find(key);
    const bool is_empty = member != nullptr && member->is_array() && member->items().empty();
    if (member != nullptr && (member->is_null() || is_empty)) encoding.Erase(key);
  }
  if (TextOf(encoding, "order") == "C") encoding.Erase("order");
  return encoding;
}

Result<Array> ParseZarr2Array(const JsonValue& zarray, const JsonValue& zattrs) {
  UNSHARD_ASSIGN_OR_RETURN(Array array, ArrayParser(JsonCursor(zarray, "")).Parse());
  if (zattrs.is_null()) return array;
  auto taken = TakeAttributes(zattrs, array);
  if (!taken) {
    taken = Forward(std::move(taken).error(), ".zattrs");
    if (array.voxels) array.voxels = taken;
    if (array.passable) array.passable = std::move(taken);
  }
  return array;
}

Result<Zarr2Documents> WriteZarr2Array(const Array& array) {
  UNSHARD_RETURN_IF_ERROR(RefuseOrigin(array));
  if (array.key_encoding.kind != ChunkKeyEncoding::Kind::kV2) {
    return Fail(ErrorCode::kNotSupported,
                "Zarr v2 has no chunk keys that begin with \"c\": use the key encoding \"v2\"");
  }
  Zarr2Documents documents{JsonValue::Object(), array.attributes};
  JsonValue& zarray = documents.zarray;
  const auto copy = [&](const char* key, const JsonValue& absent) {
    const JsonValue* const member = array.codec_json.Find(key);
    zarray.Set(key, member != nullptr ? *member : absent);
  };
  zarray.Set("zarr_format", JsonValue::Number(std::uint64_t{2}));
  zarray.Set("shape", ExtentsJson(array.shape));
  zarray.Set("chunks", ExtentsJson(array.chunk_shape));
  copy("dtype", JsonValue::String(NumpyTypeName({array.data_type, false})));
  if (IsTime(array.item_type)) {
    const bool big_endian = TextOf(zarray, "dtype").starts_with('>');
    zarray.Set("dtype", JsonValue::String(NumpyTimeName({array.item_type, big_endian})));
  }
  copy("compressor", JsonValue());
  JsonValue fill_value = array.fill_json;
  if (array.fill_value) {
    UNSHARD_ASSIGN_OR_RETURN(fill_value, WriteZarr2FillValue(*array.fill_value, array.data_type));
  }
  zarray.Set("fill_value", std::move(fill_value));
  copy("order", JsonValue::String("C"));
  copy("filters", JsonValue());
  zarray.Set("dimension_separator",
             JsonValue::String(std::string(1, array.key_encoding.separator)));
  // Also for scalars: xarray opens no array without the list, which is empty there.
  if (HasAllNames(array)) documents.zattrs.Set(kAxisNames, AxisNamesJson(array.axis_names));
  return documents;
}

}  // namespace unshard
