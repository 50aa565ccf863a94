#include "codec/precomputed/chunk_names.h"

#include <gtest/gtest.h>

#include <set>

namespace unshard {
namespace {

using Names = ShardedDirectory::Names;

ShardedDirectory Directory(Names names, ShardEncoding encoding) {
  ShardedDirectory directory;
  directory.names = names;
  directory.sharding.data_encoding = encoding;
  directory.grid = *ChunkGrid::Make({100, 64, 30}, {64, 64, 10}, {-50, 0, 7});
  directory.grid_shape = directory.grid.grid_shape();
  return directory;
}

void ExpectLeadsBack(const ChunkNames& names, const ChunkFile& chunk, std::set<std::string>& seen) {
  const std::string name = names.Path(chunk);
  EXPECT_TRUE(seen.insert(name).second) << name;
  const NameMeaning meaning = names.Parse({}, name);
  EXPECT_EQ(meaning.kind, NameKind::kChunk) << name;
  EXPECT_EQ(meaning.chunk, chunk) << name;
  EXPECT_EQ(names.Parent(chunk), GridDirectory()) << name;
}

TEST(PrecomputedNamesTest, EveryFileHasOneNameThatLeadsBackToIt) {
  for (const auto encoding : {ShardEncoding::kRaw, ShardEncoding::kGzip}) {
    for (const Names kind : {Names::kChunkRanges, Names::kCellCoordinates}) {
      const ShardedDirectory directory = Directory(kind, encoding);
      const auto names = MakePrecomputedNames(directory);
      std::set<std::string> seen;
      for (std::uint64_t i = 0; i < directory.grid.cell_count(); ++i) {
        ChunkFile chunk{GridCell(3)};
        CellOfLinearIndex(directory.grid_shape, i, chunk.cell);
        ExpectLeadsBack(*names, chunk, seen);
        chunk.part = ChunkPart::kStored;
        if (encoding == ShardEncoding::kGzip) ExpectLeadsBack(*names, chunk, seen);
      }
    }
    const auto ids = MakePrecomputedNames(Directory(Names::kIds, encoding));
    const auto meshes = MakePrecomputedNames(Directory(Names::kMeshes, encoding));
    std::set<std::string> of_ids, of_meshes;
    for (const std::uint64_t id : {std::uint64_t{0}, std::uint64_t{17}, ~std::uint64_t{0}}) {
      ExpectLeadsBack(*ids, {{}, id}, of_ids);
      ExpectLeadsBack(*meshes, {{}, id}, of_meshes);
      ExpectLeadsBack(*meshes, {{}, id, ChunkPart::kFragments}, of_meshes);
    }
    EXPECT_EQ(meshes->depth(), 0u);
  }
}

TEST(PrecomputedNamesTest, NamesAreThoseOfUnshardedData) {
  const auto path = [](Names kind, const ChunkFile& chunk) {
    return MakePrecomputedNames(Directory(kind, ShardEncoding::kGzip))->Path(chunk);
  };
  EXPECT_EQ(path(Names::kChunkRanges, {{1, 0, 2}}), "14-50_0-64_27-37");
  EXPECT_EQ(path(Names::kChunkRanges, {{0, 0, 0}, 0, ChunkPart::kStored}), "-50-14_0-64_7-17.gz");
  EXPECT_EQ(path(Names::kCellCoordinates, {{1, 0, 2}}), "1_0_2");
  EXPECT_EQ(path(Names::kIds, {{}, 42}), "42");
  EXPECT_EQ(path(Names::kMeshes, {{}, 42}), "42.index");
  EXPECT_EQ(path(Names::kMeshes, {{}, 42, ChunkPart::kFragments}), "42");
}

TEST(PrecomputedNamesTest, AMeshIsTwoFilesAndListedManifestFirst) {
  for (const auto encoding : {ShardEncoding::kRaw, ShardEncoding::kGzip}) {
    for (const Names kind : {Names::kChunkRanges, Names::kCellCoordinates, Names::kIds}) {
      const auto names = MakePrecomputedNames(Directory(kind, encoding));
      ASSERT_EQ(names->parts().size(), 1u);
      EXPECT_EQ(names->parts()[0], ChunkPart::kPlain) << "gzip members are not listed";
    }
    const auto meshes = MakePrecomputedNames(Directory(Names::kMeshes, encoding));
    ASSERT_EQ(meshes->parts().size(), 2u);
    EXPECT_EQ(meshes->parts()[0], ChunkPart::kPlain);
    EXPECT_EQ(meshes->parts()[1], ChunkPart::kFragments);
  }
  EXPECT_EQ(WrittenPart(ChunkPart::kStored), ChunkPart::kPlain);
  EXPECT_EQ(WrittenPart(ChunkPart::kFragments), ChunkPart::kFragments);
}

TEST(PrecomputedNamesTest, OnlyGzipMembersHaveASecondName) {
  const auto kind = [](Names names, ShardEncoding encoding, std::string_view name) {
    return MakePrecomputedNames(Directory(names, encoding))->Parse({}, name).kind;
  };
  EXPECT_EQ(kind(Names::kIds, ShardEncoding::kGzip, "5.gz"), NameKind::kChunk);
  EXPECT_EQ(kind(Names::kIds, ShardEncoding::kRaw, "5.gz"), NameKind::kNoChunk);
  EXPECT_EQ(kind(Names::kIds, ShardEncoding::kGzip, "5.br"), NameKind::kNoChunk);
  EXPECT_EQ(kind(Names::kIds, ShardEncoding::kGzip, "5.gz.gz"), NameKind::kOther);
  EXPECT_EQ(kind(Names::kIds, ShardEncoding::kGzip, ".gz"), NameKind::kOther);
  EXPECT_EQ(kind(Names::kCellCoordinates, ShardEncoding::kGzip, "9_0_0.gz"), NameKind::kNoChunk);
  EXPECT_NE(kind(Names::kMeshes, ShardEncoding::kGzip, "5.gz"), NameKind::kChunk);
  EXPECT_NE(kind(Names::kMeshes, ShardEncoding::kGzip, "5.index.gz"), NameKind::kChunk);
}

TEST(PrecomputedNamesTest, WhatIsOutsideTheGridIsNoChunk) {
  const auto names = MakePrecomputedNames(Directory(Names::kChunkRanges, ShardEncoding::kRaw));
  EXPECT_EQ(names->Parse({}, "14-78_0-64_27-37").kind, NameKind::kNoChunk) << "not clipped";
  EXPECT_EQ(names->Parse({}, "50-114_0-64_27-37").kind, NameKind::kNoChunk);
  EXPECT_EQ(names->Parse({}, "info").kind, NameKind::kOther);
}

}  // namespace
}  // namespace unshard
