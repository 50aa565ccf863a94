#include "fs/sample/sample.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "codec/precomputed/info.h"
#include "codec/zarr3/metadata.h"
#include "tests/support/temporary_directory.h"

namespace unshard {
namespace {

namespace filesystem = std::filesystem;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Everything below a directory: relative path to content.
std::map<std::string, std::string> ReadTree(const std::string& directory) {
  std::map<std::string, std::string> files;
  for (const auto& entry : filesystem::recursive_directory_iterator(directory)) {
    if (!entry.is_regular_file()) continue;
    files[filesystem::relative(entry.path(), directory).string()] = ReadFile(entry.path().string());
  }
  return files;
}

// One small sample for all tests that only look at it.
class Sample : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    directory_ = std::make_unique<TemporaryDirectory>();
    SampleOptions options;
    options.megabytes = 2;
    const Status status = WriteSample(directory_->path(), options);
    ASSERT_TRUE(status) << status.error().message;
    files_ = ReadTree(directory_->path());
  }
  static void TearDownTestSuite() {
    directory_.reset();
    files_.clear();
  }

  static std::unique_ptr<TemporaryDirectory> directory_;
  static std::map<std::string, std::string> files_;
};
std::unique_ptr<TemporaryDirectory> Sample::directory_;
std::map<std::string, std::string> Sample::files_;

// An index page of a shard, walked as a reader does.
Result<IndexPage> WalkPage(const ShardFormat& format, const ShardSlot& at, ByteSpan shard) {
  const auto walk = format.Walk(at.shard, at.page, 1 << 20);
  RangeRequest request = walk->Start();
  for (;;) {
    const std::uint64_t limit = std::min<std::uint64_t>(request.size, shard.size());
    const std::uint64_t begin = request.suffix ? shard.size() - limit : request.begin;
    if (begin > shard.size()) return Fail(ErrorCode::kDataLoss, "a request beyond the shard");
    const ByteSpan bytes = shard.subspan(begin, std::min(limit, shard.size() - begin));
    UNSHARD_ASSIGN_OR_RETURN(IndexStep step, walk->Feed(bytes, shard.size()));
    if (auto* page = std::get_if<IndexPage>(&step)) return std::move(*page);
    request = std::get<RangeRequest>(step);
  }
}

// The decoded bytes of a chunk; empty where it or its shard is missing.
Result<ByteVector> ReadChunk(const std::map<std::string, std::string>& files,
                             const std::string& directory, const ShardFormat& format,
                             const ShardKeys& keys, const ShardSlot& at) {
  const auto shard = files.find(directory + "/" + keys.Key(at.shard));
  if (shard == files.end()) return ByteVector();
  const ByteSpan bytes = AsBytes(shard->second);
  UNSHARD_ASSIGN_OR_RETURN(const IndexPage page, WalkPage(format, at, bytes));
  const auto range = page.Find(at.slot);
  if (!range) return ByteVector();
  const ByteSpan stored = bytes.subspan(range->begin, range->size);
  UNSHARD_ASSIGN_OR_RETURN(
      const Bytes plain,
      format.DecodeEntry(Bytes(ByteVector(stored.begin(), stored.end())), std::uint64_t{16} << 20));
  return ByteVector(plain.span().begin(), plain.span().end());
}

TEST_F(Sample, EveryChunkOfTheSegmentationIsThereAndCompressedSegmentation) {
  const auto info = ParseNeuroglancerInfo(files_.at("segmentation/info"));
  ASSERT_TRUE(info) << info.error().message;
  ASSERT_EQ(info->sharded.size(), 2u);
  for (const ShardedDirectory& scale : info->sharded) {
    const auto access = MakeAccess(scale, MortonRule::kStandard);
    ASSERT_TRUE(access) << access.error().message;
    GridCell cell(3);
    for (std::uint64_t i = 0; i < scale.grid.cell_count(); ++i) {
      CellOfLinearIndex(scale.grid_shape, i, cell);
      const auto chunk = ReadChunk(files_, "segmentation/" + scale.directory, *access->format,
                                   *access->keys, access->locator->Locate(cell));
      ASSERT_TRUE(chunk) << chunk.error().message;
      std::uint64_t blocks = 1;
      for (std::size_t d = 0; d < 3; ++d) {
        const CellExtent extent = scale.grid.Extent(cell, d);
        blocks *= static_cast<std::uint64_t>(extent.end - extent.begin + 7) / 8;
      }
      // One channel, its block headers, and at least one table of one label.
      ASSERT_GE(chunk->size(), 4 * (1 + 2 * blocks + 2)) << scale.directory << " chunk " << i;
      EXPECT_EQ(LoadU32Le(chunk->data()), 1u);
      EXPECT_GE(LoadU32Le(chunk->data() + 4) & 0xffffff, 2 * blocks);
    }
  }
}

TEST_F(Sample, EveryChunkOfTheImageIsThereAndNoOther) {
  for (const std::string level : {"image/0", "image/1"}) {
    const auto node = ParseZarrMetadata(files_.at(level + "/zarr.json"));
    ASSERT_TRUE(node) << node.error().message;
    ASSERT_TRUE(node->sharded);
    const ChunkGrid& grid = node->sharded->grid;
    GridCell cell(3);
    std::uint64_t bytes = 0;
    for (std::uint64_t i = 0; i < grid.cell_count(); ++i) {
      CellOfLinearIndex(grid.grid_shape(), i, cell);
      const auto chunk = ReadChunk(files_, level, *node->sharded->format, *node->sharded->keys,
                                   node->sharded->locator->Locate(cell));
      ASSERT_TRUE(chunk) << chunk.error().message;
      ASSERT_EQ(chunk->size(), 64u * 64 * 64) << level << " chunk " << i;
      bytes += chunk->size();
    }
    // Shards hold these chunks and their indexes of 64 slots, and nothing else.
    for (const auto& [name, text] : files_) {
      if (name.rfind(level + "/c/", 0) == 0) bytes -= text.size() - (64 * 16 + 4);
    }
    EXPECT_EQ(bytes, 0u) << level;
  }
}

TEST_F(Sample, IsAboutAsLargeAsAskedFor) {
  std::uint64_t bytes = 0;
  for (const auto& [name, text] : files_) bytes += text.size();
  EXPECT_GT(bytes, 1'400'000u);
  EXPECT_LT(bytes, 2'800'000u);
}

TEST_F(Sample, LeavesNoTemporaryFiles) {
  for (const auto& [name, text] : files_) {
    EXPECT_EQ(name.find(".partial"), std::string::npos) << name;
  }
}

TEST_F(Sample, IsTheSameBytesEachTimeAndWithAnyNumberOfThreads) {
  const TemporaryDirectory other;
  SampleOptions options;
  options.megabytes = 2;
  options.threads = 3;
  ASSERT_TRUE(WriteSample(other.At("deeper/still"), options));
  EXPECT_TRUE(ReadTree(other.At("deeper/still")) == files_);
}

TEST_F(Sample, TellsItsProgressOncePerShard) {
  const TemporaryDirectory other;
  SampleOptions options;
  options.megabytes = 1;
  std::vector<std::uint64_t> done;
  std::set<std::uint64_t> totals;
  options.progress = [&](std::uint64_t now, std::uint64_t total) {
    done.push_back(now);
    totals.insert(total);
  };
  ASSERT_TRUE(WriteSample(other.path(), options));
  ASSERT_EQ(totals.size(), 1u);
  ASSERT_EQ(done.size(), *totals.begin());
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
  EXPECT_EQ(done.back(), *totals.begin());
}

TEST_F(Sample, RefusesADirectoryThatIsNotEmptyAndLeavesItAlone) {
  const TemporaryDirectory other;
  other.Write("mine", "precious");
  const Status status = WriteSample(other.path(), {});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(status.error().message.find(other.path()), std::string::npos);
  EXPECT_NE(status.error().message.find("not empty"), std::string::npos);
  EXPECT_EQ(ReadTree(other.path()), (std::map<std::string, std::string>{{"mine", "precious"}}));
}

TEST_F(Sample, RefusesSizesThatAreOutOfBounds) {
  const TemporaryDirectory other;
  for (const std::uint64_t megabytes : {std::uint64_t{0}, std::uint64_t{1'000'001}}) {
    SampleOptions options;
    options.megabytes = megabytes;
    const Status status = WriteSample(other.At("sample"), options);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
  }
  EXPECT_FALSE(filesystem::exists(other.At("sample")));
}

TEST_F(Sample, NamesTheFileThatStandsInItsWay) {
  const TemporaryDirectory other;
  other.Write("file", "not a directory");
  SampleOptions options;
  options.megabytes = 1;
  const Status status = WriteSample(other.At("file/sample"), options);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find(other.At("file")), std::string::npos);
  EXPECT_NE(status.error().system_errno, 0);
}

// Writes a sample where no file may grow beyond `bytes`, and ends the process: code 0 if the
// failure named a file of the sample and left nothing behind.
[[noreturn]] void WriteSampleWithFileLimit(const std::string& directory, rlim_t bytes) {
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{bytes, bytes};
  setrlimit(RLIMIT_FSIZE, &limit);
  SampleOptions options;
  options.megabytes = 1;
  const Status status = WriteSample(directory, options);
  const bool refused = !status && status.error().system_errno == EFBIG &&
                       status.error().message.find(directory + "/") != std::string::npos;
  _exit(refused && filesystem::is_empty(directory) ? 0 : 1);
}

TEST_F(Sample, RemovesWhatItWroteWhereAFileCannotBeWritten) {
  // The limit stands for a disk that fills in the middle of a shard.
  const TemporaryDirectory other;
  EXPECT_EXIT(WriteSampleWithFileLimit(other.path(), 100'000), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace unshard
