#include "codec/pyramid/array_documents.h"

#include <utility>

#include "codec/array/document_names.h"
#include "codec/json/number.h"
#include "codec/n5/dataset.h"
#include "codec/precomputed/info.h"
#include "codec/zarr2/array.h"
#include "codec/zarr3/document.h"

namespace unshard {
namespace {

constexpr const char* kZarr2Attributes = ".zattrs";

}  // namespace

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

Result<std::vector<MetadataDocument>> DocumentsOf(const ArrayMetadata& array,
                                                  const std::string& directory) {
  MetadataDocument document{directory, ArrayDocumentName(array.dialect), {}};
  JsonValue attributes;
  switch (array.dialect) {
    case ArrayDialect::kZarr3: {
      UNSHARD_ASSIGN_OR_RETURN(document.content, WriteZarr3Array(array));
      break;
    }
    case ArrayDialect::kN5: {
      UNSHARD_ASSIGN_OR_RETURN(document.content, WriteN5Dataset(array));
      break;
    }
    case ArrayDialect::kZarr2: {
      UNSHARD_ASSIGN_OR_RETURN(Zarr2Documents written, WriteZarr2Array(array));
      document.content = std::move(written.zarray);
      attributes = std::move(written.zattrs);
      break;
    }
    case ArrayDialect::kPrecomputed:
      return Fail(ErrorCode::kInternal, "expected a single array, found a precomputed volume");
  }
  std::vector<MetadataDocument> documents = {std::move(document)};
  if (!attributes.members().empty()) {
    documents.push_back({directory, kZarr2Attributes, std::move(attributes)});
  }
  return documents;
}

std::vector<MetadataDocument> DocumentsOfGroup(ArrayDialect dialect, JsonValue attributes,
                                               const std::string& directory) {
  std::vector<MetadataDocument> documents;
  switch (dialect) {
    case ArrayDialect::kZarr3: {
      JsonValue group = JsonValue::Object({{"zarr_format", IntegerNumber(3)},
                                           {"node_type", JsonValue::String("group")},
                                           {"attributes", std::move(attributes)}});
      documents.push_back({directory, ArrayDocumentName(dialect), std::move(group)});
      break;
    }
    case ArrayDialect::kZarr2:
      documents.push_back(
          {directory, ".zgroup", JsonValue::Object({{"zarr_format", IntegerNumber(2)}})});
      if (!attributes.members().empty()) {
        documents.push_back({directory, kZarr2Attributes, std::move(attributes)});
      }
      break;
    case ArrayDialect::kN5:
      documents.push_back({directory, ArrayDocumentName(dialect), std::move(attributes)});
      break;
    case ArrayDialect::kPrecomputed:
      break;
  }
  return documents;
}

}  // namespace unshard
