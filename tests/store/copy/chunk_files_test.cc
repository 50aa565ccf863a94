// Chunks of unsharded arrays on a disk that loses its power, and beside copies that were killed.
#include "store/copy/chunk_files.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <utility>

#include "tests/support/simulated_disk.h"

namespace unshard {
namespace {

Bytes Text(const std::string& text) {
  return Bytes(ByteVector(AsBytes(text).begin(), AsBytes(text).end()));
}

const std::map<std::string, std::string> kChunks = {
    {"c/0/0", "first"}, {"c/0/1", "second"}, {"c/1/0", "third"}};

Status PutAll(const std::shared_ptr<FileSystem>& disk) {
  UNSHARD_ASSIGN_OR_RETURN(const auto scratch, CopyScratch::Make(disk));
  const auto files = MakeLocalChunkFiles(scratch);
  for (const auto& [key, text] : kChunks) UNSHARD_RETURN_IF_ERROR(files->Put(key, Text(text)));
  return files->Finish();
}

std::vector<std::string> ScratchOn(const SimulatedDisk& disk) {
  std::vector<std::string> paths;
  for (const std::string& path : disk.Paths()) {
    if (path.find(".unshard-copy-") != path.npos) paths.push_back(path);
  }
  return paths;
}

TEST(LocalChunkFiles, ChunksAreThereAndDurableOnceFinished) {
  const auto disk = std::make_shared<SimulatedDisk>();
  ASSERT_TRUE(PutAll(disk));
  const auto later = disk->AfterPowerLoss(Survival::kNothing, 1);
  for (const auto& [key, text] : kChunks) EXPECT_EQ(later->Text(key), text);
  EXPECT_EQ(disk->Paths().size(), kChunks.size());
}

TEST(LocalChunkFiles, WhereverItEndsAChunkIsWholeOrAbsentAndTheNextRunClearsUp) {
  const auto counted = std::make_shared<SimulatedDisk>();
  ASSERT_TRUE(PutAll(counted));
  const std::uint64_t operations = counted->operations();
  ASSERT_GT(operations, 10U);
  for (std::uint64_t n = 1; n <= operations; ++n) {
    for (const Survival survival : {Survival::kNothing, Survival::kEverything, Survival::kRandom}) {
      const auto disk = std::make_shared<SimulatedDisk>();
      disk->CrashAt(n);
      (void)PutAll(disk);
      const auto later = disk->AfterPowerLoss(survival, n);
      for (const auto& [key, text] : kChunks) {
        EXPECT_EQ(later->Text(key).value_or(text), text) << n;
      }
      ASSERT_TRUE(PutAll(later)) << n;
      EXPECT_TRUE(ScratchOn(*later).empty()) << n;
      for (const auto& [key, text] : kChunks) EXPECT_EQ(later->Text(key), text) << n;
    }
  }
}

TEST(CopyScratch, ThatOfACopyWhichRunsStays) {
  const auto disk = std::make_shared<SimulatedDisk>();
  const auto one = *CopyScratch::Make(disk);
  const auto other = *CopyScratch::Make(disk);
  EXPECT_NE(one->NewName(), other->NewName());
  EXPECT_EQ(ScratchOn(*disk).size(), 2U);  // their locks
}

// A disk on which other processes do something in between.
class BusyDisk final : public FileSystem {
 public:
  explicit BusyDisk(std::shared_ptr<FileSystem> below) : below_(std::move(below)) {}

  Result<std::shared_ptr<File>> Open(const std::string& path, const OpenFlags& flags) override {
    auto file = below_->Open(path, flags);
    if (flags.create && path.ends_with("/lock") && after_lock_file) {
      std::exchange(after_lock_file, nullptr)();
    }
    return file;
  }
  Result<bool> MakeDirectory(const std::string& path, std::uint32_t mode) override {
    auto made = below_->MakeDirectory(path, mode);
    if (after_directory) std::exchange(after_directory, nullptr)();
    return made;
  }
  Result<std::optional<FileStatus>> Stat(const std::string& path) override {
    return below_->Stat(path);
  }
  Status Rename(const std::string& from, const std::string& to) override {
    return below_->Rename(from, to);
  }
  Status Link(const std::string& from, const std::string& to) override {
    return below_->Link(from, to);
  }
  Result<bool> Remove(const std::string& path) override { return below_->Remove(path); }
  Status SyncDirectory(const std::string& path) override { return below_->SyncDirectory(path); }
  Status SyncAll() override { return below_->SyncAll(); }
  Status List(const std::string& path,
              const std::function<bool(std::string_view name)>& visitor) override {
    return below_->List(path, visitor);
  }
  Result<std::uint64_t> FreeBytes() override { return below_->FreeBytes(); }
  [[nodiscard]] std::string Describe(const std::string& path) const override {
    return below_->Describe(path);
  }

  std::function<void()> after_directory, after_lock_file;

 private:
  const std::shared_ptr<FileSystem> below_;
};

TEST(CopyScratch, TwoCopiesThatBeginAtOnceHaveOneEach) {
  for (const auto moment : {&BusyDisk::after_directory, &BusyDisk::after_lock_file}) {
    const auto disk = std::make_shared<SimulatedDisk>();
    const auto busy = std::make_shared<BusyDisk>(disk);
    std::shared_ptr<CopyScratch> other;
    (*busy).*moment = [&] { other = CopyScratch::Make(disk).value_or(nullptr); };
    const auto one = CopyScratch::Make(busy);
    ASSERT_TRUE(one) << one.error().message;
    ASSERT_TRUE(other);
    for (const auto& scratch : {*one, other}) {
      const auto files = MakeLocalChunkFiles(scratch);
      ASSERT_TRUE(files->Put("c/0/0", Text("first")));
      ASSERT_TRUE(files->Finish());
    }
    EXPECT_EQ(ScratchOn(*disk).size(), 2U) << "a lock each";
  }
}

TEST(LocalChunkFiles, SizesAreComparedWhereTheyAreKnown) {
  const auto disk = std::make_shared<SimulatedDisk>();
  ASSERT_TRUE(PutAll(disk));
  const auto files = MakeLocalChunkFiles(*CopyScratch::Make(disk));
  EXPECT_TRUE(*files->Has("c/0/0", {5}));
  EXPECT_FALSE(*files->Has("c/0/0", {6}));
  EXPECT_TRUE(*files->Has("c/0/0", {}));
  EXPECT_FALSE(*files->Has("c/7/0", {}));
  ASSERT_TRUE(files->Remove("c/0/0"));
  EXPECT_FALSE(*files->Has("c/0/0", {}));
}

TEST(LocalChunkFiles, AChunkThatIsOlderThanItsSourceIsNoCopyOfIt) {
  const auto disk = std::make_shared<SimulatedDisk>();
  ASSERT_TRUE(PutAll(disk));
  const auto files = MakeLocalChunkFiles(*CopyScratch::Make(disk));
  timespec time = (*disk->Stat("c/0/0"))->modified;
  EXPECT_TRUE(*files->Has("c/0/0", {5, time}));
  time.tv_sec += 1;
  EXPECT_FALSE(*files->Has("c/0/0", {5, time}));
}

TEST(LocalChunkFiles, AFullDiskIsSaid) {
  SimulatedDiskOptions options;
  options.capacity = 7;
  const auto disk = std::make_shared<SimulatedDisk>(options);
  const Status put = PutAll(disk);
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code, ErrorCode::kResourceExhausted);
}

}  // namespace
}  // namespace unshard
