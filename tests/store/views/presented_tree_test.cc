// Trees of views: names, positions and listings, and the bytes of chunks, over stores in memory.
#include "store/chunks/presented_tree.h"

#include <gtest/gtest.h>

#include <set>

#include "codec/codecs/gzip.h"
#include "tests/support/counting_store.h"
#include "tests/support/memory_store.h"
#include "tests/support/sharded_source.h"
#include "tests/support/shown_datasets.h"

namespace unshard {
namespace {

using Kind = ChunkTree::Match::Kind;

class PresentedTreeTest : public testing::Test {
 protected:
  // 4 × 6 bytes in chunks of 2 × 2 and shards of 2 × 3 chunks; chunk (i, j) is full of 10 i + j.
  void PutArray() {
    const ShardedSource array = ZarrSource({4, 6}, {2, 2}, {2, 3});
    store_->Put("a/zarr.json", array.document);
    std::map<std::uint64_t, std::string> chunks;
    for (std::uint64_t i = 0; i < 6; ++i) {
      if (i != 4) chunks[i] = std::string(4, static_cast<char>(10 * (i / 3) + i % 3));
    }
    for (const auto& [key, bytes] : array.Encode(chunks)) store_->Put("a/" + key, bytes);
  }

  std::shared_ptr<ChunkTree> Open(const View& view) {
    DatasetTreeOptions options;
    options.view = &view;
    datasets_ = ShowDatasets(counting_, options);
    const auto trees = datasets_->trees();
    EXPECT_EQ(trees.size(), 1U);
    return trees.empty() ? nullptr : trees.front();
  }

  // The paths of all chunks that are listed, one name at a time.
  static std::set<std::string> Listed(ChunkTree& tree, const GridDirectory& in = {}) {
    std::set<std::string> paths;
    std::uint64_t cookie = 0;
    for (bool more = true; more;) {
      more = false;
      const auto visit = [&](const ChunkTree::Listed& listed) {
        cookie = listed.next_cookie;
        more = true;
        const bool directory = listed.match.kind == Kind::kDirectory;
        const auto below = directory ? Listed(tree, listed.match.directory)
                                     : std::set<std::string>{tree.Path(listed.match.chunk)};
        paths.insert(below.begin(), below.end());
        return false;
      };
      EXPECT_TRUE(tree.List(in, cookie, ListMode::kPresent, visit, [](auto&&...) {}));
    }
    return paths;
  }

  static Result<std::optional<std::string>> Read(ChunkTree& tree, const std::string& path) {
    GridDirectory in;
    ChunkTree::Match match;
    for (std::size_t begin = 0; begin <= path.size();) {
      const std::size_t end = std::min(path.find('/', begin), path.size());
      match = tree.Resolve(in, std::string_view(path).substr(begin, end - begin));
      in = match.directory;
      begin = end + 1;
    }
    EXPECT_EQ(match.kind, Kind::kChunk) << path;
    UNSHARD_ASSIGN_OR_RETURN(const auto facts, tree.chunks().Latest(match.chunk));
    if (!facts) return std::nullopt;
    std::string text;
    // In pieces that begin within a header as well.
    while (text.size() < facts->size) {
      UNSHARD_ASSIGN_OR_RETURN(const FilePiece piece,
                               tree.chunks().Read(match.chunk, facts->generation, text.size(), 5));
      const auto* bytes = std::get_if<Bytes>(&piece);
      EXPECT_NE(bytes, nullptr);
      if (bytes == nullptr || bytes->empty()) break;
      text += AsText(bytes->span());
    }
    EXPECT_EQ(text.size(), facts->size);
    return text;
  }

  static void ExpectPositionsLeadBack(ChunkTree& tree) {
    std::set<std::uint64_t> seen;
    const auto check = [&](auto&& self, const GridDirectory& in) -> void {
      const auto visit = [&](const ChunkTree::Listed& listed) {
        const bool directory = listed.match.kind == Kind::kDirectory;
        const auto position =
            directory ? tree.Position(listed.match.directory) : tree.Position(listed.match.chunk);
        EXPECT_TRUE(position && seen.insert(*position).second);
        const auto back = tree.AtPosition(*position);
        EXPECT_EQ(back.kind, listed.match.kind);
        EXPECT_EQ(back.chunk, listed.match.chunk);
        EXPECT_EQ(back.directory, listed.match.directory);
        const auto parent =
            directory ? tree.Parent(listed.match.directory) : tree.Parent(listed.match.chunk);
        EXPECT_EQ(parent, in);
        if (directory) self(self, listed.match.directory);
        return true;
      };
      EXPECT_TRUE(tree.List(in, 0, ListMode::kGrid, visit, [](auto&&...) {}));
    };
    check(check, {});
  }

  std::shared_ptr<MemoryStore> store_ = std::make_shared<MemoryStore>();
  std::shared_ptr<CountingStore> counting_ = std::make_shared<CountingStore>(store_);
  std::unique_ptr<DatasetTree> datasets_;
};

TEST_F(PresentedTreeTest, AnN5ViewListsItsOwnNamesOfTheChunksThatAreThere) {
  PutArray();
  const auto tree = Open(N5View());
  ASSERT_TRUE(tree);
  EXPECT_EQ(tree->directory(), "a");
  EXPECT_EQ(Listed(*tree), (std::set<std::string>{"0/0", "1/0", "2/0", "0/1", "2/1"}));
  ExpectPositionsLeadBack(*tree);
  EXPECT_EQ(tree->Resolve({}, "3").kind, Kind::kNoChunk);
}

TEST_F(PresentedTreeTest, BytesOfOneByteItemsGetAHeader) {
  PutArray();
  const auto tree = Open(N5View());
  const std::string header{"\0\0\0\2\0\0\0\2\0\0\0\2", 12};
  EXPECT_EQ(**Read(*tree, "2/0"), header + std::string(4, 2));
  EXPECT_EQ(**Read(*tree, "2/1"), header + std::string(4, 12));
  EXPECT_EQ(*Read(*tree, "1/1"), std::nullopt);
}

TEST_F(PresentedTreeTest, APrecomputedViewHasRangesAndBareVoxels) {
  PutArray();
  const auto tree = Open(PrecomputedView());
  ASSERT_TRUE(tree);
  EXPECT_EQ(tree->directory(), "a/1_1_1");
  EXPECT_EQ(Listed(*tree), (std::set<std::string>{"0-2_0-2_0-1", "2-4_0-2_0-1", "4-6_0-2_0-1",
                                                  "0-2_2-4_0-1", "4-6_2-4_0-1"}));
  ExpectPositionsLeadBack(*tree);
  EXPECT_EQ(**Read(*tree, "4-6_2-4_0-1"), std::string(4, 12));
}

TEST_F(PresentedTreeTest, ChunkFilesOfAnUnshardedArrayAreTheSame) {
  store_->Put("a/.zarray",
              R"({"zarr_format":2,"shape":[3,4],"chunks":[2,2],"dtype":"<u2","compressor":null,)"
              R"("fill_value":258,"order":"C","filters":null})");
  store_->Put("a/0.1", std::string("\1\0\2\0\3\0\4\0", 8));
  store_->Put("a/1.0", std::string("\5\0\6\0\7\0\10\0", 8));
  const auto tree = Open(PrecomputedView());
  ASSERT_TRUE(tree);
  EXPECT_EQ(Listed(*tree),
            (std::set<std::string>{"0-2_0-2_0-1", "2-4_0-2_0-1", "0-2_2-3_0-1", "2-4_2-3_0-1"}))
      << "absent chunks would be read as zeros";
  EXPECT_EQ(**Read(*tree, "2-4_0-2_0-1"), std::string("\1\0\2\0\3\0\4\0", 8));
  EXPECT_EQ(**Read(*tree, "0-2_2-3_0-1"), std::string("\5\0\6\0", 4)) << "cut at the edge";
  EXPECT_EQ(**Read(*tree, "2-4_2-3_0-1"), std::string("\2\1\2\1", 4)) << "absent";
  store_->Remove("a/0.1");
  tree->chunks().Invalidate("a/0.1");
  EXPECT_EQ(**Read(*tree, "2-4_0-2_0-1"), std::string("\2\1\2\1\2\1\2\1", 8));
}

TEST_F(PresentedTreeTest, ACompressedChunkFileOfAVolumeIsReadAsTheChunk) {
  store_->Put("info", R"({"type":"image","data_type":"uint8","num_channels":1,"scales":[)"
                      R"({"key":"k","size":[2,1,1],"resolution":[1,1,1],"encoding":"raw",)"
                      R"("chunk_sizes":[[1,1,1]]}]})");
  const ByteVector gzip = GzipEncode(AsBytes("\7"));
  store_->Put("k/0-1_0-1_0-1.gz", AsText(gzip));
  const auto tree = Open(Zarr2View());
  ASSERT_TRUE(tree);
  EXPECT_EQ(Listed(*tree), (std::set<std::string>{"0/0/0"}));
  EXPECT_EQ(**Read(*tree, "0/0/0"), "\7");
}

TEST_F(PresentedTreeTest, ABrokenChunkIsDamageOfThatChunk) {
  store_->Put("a/.zarray",
              R"({"zarr_format":2,"shape":[1,4],"chunks":[1,2],"dtype":"|u1",)"
              R"("compressor":{"id":"gzip","level":1},"fill_value":0,"order":"C","filters":null})");
  store_->Put("a/0.0", "no gzip");
  store_->Put("a/0.1", AsText(GzipEncode(AsBytes("ab"))));
  const auto tree = Open(PrecomputedView());
  ASSERT_TRUE(tree);
  const auto broken = Read(*tree, "0-2_0-1_0-1");
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code, ErrorCode::kDataLoss);
  EXPECT_NE(broken.error().message.find("a/0.0"), std::string::npos) << broken.error().message;
  EXPECT_EQ(**Read(*tree, "2-4_0-1_0-1"), "ab");
}

TEST_F(PresentedTreeTest, AChunkAboveTheCapIsNotDecoded) {
  store_->Put("a/.zarray",
              R"({"zarr_format":2,"shape":[1,4194304],"chunks":[1,4194304],"dtype":"|u1",)"
              R"("compressor":{"id":"gzip","level":1},"fill_value":0,"order":"C","filters":null})");
  store_->Put("a/0.0", AsText(GzipEncode(ByteVector(4194304, 1))));
  const auto tree = Open(PrecomputedView());
  ASSERT_TRUE(tree);
  const auto refused = Read(*tree, "0-4194304_0-1_0-1");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kResourceExhausted);
}

TEST_F(PresentedTreeTest, AllChannelsAreOneChunkOfAVolume) {
  store_->Put("a/.zarray", R"({"zarr_format":2,"shape":[2,1,1,4],"chunks":[1,1,1,2],"dtype":"|u1",)"
                           R"("compressor":null,"fill_value":0,"order":"C","filters":null})");
  store_->Put("a/0.0.0.0", "ab");
  store_->Put("a/1.0.0.0", "AB");
  store_->Put("a/1.0.0.1", "CD");
  const auto tree = Open(PrecomputedView());
  ASSERT_TRUE(tree);
  EXPECT_TRUE(tree->joins());
  EXPECT_EQ(Listed(*tree), (std::set<std::string>{"0-2_0-1_0-1", "2-4_0-1_0-1"}));
  EXPECT_EQ(**Read(*tree, "0-2_0-1_0-1"), "abAB");
  EXPECT_EQ(**Read(*tree, "2-4_0-1_0-1"), std::string("\0\0CD", 4));
  const ChunkRef chunk = tree->Resolve({}, "2-4_0-1_0-1").chunk;
  const auto before = tree->chunks().Latest(chunk);
  tree->chunks().AddReference((*before)->generation);
  store_->Put("a/0.0.0.1", "cd");
  tree->chunks().Invalidate("a/0.0.0.1");
  const auto after = tree->chunks().Latest(chunk);
  EXPECT_NE((*after)->generation.number, (*before)->generation.number);
  EXPECT_EQ(**Read(*tree, "2-4_0-1_0-1"), "cdCD");
  EXPECT_TRUE(tree->chunks().Find(chunk, (*before)->generation.number));
  store_->Remove("a/0.0.0.1");
  store_->Remove("a/1.0.0.1");
  tree->chunks().Invalidate("a/0.0.0.1");
  tree->chunks().Invalidate("a/1.0.0.1");
  EXPECT_EQ(*Read(*tree, "2-4_0-1_0-1"), std::nullopt);
  EXPECT_EQ(Listed(*tree), (std::set<std::string>{"0-2_0-1_0-1"}));
}

// However many channels there are, the bytes of one of them are in memory at a time.
TEST_F(PresentedTreeTest, EachChannelIsDecodedBeforeTheNextOneIsRead) {
  store_->Put("a/.zarray",
              R"({"zarr_format":2,"shape":[3,1,1,2],"chunks":[1,1,1,2],"dtype":"|u1",)"
              R"("compressor":{"id":"gzip","level":1},"fill_value":0,"order":"C","filters":null})");
  for (const char* channel : {"a/0.0.0.0", "a/1.0.0.0", "a/2.0.0.0"}) {
    store_->Put(channel, AsText(GzipEncode(AsBytes("ab"))));
  }
  store_->Put("a/1.0.0.0", "no gzip");
  const auto tree = Open(PrecomputedView());
  ASSERT_TRUE(tree);
  counting_->Reset();
  const auto broken = Read(*tree, "0-2_0-1_0-1");
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code, ErrorCode::kDataLoss);
  EXPECT_NE(broken.error().message.find("a/1.0.0.0"), std::string::npos) << broken.error().message;
  const auto read = [&](const std::string& key) {
    const AccessCounts counts = counting_->of(key);
    return counts.reads + counts.slices;
  };
  EXPECT_EQ(read("a/0.0.0.0"), 1U);
  EXPECT_EQ(read("a/1.0.0.0"), 1U);
  EXPECT_EQ(read("a/2.0.0.0"), 0U);
}

}  // namespace
}  // namespace unshard
