// Which names are those of archives, and where these are.
#include "store/source/zip_place.h"

#include <gtest/gtest.h>

#include "store/source/source.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/zip_archives.h"

namespace unshard {
namespace {

// "above key inside"; "" where the name is that of no archive.
std::string PlaceOf(const std::string& given) {
  const auto name = ParseNamedSource(given);
  if (!name) return name.error().message;
  VolumeOptions options;
  options.inside_zip = name->inside_zip;
  if (IsUrl(name->place)) {
    options.url = name->place;
  } else {
    options.source = name->place;
  }
  const auto place = FindZip(options);
  return place ? place->above + " " + place->key + " " + place->inside : "";
}

TEST(ZipPlaceTest, AUrlNamesAnArchiveByItsLastComponentOrByAnAdapter) {
  EXPECT_EQ(PlaceOf("https://h/a/b.ozx"), "https://h/a b.ozx ");
  EXPECT_EQ(PlaceOf("https://h/b.ZIP"), "https://h b.ZIP ");
  EXPECT_EQ(PlaceOf("https://me:w@h/a/my%20b%2.zip?k=1&l=a/c.d"),
            "https://me:w@h/a?k=1&l=a/c.d my b%2.zip ");
  EXPECT_EQ(PlaceOf("s3://bucket/b%20.ozx"), "s3://bucket b%20.ozx ");
  EXPECT_EQ(PlaceOf("gs://bucket/a/b|zip:"), "gs://bucket/a b ");
  EXPECT_EQ(PlaceOf("s3://bucket/b.zip|zip:x/y/|zarr3:z"), "s3://bucket b.zip x/y/z");
  EXPECT_EQ(PlaceOf("zarr3://https://h/b.zip?k=1|zip:|zarr3:z"),
            PlaceOf("https://h/b.zip?k=1|zip:z"));
  for (const char* other :
       {"https://data.zip", "https://data.zip/", "https://h/a.zip/", "https://h/.zip",
        "s3://bucket/a.zip/b", "https://h/a?b.zip", "https://h/a.zip.d"}) {
    EXPECT_EQ(PlaceOf(other), "") << other;
  }
}

TEST(ZipPlaceTest, APathNamesAnArchiveThatIsAFileAndMayGoOnInIt) {
  const TemporaryDirectory directory;
  const std::string root = directory.path();
  directory.Write("a.ozx", "x");
  directory.Write("plain", "x");
  directory.Write("d.zip/b.zip", "x");
  EXPECT_EQ(PlaceOf(root + "/a.ozx"), root + " a.ozx ");
  EXPECT_EQ(PlaceOf(root + "/a.ozx/labels/cells/"), root + " a.ozx labels/cells");
  EXPECT_EQ(PlaceOf(root + "/plain|zip:labels/"), root + " plain labels");
  EXPECT_EQ(PlaceOf(root + "/d.zip/b.zip"), root + "/d.zip b.zip ");
  EXPECT_EQ(PlaceOf(root + "/d.zip"), "") << "a directory";
  EXPECT_EQ(PlaceOf(root + "/plain"), "");
  EXPECT_EQ(PlaceOf(root + "/missing.ozx"), "");
  EXPECT_EQ(PlaceOf(root + "/missing|zip:"), root + " missing ") << "named so";
}

TEST(ZipPlaceTest, ANameThatIsToBeWrittenIsThatOfAnArchiveUnlessADirectoryHasIt) {
  const TemporaryDirectory directory;
  directory.Write("d.zip/b", "x");
  directory.Write("a.ozx", "x");
  const auto names = [](const std::string& given) {
    const auto name = ParseNamedSource(given);
    return name && NamesZip(*name);
  };
  EXPECT_TRUE(names(directory.At("new.ozx")));
  EXPECT_TRUE(names(directory.At("a.ozx")));
  EXPECT_TRUE(names(directory.At("a.ozx/labels")));
  EXPECT_TRUE(names("s3://bucket/new.zip"));
  EXPECT_TRUE(names("new|zip:labels"));
  EXPECT_FALSE(names(directory.At("d.zip")));
  EXPECT_FALSE(names(directory.At("new.zarr")));
}

TEST(ZipPlaceTest, AnArchiveIsOpenedReadOnlyAndHasTheIdentityOfItsName) {
  const TemporaryDirectory directory;
  directory.Write("a.ozx", ZipOf({{"labels/zarr.json", "{}"}}));
  VolumeOptions options;
  options.source = directory.At("a.ozx/labels");
  EXPECT_TRUE(IsOnlyRead(options));
  const auto source = OpenSource(options, nullptr);
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_FALSE(source->replacer);
  EXPECT_FALSE(source->files);
  EXPECT_TRUE(source->store->Stat("zarr.json", Deadline::None()).value_or(std::nullopt));
  const auto identity = IdentifyVolume(options);
  ASSERT_TRUE(identity);
  EXPECT_EQ(identity->url, options.source);
  options.source = directory.At("a.ozx/missing");
  const auto missing = OpenSource(options, nullptr);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_NE(missing.error().message.find("a.ozx/missing: "), std::string::npos);
}

}  // namespace
}  // namespace unshard
