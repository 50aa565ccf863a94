#include "codec/pyramid/array_documents.h"

#include <utility>

#include "codec/json/writer.h"
#include "codec/n5/dataset.h"
#include "codec/precomputed/info.h"
#include "codec/precomputed/scale.h"
#include "codec/zarr2/array.h"
#include "codec/zarr3/document.h"

namespace unshard {

Result<std::vector<ArrayMetadata>> ReadScales(const JsonValue& info) {
  UNSHARD_ASSIGN_OR_RETURN(NeuroglancerInfo parsed, ParseNeuroglancerInfo(info));
  std::vector<ArrayMetadata> arrays;
  for (VolumeScale& scale : parsed.scales) {
    UNSHARD_RETURN_IF_ERROR(scale.array.voxels);
    arrays.push_back(std::move(scale.array));
  }
  return arrays;
}

Result<ArrayMetadata> ReadArray(ArrayDialect dialect, const JsonValue& document,
                                const JsonValue& attributes) {
  switch (dialect) {
    case ArrayDialect::kZarr3:
      return ParseZarr3Array(document);
    case ArrayDialect::kN5:
      return ParseN5Dataset(JsonCursor(document, ""));
    case ArrayDialect::kZarr2:
      return ParseZarr2Array(WriteJson(document, 0),
                             attributes.is_null() ? std::string() : WriteJson(attributes, 0));
    case ArrayDialect::kPrecomputed:
      break;
  }
  return Fail(ErrorCode::kInternal, "expected a single array, found a precomputed volume");
}

Result<ArrayDocuments> DocumentsOf(const ArrayMetadata& array) {
  ArrayDocuments documents;
  switch (array.dialect) {
    case ArrayDialect::kZarr3: {
      UNSHARD_ASSIGN_OR_RETURN(documents.array, WriteZarr3Array(array));
      return documents;
    }
    case ArrayDialect::kN5: {
      UNSHARD_ASSIGN_OR_RETURN(documents.array, WriteN5Dataset(array));
      return documents;
    }
    case ArrayDialect::kZarr2: {
      UNSHARD_ASSIGN_OR_RETURN(Zarr2Documents written, WriteZarr2Array(array));
      documents.array = std::move(written.zarray);
      if (!written.zattrs.members().empty()) documents.attributes = std::move(written.zattrs);
      return documents;
    }
    case ArrayDialect::kPrecomputed:
      break;
  }
  return Fail(ErrorCode::kInternal, "expected a single array, found a precomputed volume");
}

Result<ArrayMetadata> WithCodec(ArrayMetadata array) {
  if (array.dialect == ArrayDialect::kPrecomputed) {
    UNSHARD_ASSIGN_OR_RETURN(
        array.codec, MakePrecomputedChunkCodec(JsonCursor(array.codec_json, ""), array.data_type,
                                               array.shape.front()));
    return array;
  }
  UNSHARD_ASSIGN_OR_RETURN(const ArrayDocuments documents, DocumentsOf(array));
  UNSHARD_ASSIGN_OR_RETURN(const ArrayMetadata read,
                           ReadArray(array.dialect, documents.array, documents.attributes));
  array.codec = read.codec;
  return array;
}

}  // namespace unshard
