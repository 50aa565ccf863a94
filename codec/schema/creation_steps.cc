#include "codec/schema/creation_steps.h"

#include <algorithm>
#include <utility>

namespace unshard {

tl::unexpected<Error> CannotCreate(std::string message) {
  return Fail(ErrorCode::kInvalidArgument, std::move(message));
}

Result<const DataTypeNames*> RequiredType(const Schema& schema) {
  if (schema.dtype != nullptr) return schema.dtype;
  return CannotCreate("dtype: missing: a new array needs its data type, for example uint8");
}

Result<IndexDomain> RequiredDomain(const Schema& schema, const IndexDomain& of_format) {
  if (!schema.domain && schema.rank != std::size_t{0}) {
    return CannotCreate(
        "domain: missing: a new array needs its extents, for example 1000,1000,100");
  }
  auto merged = MergeDomains(schema.domain.value_or(IndexDomain()), of_format);
  if (!merged) return CannotCreate(merged.error().message);
  if (!merged->finite()) return CannotCreate("domain: every dimension needs both bounds");
  return merged;
}

IndexDomain DomainFromZero(std::size_t rank) {
  IndexDomain domain;
  domain.dimensions.resize(rank);
  for (DomainDimension& one : domain.dimensions) {
    one.inclusive_min = 0;
    one.implicit_lower = false;
  }
  return domain;
}

Extents ExtentsOf(const IndexDomain& domain) {
  Extents extents;
  for (const DomainDimension& one : domain.dimensions) {
    extents.push_back(one.finite() ? std::optional(one.size()) : std::nullopt);
  }
  return extents;
}

Result<CodecConstraints> RequiredCodec(const Schema& schema, ArrayDialect dialect) {
  CodecConstraints codec;
  codec.dialect = dialect;
  if (schema.codec) {
    auto merged = MergeCodecConstraints(codec, *schema.codec);
    if (!merged) return CannotCreate(merged.error().message);
  }
  return codec;
}

Result<std::vector<std::int64_t>> ChooseSingleShape(const ChunkLayout& layout,
                                                    const Extents& extents) {
  ChunkShapeConstraints combined = layout.read_chunk;
  auto merged = combined.Merge(layout.write_chunk);
  if (!merged) {
    return CannotCreate("chunk_layout: without shards, write_chunk and read_chunk must agree: " +
                        merged.error().message);
  }
  return ChooseChunkShape(combined, extents);
}

Status CheckNoCodecChunks(const ChunkLayout& layout) {
  const auto& codec = layout.codec_chunk.shape;
  if (std::any_of(codec.begin(), codec.end(), [](const auto& one) { return one.hard(); })) {
    return CannotCreate("chunk_layout.codec_chunk.shape: this format has no codec chunks");
  }
  return {};
}

Status CheckChosenShape(ChunkLayout layout, const std::vector<std::int64_t>& shape) {
  const Constraints<std::int64_t> chosen = HardShape(shape);
  for (ChunkShapeConstraints* usage : {&layout.write_chunk, &layout.read_chunk}) {
    auto merged = MergeConstraints(usage->shape, chosen);
    if (!merged) return CannotCreate("chunk_layout: " + merged.error().message);
  }
  return CheckNoCodecChunks(layout);
}

JsonValue StringArray(const std::vector<std::string>& texts) {
  std::vector<JsonValue> items;
  for (const std::string& text : texts) items.push_back(JsonValue::String(text));
  return JsonValue::Array(std::move(items));
}

}  // namespace unshard
