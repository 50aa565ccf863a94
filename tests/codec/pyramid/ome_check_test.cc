// The documents of the conformance set of the specification of OME-Zarr (ngff-spec 277f209): what
// they say is valid, and what is not.
#include "codec/pyramid/ome_check.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "codec/json/parser.h"
#include "codec/pyramid/ome_version.h"
#include "tests/support/folders.h"

namespace unshard {
namespace {

JsonValue DocumentsIn(const std::string& name) {
  std::ifstream file(SourceFolder() + "/tests/codec/pyramid/" + name);
  return *ParseJson(std::string{std::istreambuf_iterator<char>(file), {}});
}

// Documents of the strict part that are invalid there alone: they lack what is recommended.
bool LacksWhatIsRecommended(const std::string& name) { return name.starts_with("strict/invalid/"); }

TEST(OmeCheck, TheConformanceSetIsJudgedAsItSays) {
  const JsonValue set = DocumentsIn("ome_0.6_conformance.json");
  EXPECT_GT(set.members().size(), 130U);
  for (const auto& [name, attributes] : set.members()) {
    const Status judged = CheckOme06(OmeOf(Dialect::kZarr3, attributes));
    const bool is_valid = name.find("/valid/") != std::string::npos || LacksWhatIsRecommended(name);
    EXPECT_EQ(judged.has_value(), is_valid)
        << name << ": " << (judged ? "" : judged.error().message);
    if (!judged) {
      EXPECT_TRUE(judged.error().message.starts_with("ome")) << judged.error().message;
    }
  }
}

TEST(OmeCheck, TheCasesAreJudgedAsTheSchemaDoes) {
  const JsonValue cases = DocumentsIn("ome_0.6_cases.json");
  for (const auto& [name, one] : cases.members()) {
    const JsonValue ome =
        JsonValue::Object({{"version", JsonValue::String("0.6")},
                           {"multiscales", JsonValue::Array({*one.Find("multiscale")})}});
    const Status judged = CheckOme06(ome);
    EXPECT_EQ(judged.has_value(), one.Find("schema")->boolean())
        << name << ": " << (judged ? "" : judged.error().message);
  }
}

TEST(OmeCheck, TheFaultIsNamed) {
  const auto fault = [](const char* ome) { return CheckOme06(*ParseJson(ome)).error().message; };
  EXPECT_EQ(fault(R"({"version":"0.6","well":{"images":[{"path":"a/b"}]}})"),
            R"(ome.well.images[0].path: expected a name of letters, digits, "_", "." and "-", )"
            R"(found the string "a/b")");
  EXPECT_EQ(
      fault(R"({"version":"0.6","labels":["a"],"omero":{"channels":[{"window":{"min":1}}]}})"),
      "ome.omero.channels[0].window.start: expected a value, found nothing");
}

}  // namespace
}  // namespace unshard
