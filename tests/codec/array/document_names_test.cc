#include "codec/array/document_names.h"

#include <gtest/gtest.h>

#include "codec/json/parser.h"

namespace unshard {
namespace {

TEST(DocumentNames, EachDialectHasOneAndIsFoundByIt) {
  for (const Dialect dialect : kDialects) {
    EXPECT_EQ(DialectOfDocument(ArrayDocumentName(dialect)), dialect) << DialectName(dialect);
  }
  for (const char* other : {"", ".zgroup", ".zattrs", ".zmetadata", "INFO", "zarr.json.gz"}) {
    EXPECT_EQ(DialectOfDocument(other), std::nullopt) << other;
  }
}

TEST(DocumentNames, ADocumentOfAGroupOrOfMeshesDescribesNoArrays) {
  struct Case {
    Dialect dialect;
    const char* document;
    bool describes;
  };
  const Case cases[] = {{Dialect::kPrecomputed, R"({"scales":[]})", true},
                        {Dialect::kPrecomputed, R"({"@type":"neuroglancer_skeletons"})", false},
                        {Dialect::kZarr3, R"({"node_type":"array"})", true},
                        {Dialect::kZarr3, R"({"node_type":"group"})", false},
                        {Dialect::kZarr2, R"({})", true},
                        {Dialect::kZarr2, "7", false},
                        {Dialect::kN5, R"({"dimensions":[9]})", true},
                        {Dialect::kN5, R"({"n5":"2.0.0"})", false},
                        {Dialect::kN5, "[]", false}};
  for (const Case& one : cases) {
    EXPECT_EQ(DescribesArrays(one.dialect, ParseJson(one.document).value()), one.describes)
        << DialectName(one.dialect) << " " << one.document;
  }
}

}  // namespace
}  // namespace unshard
