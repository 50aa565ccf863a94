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

Result<std::vector<Array>> ParseScales(const JsonValue& info) {
  UNSHARD_ASSIGN_OR_RETURN(NeuroglancerInfo parsed, ParseNeuroglancerInfo(info));
  std::vector<Array> arrays;
  for (VolumeScale& scale : parsed.scales) arrays.push_back(std::move(scale.array));
  return arrays;
}

Result<std::vector<Array>> ReadScales(const JsonValue& info) {
  UNSHARD_ASSIGN_OR_RETURN(std::vector<Array> arrays, ParseScales(info));
  for (const Array& array : arrays) UNSHARD_RETURN_IF_ERROR(array.voxels);
  return arrays;
}

Result<Array> ParseArray(Dialect dialect, const JsonValue& document, const JsonValue& attributes) {
  switch (dialect) {
    case Dialect::kZarr3: {
      UNSHARD_ASSIGN_OR_RETURN(ZarrNode node, ParseZarrNode(document));
      return std::move(node.array);
    }
    case Dialect::kN5:
      return ParseN5Dataset(document);
    case Dialect::kZarr2:
      return ParseZarr2Array(document, attributes);
    case Dialect::kPrecomputed:
      break;
  }
  return Fail(ErrorCode::kInternal, "expected a single array, found a precomputed volume");
}

Result<Array> ReadArray(Dialect dialect, const JsonValue& document, const JsonValue& attributes) {
  return ForVoxels(ParseArray(dialect, document, attributes));
}

Result<std::vector<MetadataDocument>> DocumentsOf(const Array& array,
                                                  const std::string& directory) {
  MetadataDocument document{directory, ArrayDocumentName(array.dialect), {}};
  JsonValue attributes;
  switch (array.dialect) {
    case Dialect::kZarr3: {
      UNSHARD_ASSIGN_OR_RETURN(document.content, WriteZarr3Array(array));
      break;
    }
    case Dialect::kN5: {
      UNSHARD_ASSIGN_OR_RETURN(document.content, WriteN5Dataset(array));
      break;
    }
    case Dialect::kZarr2: {
      UNSHARD_ASSIGN_OR_RETURN(Zarr2Documents written, WriteZarr2Array(array));
      document.content = std::move(written.zarray);
      attributes = std::move(written.zattrs);
      break;
    }
    case Dialect::kPrecomputed:
      return Fail(ErrorCode::kInternal, "expected a single array, found a precomputed volume");
  }
  std::vector<MetadataDocument> documents = {std::move(document)};
  if (!attributes.members().empty()) {
    documents.push_back({directory, kZarr2Attributes, std::move(attributes)});
  }
  return documents;
}

std::vector<MetadataDocument> DocumentsOfGroup(Dialect dialect, JsonValue attributes,
                                               const std::string& directory) {
  std::vector<MetadataDocument> documents;
  switch (dialect) {
    case Dialect::kZarr3: {
      JsonValue group = JsonValue::Object({{"zarr_format", IntegerNumber(3)},
                                           {"node_type", JsonValue::String("group")},
                                           {"attributes", std::move(attributes)}});
      documents.push_back({directory, ArrayDocumentName(dialect), std::move(group)});
      break;
    }
    case Dialect::kZarr2:
      documents.push_back(
          {directory, ".zgroup", JsonValue::Object({{"zarr_format", IntegerNumber(2)}})});
      if (!attributes.members().empty()) {
        documents.push_back({directory, kZarr2Attributes, std::move(attributes)});
      }
      break;
    case Dialect::kN5:
      documents.push_back({directory, ArrayDocumentName(dialect), std::move(attributes)});
      break;
    case Dialect::kPrecomputed:
      break;
  }
  return documents;
}

}  // namespace unshard
