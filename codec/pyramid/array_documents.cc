#include "codec/pyramid/array_documents.h"

#include <utility>

#include "codec/n5/dataset.h"
#include "codec/precomputed/info.h"
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

Result<ArrayMetadata> ParseArray(ArrayDialect dialect, const JsonValue& document,
                                 const JsonValue& attributes) {
  switch (dialect) {
    case ArrayDialect::kZarr3: {
      UNSHARD_ASSIGN_OR_RETURN(ZarrNode node, ParseZarrNode(document));
      return std::move(node.array);
    }
    case ArrayDialect::kN5:
      return ParseN5Dataset(document);
    case ArrayDialect::kZarr2:
      return ParseZarr2Array(document, attributes);
    case ArrayDialect::kPrecomputed:
      break;
  }
  return Fail(ErrorCode::kInternal, "expected a single array, found a precomputed volume");
}

Result<ArrayMetadata> ReadArray(ArrayDialect dialect, const JsonValue& document,
                                const JsonValue& attributes) {
  return ForVoxels(ParseArray(dialect, document, attributes));
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

}  // namespace unshard
