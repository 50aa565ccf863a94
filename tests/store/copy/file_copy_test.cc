// Files beside arrays: what is written, what is kept, and what a comparison finds.
#include "store/copy/file_copy.h"

#include <gtest/gtest.h>

#include "tests/support/counting_store.h"
#include "tests/support/memory_replacer.h"
#include "tests/support/memory_store.h"

namespace unshard {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

std::string Large(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 2654435761U >> 13);
  return text;
}

class FileCopyTest : public testing::Test {
 protected:
  FileCopyTest() : replacer_(std::make_shared<MemoryReplacer>(to_)) {}

  FileCopy Make() { return FileCopy({counted_, to_, replacer_, nullptr, counters_}, {}); }
  Status Copy(const FileDirectory& directory) { return Make().Run(directory); }
  Status Verify(const FileDirectory& directory) { return Make().Verify(directory); }
  static std::optional<std::string> Text(MemoryStore& store, const std::string& key) {
    const auto whole = *ReadWhole(store, key, 64 * kMiB, {});
    return whole ? std::optional(whole->text) : std::nullopt;
  }

  const std::shared_ptr<MemoryStore> from_ = std::make_shared<MemoryStore>();
  const std::shared_ptr<CountingStore> counted_ = std::make_shared<CountingStore>(from_);
  const std::shared_ptr<MemoryStore> to_ = std::make_shared<MemoryStore>();
  const std::shared_ptr<MemoryReplacer> replacer_;
  const std::shared_ptr<CopyCounters> counters_ = std::make_shared<CopyCounters>();
};

const FileDirectory kPlainFiles = {"a", FileDirectory::Kind::kPlain, true};
const FileDirectory kObjects = {"mesh", FileDirectory::Kind::kObjects, false};

TEST_F(FileCopyTest, PlainFilesAreThoseDirectlyInADirectoryWithoutItsDocuments) {
  from_->Put("a/README", "text");
  from_->Put("a/empty", "");
  from_->Put("a/zarr.json", "{}");
  from_->Put("a/README.__lock", "");
  from_->Put("a/below/text", "text");
  ASSERT_TRUE(Copy(kPlainFiles));
  EXPECT_EQ(Text(*to_, "a/README"), "text");
  EXPECT_EQ(Text(*to_, "a/empty"), "");
  for (const char* absent : {"a/zarr.json", "a/README.__lock", "a/below/text"}) {
    EXPECT_EQ(Text(*to_, absent), std::nullopt) << absent;
  }
  EXPECT_EQ(counters_->files, 2U);
  EXPECT_TRUE(Verify(kPlainFiles));
}

TEST_F(FileCopyTest, ObjectsAreAllBelow) {
  from_->Put("mesh/info", "{}");
  from_->Put("mesh/a/b/1", "deep");
  for (int i = 0; i < 5000; ++i) from_->Put("mesh/" + std::to_string(i), std::to_string(i));
  ASSERT_TRUE(Copy(kObjects));
  EXPECT_EQ(Text(*to_, "mesh/info"), "{}");
  EXPECT_EQ(Text(*to_, "mesh/a/b/1"), "deep");
  for (int i = 0; i < 5000; ++i)
    EXPECT_EQ(Text(*to_, "mesh/" + std::to_string(i)), std::to_string(i));
  EXPECT_EQ(counters_->files, 5002U);
}

TEST_F(FileCopyTest, OfWhatIsThereTheSizeAndBothEndsAreCompared) {
  const std::string text = Large(9 * kMiB + 5);
  from_->Put("a/large", text);
  ASSERT_TRUE(Copy(kPlainFiles));
  EXPECT_EQ(Text(*to_, "a/large"), text);
  EXPECT_EQ(replacer_->puts(), 1U);
  counted_->Reset();
  ASSERT_TRUE(Copy(kPlainFiles));
  EXPECT_EQ(counters_->kept_files, 1U);
  EXPECT_EQ(replacer_->puts(), 1U);
  EXPECT_EQ(counted_->of("a/large").bytes, 64U << 10);  // and what the open brings
  for (const std::size_t at : {std::size_t{0}, (std::size_t{64} << 10) - 1, text.size() - 1}) {
    std::string other = text;
    other[at] ^= 1;
    to_->Put("a/large", other);
    ASSERT_TRUE(Copy(kPlainFiles));
    EXPECT_EQ(Text(*to_, "a/large"), text) << at;
  }
  to_->Put("a/large", text.substr(0, text.size() - 1));
  ASSERT_TRUE(Copy(kPlainFiles));
  EXPECT_EQ(Text(*to_, "a/large"), text);
}

TEST_F(FileCopyTest, AFileThatWasChangedAfterItsCopyIsCopiedAgain) {
  std::string text = Large(kMiB);
  from_->Put("a/large", text);
  ASSERT_TRUE(Copy(kPlainFiles));
  text[text.size() / 2] ^= 1;
  from_->Put("a/large", text);
  to_->SetModified("a/large", {100, 5});
  for (const timespec& changed : {timespec{99, 9}, timespec{100, 5}}) {
    from_->SetModified("a/large", changed);
    ASSERT_TRUE(Copy(kPlainFiles));
    EXPECT_NE(Text(*to_, "a/large"), text) << "no copy was made before the change";
  }
  from_->SetModified("a/large", {100, 6});
  ASSERT_TRUE(Copy(kPlainFiles));
  EXPECT_EQ(Text(*to_, "a/large"), text);
}

TEST_F(FileCopyTest, SmallFilesAreComparedAsAWhole) {
  const std::string text = Large(100 << 10);
  from_->Put("a/small", text);
  for (std::size_t at = 0; at < text.size(); at += 9973) {
    std::string other = text;
    other[at] ^= 1;
    to_->Put("a/small", other);
    ASSERT_TRUE(Copy(kPlainFiles));
    EXPECT_EQ(Text(*to_, "a/small"), text) << at;
  }
}

TEST_F(FileCopyTest, AComparisonNamesTheFirstByteThatDiffers) {
  std::string text = Large(9 * kMiB);
  from_->Put("a/large", text);
  text[5 * kMiB] ^= 1;
  text[6 * kMiB] ^= 1;
  to_->Put("a/large", text);
  const Status differs = Verify(kPlainFiles);
  ASSERT_FALSE(differs);
  EXPECT_EQ(differs.error().code, ErrorCode::kDataLoss);
  EXPECT_NE(differs.error().message.find("a/large: differs from the source: byte 5242880"),
            std::string::npos);
  to_->Put("a/large", text.substr(1));
  EXPECT_FALSE(Verify(kPlainFiles));
  to_->Remove("a/large");
  EXPECT_FALSE(Verify(kPlainFiles));
}

TEST_F(FileCopyTest, AFileThatChangesWhileItIsReadIsNamedAndNotWritten) {
  const auto from = std::make_shared<MemoryStore>(Capabilities{.keeps_replaced_versions = false});
  from->Put("a/large", Large(5 * kMiB));
  const auto to = std::make_shared<CountingStore>(to_);  // is opened after the source
  to->OnOpen([&](std::string_view) { from->Put("a/large", Large(6 * kMiB)); });
  const Status failed = FileCopy({from, to, replacer_, nullptr, counters_}, {}).Run(kPlainFiles);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kConflict);
  EXPECT_NE(failed.error().message.find("a/large: another process has changed it"),
            std::string::npos);
  EXPECT_EQ(Text(*to_, "a/large"), std::nullopt);
}

TEST_F(FileCopyTest, AFailureEndsTheCopyAndAnotherOneGoesOn) {
  from_->Put("a/file", "text");
  replacer_->SetAway(true);
  EXPECT_FALSE(Copy(kPlainFiles));
  replacer_->SetAway(false);
  ASSERT_TRUE(Copy(kPlainFiles));
  EXPECT_EQ(Text(*to_, "a/file"), "text");
}

}  // namespace
}  // namespace unshard
