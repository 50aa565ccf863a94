#include "codec/pyramid/passed_chunks.h"

#include <string>
#include <string_view>
#include <utility>

#include "codec/chain/codec_spec.h"
#include "codec/core/lower_case.h"
#include "codec/json/meaning.h"
#include "codec/json/number.h"
#include "codec/json/writer.h"
#include "codec/pyramid/chunk_mapping.h"
#include "codec/types/fill_value.h"
#include "codec/zarr2/array.h"

namespace unshard {
namespace {

// What decides how bytes are decoded. Codecs that are known may have other levels.
JsonValue EncodingOf(const Array& array) {
  JsonValue encoding = array.codec_json;
  if (array.dialect == Dialect::kPrecomputed) {
    encoding.Set("encoding", JsonValue::String(LowerCase(TextOf(encoding, "encoding"))));
  }
  if (array.dialect == Dialect::kZarr2) return Zarr2EncodingOf(encoding);
  if (array.dialect != Dialect::kZarr3) return encoding;
  const auto chain = ParseChainSpec(JsonCursor(array.codec_json, ""), array.rank());
  if (!chain) return encoding;
  JsonValue codecs = JsonValue::Array();
  for (const CodecSpec& codec : *chain) {
    const bool tells = codec.definition != nullptr && codec.definition->describes_itself;
    codecs.mutable_items().push_back(tells ? codec.DecodingKey() : codec.json);
  }
  return codecs;
}

tl::unexpected<Error> Differ(std::string_view what, const JsonValue& from, const JsonValue& to,
                             const Array& passed) {
  return Fail(ErrorCode::kInvalidArgument, "expected ", what, " ", WriteJson(from, 0),
              " of the source, found ", WriteJson(to, 0),
              ": its chunks can only be copied byte by byte (", passed.voxels.error().message, ")");
}

}  // namespace

Status CanPassChunks(const Array& from, const Array& to, const AxisMap& axes) {
  const Array& passed = OnlyPasses(from) ? from : to;
  if (from.dialect != to.dialect) {
    return Fail(ErrorCode::kNotSupported, passed.voxels.error().message);
  }
  if (from.type_name != to.type_name) {
    return Differ("the data type", JsonValue::String(from.type_name),
                  JsonValue::String(to.type_name), passed);
  }
  if (axes != SameAxes(from.rank()) || !HasSameChunks(from, to, axes)) {
    return Differ("chunks", ExtentsJson(from.chunk_shape), ExtentsJson(to.chunk_shape), passed);
  }
  const JsonValue encoding = EncodingOf(from), wanted = EncodingOf(to);
  if (!SameMeaning(encoding, wanted)) return Differ("the encoding", encoding, wanted, passed);
  if (SameFillValue(from.type_name, from.fill_json, to.fill_json)) return {};
  return Differ("the fill value", from.fill_json, to.fill_json, passed);
}

}  // namespace unshard
