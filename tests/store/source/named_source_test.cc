#include "store/source/named_source.h"

#include <gtest/gtest.h>

#include "store/source/source.h"
#include "tests/support/memory_store.h"

namespace unshard {
namespace {

struct NameCase {
  const char* given;
  const char* place;
  const char* format;
};

class NamedSourceTest : public testing::TestWithParam<NameCase> {};

TEST_P(NamedSourceTest, IsAPlaceAndAFormat) {
  const auto name = ParseNamedSource(GetParam().given);
  ASSERT_TRUE(name) << name.error().message;
  EXPECT_EQ(name->place, GetParam().place);
  EXPECT_EQ(name->format, GetParam().format);
}

INSTANTIATE_TEST_SUITE_P(
    All, NamedSourceTest,
    testing::Values(
        NameCase{"a/b", "a/b", ""}, NameCase{"/no such/x|y", "/no such/x|y", ""},
        NameCase{"https://host/a?k=b|c", "https://host/a?k=b|c", ""},
        NameCase{"precomputed://gs://bucket/a", "gs://bucket/a", "precomputed"},
        NameCase{"neuroglancer-precomputed://s3://b", "s3://b", "precomputed"},
        NameCase{"PRECOMPUTED://https://h/a", "https://h/a", "precomputed"},
        NameCase{"zarr://s3://bucket/a.zarr", "s3://bucket/a.zarr", "zarr"},
        NameCase{"zarr2://x", "x", "zarr2"}, NameCase{"zarr3:///data/x", "/data/x", "zarr3"},
        NameCase{"n5://file:///data/x.n5", "/data/x.n5", "n5"},
        NameCase{"file:///data/x", "/data/x", ""}, NameCase{"file://data/x", "data/x", ""},
        NameCase{"file://localhost/data/x", "/data/x", ""},
        NameCase{"gs://bucket/a/|neuroglancer-precomputed:", "gs://bucket/a/", "precomputed"},
        NameCase{"s3://bucket/a|zarr3:", "s3://bucket/a", "zarr3"},
        NameCase{"s3://bucket/a/|zarr3:b/c", "s3://bucket/a/b/c", "zarr3"},
        NameCase{"https://me:w@h/a?k=1|zarr2:/b/", "https://me:w@h/a/b/?k=1", "zarr2"},
        NameCase{"file:///no such/x/|n5:s0", "/no such/x/s0", "n5"},
        NameCase{"zarr://s3://b/a|zarr:c", "s3://b/a/c", "zarr"}));

TEST(NamedSourceTest, OthersAreRefused) {
  const NameCase cases[] = {
      {"", "expected a directory or a URL", ""},
      {"zarr3://", "after this", ""},
      {"file://", "after this", ""},
      {"precomputed://file://", "after this", ""},
      {"zarr://s3://b/a|n5:", "zarr", "n5"},
      {"s3://b/a.zip|tar:x/|zarr3:", "|tar:", "zarr3"},
      {"a.zip|zip:b.zip|zip:", "an archive in another one", "one |zip:"},
      {"a.zip|zip:../b", "a directory of the archive", "|zip:"},
      {"https://me:secret@h/a|ocdbt:", "|ocdbt:", "https://h/a"},
  };
  for (const NameCase& one : cases) {
    SCOPED_TRACE(one.given);
    const auto name = ParseNamedSource(one.given);
    ASSERT_FALSE(name);
    EXPECT_EQ(name.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(name.error().message.find(one.place), std::string::npos) << name.error().message;
    EXPECT_NE(name.error().message.find(one.format), std::string::npos) << name.error().message;
    EXPECT_EQ(name.error().message.find("secret"), std::string::npos) << name.error().message;
  }
}

TEST(NamedSourceTest, SecretsInAUrlAfterAFormatAreNotShown) {
  EXPECT_EQ(ShownUrl("precomputed://https://me:word@host/a?key=1"), "precomputed://https://host/a");
}

TEST(NamedSourceTest, AnotherFormatIsRefusedByBothNames) {
  const char* const documents[][2] = {{"info", "precomputed"},
                                      {"zarr.json", "zarr3"},
                                      {".zarray", "zarr2"},
                                      {".zgroup", "zarr2"},
                                      {"attributes.json", "n5"}};
  for (const auto& [document, format] : documents) {
    MemoryStore store;
    for (const char* named : {"precomputed", "zarr", "zarr2", "zarr3", "n5", ""}) {
      EXPECT_TRUE(ExpectFormat(store, named, CallerDeadline())) << "nothing there, " << named;
    }
    store.Put(document, "{}");
    for (const std::string named : {"precomputed", "zarr", "zarr2", "zarr3", "n5", ""}) {
      SCOPED_TRACE(named + " for " + document);
      const bool fits = named.empty() || named == format ||
                        (named == "zarr" && std::string(format).starts_with("zarr"));
      const Status checked = ExpectFormat(store, named, CallerDeadline());
      ASSERT_EQ(checked.has_value(), fits);
      if (fits) continue;
      EXPECT_EQ(checked.error().code, ErrorCode::kInvalidArgument);
      EXPECT_NE(checked.error().message.find(named), std::string::npos) << checked.error().message;
      EXPECT_NE(checked.error().message.find(format), std::string::npos) << checked.error().message;
    }
  }
}

}  // namespace
}  // namespace unshard
