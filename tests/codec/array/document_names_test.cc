#include "codec/array/document_names.h"

#include <gtest/gtest.h>

#include "codec/json/parser.h"

namespace unshard {
namespace {

TEST(DocumentNames, EachDialectHasOneAndIsFoundByIt) {
  for (const ArrayDialect dialect : kDialects) {
    EXPECT_EQ(DialectOfDocument(ArrayDocumentName(dialect)), dialect) << DialectName(dialect);
  }
  for (const char* other : {"", ".zgroup", ".zattrs", ".zmetadata", "INFO", "zarr.json.gz"}) {
    EXPECT_EQ(DialectOfDocument(other), std::nullopt) << other;
  }
}

TEST(DocumentNames, ADocumentOfAGroupOrOfMeshesDescribesNoArrays) {
  struct Case {
    ArrayDialect dialect;
    const char* document;
    bool describes;
  };
  const Case cases[] = {
      {ArrayDialect::kPrecomputed, R"({"scales":[]})", true},
      {ArrayDialect::kPrecomputed, R"({"@type":"neuroglancer_skeletons"})", false},
      {ArrayDialect::kZarr3, R"({"node_type":"array"})", true},
      {ArrayDialect::kZarr3, R"({"node_type":"group"})", false},
      {ArrayDialect::kZarr2, R"({})", true},
      {ArrayDialect::kZarr2, "7", false},
      {ArrayDialect::kN5, R"({"dimensions":[9]})", true},
      {ArrayDialect::kN5, R"({"n5":"2.0.0"})", false},
      {ArrayDialect::kN5, "[]", false}};
  for (const Case& one : cases) {
    EXPECT_EQ(DescribesArrays(one.dialect, ParseJson(one.document).value()), one.describes)
        << DialectName(one.dialect) << " " << one.document;
  }
}

}  // namespace
}  // namespace unshard
