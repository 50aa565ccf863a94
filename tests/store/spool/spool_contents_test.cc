#include "store/spool/spool_contents.h"
#include "store/local/posix_file_system.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "codec/core/checksum.h"
#include "store/spool/sealed_name.h"
#include "tests/support/simulated_disk.h"
#include "tests/support/temporary_directory.h"

namespace unshard {
namespace {

namespace stdfs = std::filesystem;

std::string ReadFile(const stdfs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void WriteFile(const stdfs::path& path, const std::string& text) {
  stdfs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

// A spool as a mount leaves it, written by hand.
class SpoolContentsTest : public testing::Test {
 protected:
  // Under `top`: "chunks" or "conflicts".
  void Put(const std::string& top, const std::string& dataset, const std::string& chunk,
           std::uint64_t sequence, const std::string& bytes, bool removed = false) {
    SpooledChunk sealed;
    sealed.chunk = chunk;
    sealed.sequence = sequence;
    sealed.removed = removed;
    sealed.size = bytes.size();
    sealed.checksum = Checksum(AsBytes(bytes));
    const stdfs::path folder = spool() / top / DatasetDirectory(dataset);
    WriteFile(folder / ".path", DatasetPathText(dataset));
    last_ = folder / SealedName(sealed);
    WriteFile(last_, bytes);
  }

  SpoolContents Read() {
    auto contents = ReadSpool(spool().string());
    EXPECT_TRUE(contents) << contents.error().message;
    return contents ? *std::move(contents) : SpoolContents();
  }

  ExportReport Export() {
    stdfs::create_directories(to());
    const auto from = OpenPosixFileSystem(spool().string());
    const auto target = OpenPosixFileSystem(to().string());
    ExportReport report;
    const Status done = ExportSpool(**from, Read(), **target, report);
    EXPECT_TRUE(done) << done.error().message;
    return report;
  }

  [[nodiscard]] stdfs::path spool() const { return stdfs::path(folder_.path()) / "spool"; }
  [[nodiscard]] stdfs::path to() const { return stdfs::path(folder_.path()) / "to"; }

  stdfs::path last_;  // that was put

 private:
  TemporaryDirectory folder_;
};

TEST_F(SpoolContentsTest, AnEmptySpoolHasNothing) {
  stdfs::create_directories(spool());
  const SpoolContents contents = Read();
  EXPECT_TRUE(contents.chunks.empty());
  EXPECT_TRUE(contents.conflicts.empty());
  EXPECT_EQ(contents.bytes, 0u);
}

TEST_F(SpoolContentsTest, ChunksAreReadWithTheirDatasetLatestVersionFirst) {
  Put("chunks", "8_8_8", "0-64_0-64_0-64", 1, "old");
  Put("chunks", "8_8_8", "0-64_0-64_0-64", 12, "newest");
  Put("chunks", "8_8_8", "0-64_0-64_0-64", 3, "older");
  Put("chunks", "a/image", "c/0/1", 5, "deep");
  Put("chunks", "", "0", 6, "", true);
  Put("conflicts", "8_8_8", "0-64_0-64_0-64", 2, "theirs");
  const SpoolContents contents = Read();
  ASSERT_EQ(contents.chunks.size(), 3u);
  EXPECT_EQ(contents.bytes, 10u);
  EXPECT_EQ(contents.chunks[0].chunk.dataset, "");
  EXPECT_TRUE(contents.chunks[0].chunk.removed);
  EXPECT_EQ(contents.chunks[1].chunk.dataset, "8_8_8");
  EXPECT_EQ(contents.chunks[1].chunk.sequence, 12u);
  EXPECT_EQ(contents.chunks[2].chunk.dataset, "a/image");
  EXPECT_EQ(contents.chunks[2].chunk.chunk, "c/0/1");
  EXPECT_GT(contents.chunks[2].chunk.committed.tv_sec, 1000000000);
  ASSERT_EQ(contents.conflicts.size(), 1u);
  EXPECT_EQ(contents.conflicts[0].chunk.sequence, 2u);
  EXPECT_TRUE(contents.conflicts[0].conflict);
}

TEST_F(SpoolContentsTest, ARemovalByAMoveCountsWithItsCopyAlone) {
  Put("chunks", "a", "c/0", 1, "moved");
  Put("chunks", "a", "c/0", 5, "", true);
  stdfs::rename(last_, last_.string() + "-w6");
  SpoolContents contents = Read();
  ASSERT_EQ(contents.chunks.size(), 1u);
  EXPECT_EQ(contents.chunks[0].chunk.sequence, 1u);
  Put("chunks", "a", "c/1", 6, "moved");
  contents = Read();
  ASSERT_EQ(contents.chunks.size(), 2u);
  EXPECT_TRUE(contents.chunks[0].chunk.removed);
  EXPECT_EQ(contents.chunks[1].chunk.chunk, "c/1");
}

// What a spool writes is what is read here, and not a copy of its layout in this test.
TEST_F(SpoolContentsTest, ASpoolThatWasOpenedAndWrittenToIsExported) {
  stdfs::create_directories(spool());
  {
    const auto files = OpenPosixFileSystem(spool().string());
    const auto opened = Spool::Open(*files, {.source = "source"});
    ASSERT_TRUE(opened) << opened.error().message;
    for (const char* dataset : {"", "a/image"}) {
      const auto staged = (*opened)->Stage();
      ASSERT_TRUE(staged && (*staged)->Write(0, AsBytes("bytes")));
      ASSERT_TRUE((*opened)->Seal(staged->get(), dataset, "c/0/1", {}));
    }
  }
  Export();
  EXPECT_EQ(ReadFile(to() / "c/0/1"), "bytes");
  EXPECT_EQ(ReadFile(to() / "a/image/c/0/1"), "bytes");
}

TEST_F(SpoolContentsTest, AChunkWhoseDatasetIsNotKnownIsNotPassedOver) {
  Put("chunks", "8_8_8", "0-64_0-64_0-64", 1, "bytes");
  WriteFile(spool() / "chunks" / DatasetDirectory("8_8_8") / ".path", "8_8");
  const auto contents = ReadSpool(spool().string());
  ASSERT_FALSE(contents);
  EXPECT_EQ(contents.error().code, ErrorCode::kDataLoss);
}

TEST_F(SpoolContentsTest, WhatIsNoSealedChunkIsLeftOut) {
  Put("chunks", "8_8_8", "0-64_0-64_0-64", 1, "kept");
  WriteFile(last_.parent_path() / "notes.txt", "mine");
  WriteFile(spool() / "chunks/unnamed/0,s1-f1-00000000-a", "x");  // no .path yet
  WriteFile(spool() / "staging/7", "half");
  EXPECT_EQ(Read().chunks.size(), 1u);
}

TEST_F(SpoolContentsTest, PathsThatLeadOutAreRefused) {
  Put("chunks", "../../etc", "0", 1, "x");
  EXPECT_FALSE(ReadSpool(spool().string()));
}

TEST_F(SpoolContentsTest, NamesThatLeadOutAreLeftOut) {
  Put("chunks", "8_8_8", "../../../escape", 1, "x");
  Put("chunks", "8_8_8", "/etc/escape", 2, "x");
  EXPECT_TRUE(Read().chunks.empty());
}

TEST_F(SpoolContentsTest, ExportMakesPlainFiles) {
  Put("chunks", "8_8_8", "0-64_0-64_0-64", 1, "old");
  Put("chunks", "8_8_8", "0-64_0-64_0-64", 2, "new");
  Put("chunks", "a/image", "c/0/1", 5, std::string(3000000, 'x'));
  Put("chunks", "a/image", "c/0/2", 6, "", true);
  Put("chunks", "a/image", "c/0/3", 7, "");
  Put("conflicts", "8_8_8", "0-64_0-64_0-64", 9, "theirs");
  const ExportReport report = Export();
  EXPECT_EQ(report.problems, std::vector<std::string>());
  EXPECT_EQ(report.chunks, 3u);
  EXPECT_EQ(report.bytes, 3000003u);
  EXPECT_EQ(report.removals, 1u);
  EXPECT_EQ(report.conflicts, 1u);
  EXPECT_EQ(ReadFile(to() / "8_8_8/0-64_0-64_0-64"), "new");
  EXPECT_EQ(ReadFile(to() / "a/image/c/0/1"), std::string(3000000, 'x'));
  EXPECT_TRUE(stdfs::exists(to() / "a/image/c/0/3"));
  EXPECT_FALSE(stdfs::exists(to() / "a/image/c/0/2"));
  EXPECT_EQ(ReadFile(to() / "REMOVED"), "a/image/c/0/2\n");
  EXPECT_EQ(ReadFile(to() / "CONFLICTS/8_8_8/0-64_0-64_0-64,9"), "theirs");
}

TEST_F(SpoolContentsTest, WhatIsExportedIsThereAfterAPowerLoss) {
  Put("chunks", "a/image", "c/0/1", 5, "bytes");
  Put("chunks", "a/image", "c/0/2", 6, "", true);
  const auto from = OpenPosixFileSystem(spool().string());
  SimulatedDisk disk;
  ExportReport report;
  const Status done = ExportSpool(**from, Read(), disk, report);
  ASSERT_TRUE(done) << done.error().message;
  const auto after = disk.AfterPowerLoss(Survival::kNothing, 1);
  EXPECT_EQ(after->Text("a/image/c/0/1"), "bytes");
  EXPECT_EQ(after->Text("REMOVED"), "a/image/c/0/2\n");
}

TEST_F(SpoolContentsTest, ARemovalThatWasSetAsideIsListedAndNoEmptyChunk) {
  Put("conflicts", "8_8_8", "0-64_0-64_0-64", 9, "", true);
  Put("conflicts", "a/image", "c/0/1", 10, "", true);
  const ExportReport report = Export();
  EXPECT_EQ(report.problems, std::vector<std::string>());
  EXPECT_EQ(report.conflicts, 2u);
  EXPECT_EQ(report.removals, 0u);
  EXPECT_EQ(ReadFile(to() / "CONFLICTS/REMOVED"), "8_8_8/0-64_0-64_0-64\na/image/c/0/1\n");
  EXPECT_FALSE(stdfs::exists(to() / "REMOVED"));
  EXPECT_FALSE(stdfs::exists(to() / "CONFLICTS/8_8_8"));
}

TEST_F(SpoolContentsTest, ExportOverwritesNothing) {
  Put("chunks", "8_8_8", "0-64_0-64_0-64", 1, "from the spool");
  WriteFile(to() / "8_8_8/0-64_0-64_0-64", "mine");
  WriteFile(to() / "REMOVED", "before\n");
  Put("chunks", "8_8_8", "64-128_0-64_0-64", 2, "", true);
  const ExportReport report = Export();
  ASSERT_EQ(report.problems.size(), 1u);
  EXPECT_NE(report.problems[0].find("8_8_8/0-64_0-64_0-64"), std::string::npos);
  EXPECT_EQ(report.chunks, 0u);
  EXPECT_EQ(ReadFile(to() / "8_8_8/0-64_0-64_0-64"), "mine");
  EXPECT_EQ(ReadFile(to() / "REMOVED"), "before\n8_8_8/64-128_0-64_0-64\n");
}

TEST_F(SpoolContentsTest, ATornChunkIsReportedAndNotCopied) {
  Put("chunks", "8_8_8", "0-64_0-64_0-64", 1, "whole");
  Put("chunks", "8_8_8", "64-128_0-64_0-64", 2, "torn apart");
  WriteFile(last_, std::string(10, '\0'));
  Put("chunks", "8_8_8", "128-192_0-64_0-64", 3, "cut short");
  WriteFile(last_, "cut");
  const ExportReport report = Export();
  EXPECT_EQ(report.chunks, 1u);
  ASSERT_EQ(report.problems.size(), 2u);
  for (const std::string& problem : report.problems) {
    EXPECT_NE(problem.find("not those that were committed"), std::string::npos) << problem;
  }
  EXPECT_FALSE(stdfs::exists(to() / "8_8_8/64-128_0-64_0-64"));
  EXPECT_FALSE(stdfs::exists(to() / "8_8_8/128-192_0-64_0-64"));
}

}  // namespace
}  // namespace unshard
