#include "codec/schema/creation_steps.h"

#include <algorithm>
#include <utility>

namespace unshard {

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

Status CheckNoCodecChunks(const ChunkLayout& layout) {
  const auto& codec = layout.codec_chunk.shape;
  if (std::any_of(codec.begin(), codec.end(), [](const auto& one) { return one.hard(); })) {
    return CannotCreate("chunk_layout.codec_chunk.shape: this format has no codec chunks");
  }
  return {};
}

}  // namespace unshard
