#include "codec/zarr3/chunk_names.h"

#include <gtest/gtest.h>

#include <set>

namespace unshard {
namespace {

using Encoding = ChunkKeyEncoding::Kind;

// What a path of several components means, and the directory that its last one is in.
struct Walked {
  NameMeaning meaning{NameKind::kDirectory};
  GridDirectory in;
};
Walked Walk(const ChunkNames& names, std::string_view path) {
  Walked walked;
  for (;;) {
    const std::size_t slash = path.find('/');
    walked.in = walked.meaning.directory;
    walked.meaning = names.Parse(walked.in, path.substr(0, slash));
    if (slash == std::string_view::npos) return walked;
    EXPECT_EQ(walked.meaning.kind, NameKind::kDirectory) << path;
    if (walked.meaning.kind != NameKind::kDirectory) return {};
    path.remove_prefix(slash + 1);
  }
}

// Every cell has one path, which leads back to it; so have all directories on the way.
void ExpectStrict(const ChunkKeyEncoding& encoding, const std::vector<std::uint64_t>& shape) {
  const ZarrNames names(encoding, shape);
  std::uint64_t cells = 1;
  for (const std::uint64_t extent : shape) cells *= extent;
  std::set<std::string> paths;
  for (std::uint64_t i = 0; i < cells; ++i) {
    ChunkFile chunk{GridCell(shape.size())};
    CellOfLinearIndex(shape, i, chunk.cell);
    const std::string path = names.Path(chunk);
    EXPECT_EQ(path, ZarrChunkKey(encoding, chunk.cell));
    EXPECT_TRUE(paths.insert(path).second) << path;
    const Walked found = Walk(names, path);
    ASSERT_EQ(found.meaning.kind, NameKind::kChunk) << path;
    EXPECT_EQ(found.meaning.chunk, chunk) << path;
    EXPECT_EQ(names.Parent(chunk), found.in) << path;
    EXPECT_EQ(found.in.level, names.depth()) << path;
    for (GridDirectory in = found.in; in.level > 0; in = names.Parent(in)) {
      const Walked above = Walk(names, names.Path(in));
      ASSERT_EQ(above.meaning.kind, NameKind::kDirectory) << names.Path(in);
      EXPECT_EQ(above.meaning.directory, in) << names.Path(in);
      EXPECT_EQ(above.in, names.Parent(in)) << names.Path(in);
      EXPECT_TRUE(path.starts_with(names.Path(in) + "/")) << names.Path(in);
    }
  }
  EXPECT_EQ(names.Path(GridDirectory{}), "");
}

TEST(ZarrNamesTest, EveryChunkHasOnePathThatLeadsBackToIt) {
  for (const Encoding kind : {Encoding::kDefault, Encoding::kV2}) {
    for (const char separator : {'/', '.'}) {
      ExpectStrict({kind, separator}, {});
      ExpectStrict({kind, separator}, {12});
      ExpectStrict({kind, separator}, {3, 1, 11});
    }
  }
}

TEST(ZarrNamesTest, DepthZeroIsFlat) {
  EXPECT_EQ(ZarrNames({Encoding::kDefault, '.'}, {2, 2}).depth(), 0u);
  EXPECT_EQ(ZarrNames({Encoding::kV2, '.'}, {2, 2}).depth(), 0u);
  EXPECT_EQ(ZarrNames({Encoding::kV2, '/'}, {2}).depth(), 0u) << "one index, one component";
  EXPECT_EQ(ZarrNames({Encoding::kDefault, '/'}, {}).depth(), 0u) << "\"c\" is the chunk";
  EXPECT_EQ(ZarrNames({Encoding::kDefault, '/'}, {2}).depth(), 1u);
  EXPECT_EQ(ZarrNames({Encoding::kV2, '/'}, {2, 2}).depth(), 1u);
  EXPECT_EQ(ZarrNames({Encoding::kDefault, '/'}, {2, 2}).depth(), 2u);
}

TEST(ZarrNamesTest, TheDefaultEncodingHasADirectoryOfItsOwn) {
  const ZarrNames names({Encoding::kDefault, '/'}, {4, 5});
  EXPECT_TRUE(names.HoldsPrefix({}));
  EXPECT_FALSE(names.HoldsPrefix({1, 0}));
  EXPECT_EQ(names.Parse({}, "c").directory, (GridDirectory{1, 0}));
  EXPECT_EQ(names.Path(GridDirectory{1, 0}), "c");
  EXPECT_EQ(names.Path(GridDirectory{2, 3}), "c/3");
  for (const char* other : {"d", "C", "0", "cc", ""}) {
    EXPECT_EQ(names.Parse({}, other).kind, NameKind::kOther) << other;
  }
}

TEST(ZarrNamesTest, NumbersOutsideTheGridAreNoChunks) {
  const ZarrNames names({Encoding::kDefault, '/'}, {4, 5});
  for (const char* outside : {"4", "00", "01", "99999999999999999999", "1.gz", "3.zstd"}) {
    EXPECT_EQ(names.Parse({1, 0}, outside).kind, NameKind::kNoChunk) << outside;
  }
  EXPECT_EQ(names.Parse({2, 3}, "4").kind, NameKind::kChunk);
  EXPECT_EQ(names.Parse({2, 3}, "5").kind, NameKind::kNoChunk);
  for (const char* other : {"", "x", "-1", "1 ", "+1", ".gz", "c", "1.tmp"}) {
    EXPECT_EQ(names.Parse({2, 3}, other).kind, NameKind::kOther) << other;
  }
  const ZarrNames flat({Encoding::kV2, '.'}, {4, 5});
  EXPECT_EQ(flat.Parse({}, "3.4").chunk.cell, (GridCell{3, 4}));
  EXPECT_EQ(flat.Parse({}, "3.5").kind, NameKind::kNoChunk);
  EXPECT_EQ(flat.Parse({}, "3.4.gz").kind, NameKind::kNoChunk);
  EXPECT_EQ(flat.Parse({}, "zarr.json").kind, NameKind::kOther);
}

TEST(ZarrNamesTest, AnEmptyDimensionHasNoChunks) {
  const ZarrNames names({Encoding::kV2, '/'}, {3, 0});
  EXPECT_EQ(names.Parse({}, "2").kind, NameKind::kDirectory);
  EXPECT_EQ(names.Parse({1, 2}, "0").kind, NameKind::kNoChunk);
}

}  // namespace
}  // namespace unshard
