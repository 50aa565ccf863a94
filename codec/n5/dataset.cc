#include "codec/n5/dataset.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>

#include "codec/array/document.h"
#include "codec/codecs/n5_block.h"
#include "codec/json/number.h"

namespace unshard {
namespace {

constexpr std::uint64_t kMaxExtent = ~std::uint64_t{0} >> 1;
constexpr std::uint64_t kMaxBlockExtent = 0x7fffffff;

class DatasetParser {
 public:
  explicit DatasetParser(const JsonCursor& document) : document_(document) {
    array_.dialect = Dialect::kN5;
  }

  Result<Array> Parse() {
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor dimensions, document_.Member("dimensions"));
    UNSHARD_ASSIGN_OR_RETURN(array_.shape, dimensions.UnsignedItems(0, kMaxExtent));
    array_.shape = ReversedAxes(std::move(array_.shape));
    array_.origin.assign(array_.rank(), 0);
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor block_size, document_.Member("blockSize"));
    UNSHARD_ASSIGN_OR_RETURN(
        array_.chunk_shape,
        ParseChunkShape(block_size, ReversedAxes(array_.shape), kMaxBlockExtent));
    if (array_.chunk_shape.size() != array_.rank()) {
      return block_size.Expected(std::to_string(array_.rank()) +
                                 " extents, as many as `dimensions`");
    }
    array_.chunk_shape = ReversedAxes(std::move(array_.chunk_shape));
    if (const auto grid = GridOf(array_); !grid) return Forward(grid.error(), block_size.path());
    array_.type_name = TextOf(document_.value(), "dataType");
    TakeCompression();
    if (const JsonValue* codecs = document_.value().Find("codecs")) array_.sharding = *codecs;
    array_.voxels = TakeVoxels();
    array_.attributes = document_.value();
    for (const char* key : kN5DatasetMembers) array_.attributes.Erase(key);
    return std::move(array_);
  }

 private:
  // What only voxels need.
  Status TakeVoxels() {
    const Status axes = TakeAxes();
    const JsonValue* const labels = document_.value().Find("isLabelMultiset");
    if (labels != nullptr && labels->is_boolean() && labels->boolean()) {
      return Fail(ErrorCode::kNotSupported, MemberPath(document_.path(), "isLabelMultiset"),
                  ": label multisets are not supported; their blocks are no voxels");
    }
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor cursor, document_.Member("dataType"));
    UNSHARD_ASSIGN_OR_RETURN(const std::string name, cursor.String());
    const auto type = FindDataType(DataTypeDialect::kN5, name);
    if (!type) {
      array_.passable = Fail(ErrorCode::kNotSupported, cursor.path(), ": unsupported data type \"",
                             name, "\"; expected integers or floats");
      return array_.passable;
    }
    array_.data_type = *type;
    UNSHARD_ASSIGN_OR_RETURN(const auto codecs, document_.OptionalMember("codecs"));
    if (codecs) {
      array_.passable = Fail(ErrorCode::kNotSupported, codecs->path(),
                             ": block codecs are not supported; expected `compression`");
      return array_.passable;
    }
    if (!axes) array_.passable = Forward(axes.error(), "");
    if (array_.codec_json.is_null()) {
      UNSHARD_RETURN_IF_ERROR(document_.Member("compression"));
    }
    const JsonCursor compression(array_.codec_json, compression_path_);
    UNSHARD_ASSIGN_OR_RETURN(const ChainSpec chain, N5ChainSpec(compression, array_.chunk_shape));
    UNSHARD_ASSIGN_OR_RETURN(array_.codec, CodecChain::Bind(chain, compression_path_,
                                                            {array_.data_type, array_.rank()}));
    return axes;
  }

  // The first version had one name for the compression.
  void TakeCompression() {
    const JsonValue* const compression = document_.value().Find("compression");
    const JsonValue* const old_type = document_.value().Find("compressionType");
    if (compression != nullptr && !compression->is_null()) {
      array_.codec_json = *compression;
    } else if (old_type != nullptr && !old_type->is_null()) {
      array_.codec_json = JsonValue::Object({{"type", *old_type}});
      compression_path_ = "compressionType";
    }
  }

  Status TakeAxes() {
    UNSHARD_ASSIGN_OR_RETURN(const auto names, document_.OptionalMember("axes"));
    if (names) {
      UNSHARD_ASSIGN_OR_RETURN(auto parsed, ParseAxisNames(*names, array_.rank()));
      array_.axis_names = ReversedAxes(std::move(parsed));
    }
    UNSHARD_ASSIGN_OR_RETURN(const auto units, document_.OptionalMember("units"));
    UNSHARD_ASSIGN_OR_RETURN(const auto resolution, document_.OptionalMember("resolution"));
    if (!units && !resolution) return {};
    DimensionUnits parsed(array_.rank());
    if (units) {
      UNSHARD_ASSIGN_OR_RETURN(parsed, ParseUnitTexts(*units, array_.rank()));
    }
    if (resolution) {
      UNSHARD_ASSIGN_OR_RETURN(const auto items, resolution->Items());
      if (items.size() != array_.rank()) {
        return resolution->Expected("one number for each dimension");
      }
      for (std::size_t i = 0; i < items.size(); ++i) {
        UNSHARD_ASSIGN_OR_RETURN(const double factor, FiniteNumberAt(items[i]));
        if (!parsed[i]) parsed[i] = DimensionUnit{};
        parsed[i]->multiplier *= factor;
      }
    }
    array_.units = ReversedAxes(std::move(parsed));
    return {};
  }

  const JsonCursor document_;
  std::string compression_path_ = "compression";
  Array array_;
};

// `units` has the bases, `resolution` the multipliers; an axis without a unit has "" and 1.
void SetUnits(const Array& array, JsonValue& document) {
  std::vector<JsonValue> bases;
  std::vector<JsonValue> numbers;
  for (const auto& unit : ReversedAxes(array.units)) {
    bases.push_back(JsonValue::String(unit ? unit->base : ""));
    numbers.push_back(NumberJson(unit ? unit->multiplier : 1));
  }
  document.Set("units", JsonValue::Array(std::move(bases)));
  document.Set("resolution", JsonValue::Array(std::move(numbers)));
}

// `axes` of N5 has no null: axes without a name have "".
// TensorStore opens no dataset in which a name occurs twice: only the first axis keeps it.
JsonValue NamesJson(const Array& array) {
  std::vector<JsonValue> names;
  std::set<std::string> seen;
  for (const auto& axis : array.axis_names) {
    const bool is_first = axis && seen.insert(*axis).second;
    names.push_back(JsonValue::String(is_first ? *axis : ""));
  }
  std::reverse(names.begin(), names.end());
  return JsonValue::Array(std::move(names));
}

}  // namespace

Result<Array> ParseN5Dataset(const JsonValue& document) {
  return DatasetParser(JsonCursor(document, "")).Parse();
}

Result<JsonValue> WriteN5Dataset(const Array& array) {
  UNSHARD_RETURN_IF_ERROR(RefuseOrigin(array));
  const std::string type = DataTypeName(array.data_type);
  if (!FindDataType(DataTypeDialect::kN5, type)) {
    return Fail(ErrorCode::kNotSupported, "N5 has no data type ", type);
  }
  if (std::any_of(array.chunk_shape.begin(), array.chunk_shape.end(),
                  [](std::uint64_t extent) { return extent > kMaxBlockExtent; })) {
    return Fail(ErrorCode::kInvalidArgument, "N5: the extents of blocks must be below 2^31");
  }
  JsonValue document = JsonValue::Object();
  document.Set("dimensions", ExtentsJson(ReversedAxes(array.shape)));
  document.Set("blockSize", ExtentsJson(ReversedAxes(array.chunk_shape)));
  document.Set("dataType", JsonValue::String(type));
  document.Set("compression", array.codec_json);
  if (!array.axis_names.empty()) document.Set("axes", NamesJson(array));
  if (!array.units.empty()) SetUnits(array, document);
  for (const auto& [key, value] : array.attributes.members()) {
    if (document.Find(key) == nullptr) document.Set(key, value);
  }
  return document;
}

}  // namespace unshard
