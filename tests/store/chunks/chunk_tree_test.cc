// The grammar and the listings of every kind of tree, over shards in memory.
#include "store/chunks/precomputed_tree.h"
#include "store/chunks/zarr_tree.h"

#include <gtest/gtest.h>

#include <set>

#include "codec/precomputed/access.h"
#include "tests/support/faulty_store.h"
#include "tests/support/memory_store.h"
#include "tests/support/sharded_source.h"

namespace unshard {
namespace {

using Kind = ChunkTree::Match::Kind;

ShardingSpec Spec(unsigned preshift, unsigned minishard, unsigned shard,
                  ChunkIdHash hash = ChunkIdHash::kIdentity) {
  ShardingSpec spec;
  spec.preshift_bits = preshift;
  spec.minishard_bits = minishard;
  spec.shard_bits = shard;
  spec.hash = hash;
  return spec;
}

std::vector<std::string> Components(const std::string& path) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    parts.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

struct TestTree {
  std::shared_ptr<MemoryStore> store = std::make_shared<MemoryStore>();
  // What the tree reads `store` by.
  std::shared_ptr<FaultyStore> faulty = std::make_shared<FaultyStore>(store);
  std::unique_ptr<ShardedTree> tree;

  explicit TestTree(const ShardedSource& source) {
    auto shards = MakeShards(source.format, source.keys);
    if (source.zarr) {
      tree = MakeZarrTree(5, std::move(shards), nullptr, *source.zarr, faulty);
    } else {
      tree = MakePrecomputedTree(5, std::move(shards), nullptr, *source.precomputed, source.locator,
                                 faulty);
    }
  }
  // Ids and meshes.
  TestTree(ShardedDirectory::Names names, const ShardingSpec& spec) {
    ShardedDirectory directory;
    directory.names = names;
    directory.sharding = spec;
    const auto access = MakeAccess(directory, MortonRule::kStandard);
    auto shards = MakeShards(access->format, access->keys);
    tree = MakePrecomputedTree(5, std::move(shards), nullptr, directory, access->locator, faulty);
  }
  std::shared_ptr<ShardSet> MakeShards(std::shared_ptr<const ShardFormat> format,
                                       std::shared_ptr<const ShardKeys> keys) {
    ShardSetOptions options;
    options.ttl_milliseconds = 0;
    return std::make_shared<ShardSet>(faulty, "top", std::move(format), std::move(keys), nullptr,
                                      std::make_shared<IndexCache>(1 << 20), options);
  }
  void Put(const ShardedSource& source, const std::map<std::uint64_t, std::string>& chunks) {
    for (const auto& [key, bytes] : source.Encode(chunks)) store->Put("top/" + key, bytes);
  }
  void PutIds(const ShardingSpec& spec, const std::set<std::uint64_t>& ids) {
    std::map<std::uint64_t, std::vector<ShardChunk>> shards;
    for (const std::uint64_t id : ids) shards[LocateChunkId(spec, id).shard].push_back({id, {1}});
    for (auto& [shard, chunks] : shards) {
      store->Put("top/" + ShardFileName(spec, shard),
                 AsText(EncodeNeuroglancerShard(spec, std::move(chunks))));
    }
  }

  // Reads at most `piece` names after `cookie`; appends them and moves the cookie.
  bool Piece(const GridDirectory& in, ListMode mode, std::size_t piece, std::uint64_t& cookie,
             std::vector<ChunkTree::Match>& matches, std::vector<std::string>& names) {
    std::size_t taken = 0;
    bool more = false;
    const Status status = tree->List(
        in, cookie, mode,
        [&](const ChunkTree::Listed& listed) {
          if (taken++ == piece) return !(more = true);
          EXPECT_NE(listed.next_cookie, 0u);
          EXPECT_LT(listed.next_cookie, std::uint64_t{1} << 62);
          cookie = listed.next_cookie;
          names.emplace_back(listed.name);
          matches.push_back(listed.match);
          return true;
        },
        [&](const Error& error, auto) { damage.push_back(error.message); });
    EXPECT_TRUE(status) << (status ? "" : status.error().message);
    return more;
  }
  std::vector<std::string> Names(const GridDirectory& in, ListMode mode, std::size_t piece) {
    std::vector<std::string> names;
    std::vector<ChunkTree::Match> matches;
    std::uint64_t cookie = 0;
    while (Piece(in, mode, piece, cookie, matches, names)) {
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
      const ChunkTree::Match resolved = tree->Resolve(in, names[i]);
      EXPECT_EQ(resolved.kind, matches[i].kind) << names[i];
      EXPECT_EQ(resolved.chunk, matches[i].chunk) << names[i];
      EXPECT_EQ(resolved.directory, matches[i].directory) << names[i];
    }
    return names;
  }
  // The paths of all chunks that a walk through the listings comes to.
  void Walk(const GridDirectory& in, ListMode mode, std::size_t piece,
            std::vector<std::string>& paths) {
    for (const std::string& name : Names(in, mode, piece)) {
      const ChunkTree::Match match = tree->Resolve(in, name);
      if (match.kind == Kind::kDirectory) Walk(match.directory, mode, piece, paths);
      if (match.kind == Kind::kChunk) paths.push_back(tree->Path(match.chunk));
    }
  }
  std::vector<std::string> damage;
};

std::vector<ShardedSource> Sources() {
  using Keys = ChunkKeyEncoding::Kind;
  return {
      PrecomputedSource({130, 65, 64}, {64, 64, 64}, Spec(1, 1, 2)),
      PrecomputedSource({7, 5, 1}, {2, 2, 2}, Spec(0, 2, 1, ChunkIdHash::kMurmurHash3X86_128)),
      PrecomputedSource({5, 5, 5}, {1, 2, 5}, Spec(0, 0, 0)),
      ZarrSource({10, 7}, {2, 2}, {2, 3}),
      ZarrSource({10, 7}, {2, 2}, {2, 3}, {Keys::kDefault, '.'}),
      ZarrSource({10, 7}, {2, 2}, {2, 3}, {Keys::kV2, '.'}),
      ZarrSource({10, 7}, {2, 2}, {2, 3}, {Keys::kV2, '/'}),
      ZarrSource({3, 9, 4}, {2, 2, 1}, {1, 2, 4}),
      ZarrSource({3, 9, 4}, {2, 2, 1}, {1, 2, 4}, {Keys::kV2, '/'}),
      ZarrSource({11}, {2}, {4}),
      ZarrSource({11}, {2}, {4}, {Keys::kV2, '/'}),
      ZarrSource({}, {}, {}),
      ZarrSource({}, {}, {}, {Keys::kV2, '.'}),
  };
}

TEST(ChunkTreeTest, NamePathPositionAndSlotAreInversesOverTheWholeGrid) {
  for (const ShardedSource& source : Sources()) {
    const TestTree test(source);
    const ChunkTree& tree = *test.tree;
    std::set<std::uint64_t> positions;
    for (std::uint64_t i = 0; i < source.cell_count(); ++i) {
      const std::string path = source.NameOf(i);
      GridDirectory in;
      ChunkTree::Match match;
      const auto parts = Components(path);
      for (std::size_t p = 0; p < parts.size(); ++p) {
        match = tree.Resolve(in, parts[p]);
        const bool last = p + 1 == parts.size();
        ASSERT_EQ(match.kind, last ? Kind::kChunk : Kind::kDirectory) << path;
        if (last) continue;
        EXPECT_EQ(tree.Parent(match.directory), in) << path;
        const auto position = tree.Position(match.directory);
        ASSERT_TRUE(position) << path;
        EXPECT_EQ(tree.AtPosition(*position).kind, Kind::kDirectory);
        EXPECT_EQ(tree.AtPosition(*position).directory, match.directory);
        positions.insert(*position);
        in = match.directory;
        EXPECT_EQ(tree.Path(in), path.substr(0, tree.Path(in).size()));
      }
      EXPECT_EQ(in.level, tree.depth());
      EXPECT_EQ(match.chunk.slot, source.SlotOf(i)) << path;
      EXPECT_EQ(tree.Path(match.chunk), path);
      EXPECT_EQ(tree.Parent(match.chunk), in) << path;
      const auto position = tree.Position(match.chunk);
      ASSERT_TRUE(position);
      EXPECT_TRUE(positions.insert(*position).second) << path;
      EXPECT_EQ(tree.AtPosition(*position).kind, Kind::kChunk);
      EXPECT_EQ(tree.AtPosition(*position).chunk, match.chunk) << path;
    }
  }
}

TEST(ChunkTreeTest, NamesThatOnlyLookLikeChunksAreNone) {
  const TestTree volume(PrecomputedSource({130, 65, 64}, {64, 64, 64}, Spec(1, 1, 2)));
  for (const char* name : {"128-192_0-64_0-64", "0-64_0-64_0-65", "00-64_0-64_0-64",
                           "192-256_0-64_0-64", "0-64_0-64_0-64.gz", "1-65_0-64_0-64"}) {
    EXPECT_EQ(volume.tree->Resolve({}, name).kind, Kind::kNoChunk) << name;
  }
  for (const char* name : {"info", "0.shard", "0-64_0-64", "", "provenance.gz", "a-b_c-d_e-f"}) {
    EXPECT_EQ(volume.tree->Resolve({}, name).kind, Kind::kOther) << name;
  }
  const TestTree nested(ZarrSource({10, 7}, {2, 2}, {2, 3}));
  const GridDirectory c = nested.tree->Resolve({}, "c").directory;
  EXPECT_EQ(nested.tree->Resolve(c, "4").kind, Kind::kDirectory);
  for (const char* name : {"5", "00", "4.gz", "99999999999999999999"}) {
    EXPECT_EQ(nested.tree->Resolve(c, name).kind, Kind::kNoChunk) << name;
  }
  for (const char* name : {"zarr.json", "-1", "", ".gz", "1a"}) {
    EXPECT_EQ(nested.tree->Resolve(c, name).kind, Kind::kOther) << name;
  }
  EXPECT_EQ(nested.tree->Resolve({}, "0").kind, Kind::kOther) << "outside of \"c\"";
}

TEST(ChunkTreeTest, GzipDataShowsItsStoredBytesUnderASuffix) {
  ShardingSpec spec = Spec(0, 0, 0);
  spec.data_encoding = ShardEncoding::kGzip;
  const TestTree test(PrecomputedSource({64, 64, 64}, {64, 64, 64}, spec));
  const auto stored = test.tree->Resolve({}, "0-64_0-64_0-64.gz");
  ASSERT_EQ(stored.kind, Kind::kChunk);
  EXPECT_EQ(stored.chunk.part, ChunkPart::kStored);
  EXPECT_EQ(test.tree->Path(stored.chunk), "0-64_0-64_0-64.gz");
  EXPECT_FALSE(test.tree->Position(stored.chunk));
  EXPECT_EQ(test.tree->Resolve({}, "0-64_0-64_0-64.br").kind, Kind::kNoChunk);
  EXPECT_EQ(test.tree->Resolve({}, "0-64_0-64_0-64.gz.gz").kind, Kind::kOther);
}

TEST(ChunkTreeTest, IdsAndMeshesAreNamedByTheirNumber) {
  const TestTree ids(ShardedDirectory::Names::kIds, Spec(0, 2, 2));
  const auto match = ids.tree->Resolve({}, "18446744073709551615");
  ASSERT_EQ(match.kind, Kind::kChunk);
  EXPECT_EQ(match.chunk.slot.slot, ~std::uint64_t{0});
  EXPECT_EQ(ids.tree->Path(match.chunk), "18446744073709551615");
  EXPECT_EQ(ids.tree->Resolve({}, "18446744073709551616").kind, Kind::kNoChunk);
  EXPECT_EQ(ids.tree->Resolve({}, "07").kind, Kind::kNoChunk);
  EXPECT_EQ(ids.tree->Resolve({}, "7.index").kind, Kind::kOther);

  const TestTree meshes(ShardedDirectory::Names::kMeshes, Spec(0, 2, 2));
  const auto fragments = meshes.tree->Resolve({}, "7");
  const auto manifest = meshes.tree->Resolve({}, "7.index");
  ASSERT_EQ(fragments.kind, Kind::kChunk);
  ASSERT_EQ(manifest.kind, Kind::kChunk);
  EXPECT_EQ(fragments.chunk.part, ChunkPart::kFragments);
  EXPECT_EQ(manifest.chunk.part, ChunkPart::kPlain);
  EXPECT_EQ(meshes.tree->Path(fragments.chunk), "7");
  EXPECT_EQ(meshes.tree->Path(manifest.chunk), "7.index");
}

std::map<std::uint64_t, std::string> EveryOther(const ShardedSource& source) {
  std::map<std::uint64_t, std::string> chunks;
  for (std::uint64_t i = 0; i < source.cell_count(); i += 2) chunks[i] = "x";
  return chunks;
}

TEST(ChunkTreeTest, ListingsOfAnyPieceSizeNeverRepeatOrSkip) {
  for (const ShardedSource& source : Sources()) {
    TestTree test(source);
    const auto chunks = EveryOther(source);
    test.Put(source, chunks);
    std::set<std::string> present;
    for (std::uint64_t i = 0; i < source.cell_count(); ++i) {
      if (chunks.contains(i)) present.insert(source.NameOf(i));
    }
    for (std::size_t piece = 1; piece < 12; ++piece) {
      std::vector<std::string> listed;
      test.Walk({}, ListMode::kPresent, piece, listed);
      EXPECT_EQ(listed.size(), present.size()) << "each once, pieces of " << piece;
      EXPECT_EQ((std::set<std::string>(listed.begin(), listed.end())), present);
      std::vector<std::string> grid;
      test.Walk({}, ListMode::kGrid, piece, grid);
      EXPECT_EQ(grid, listed) << "no chunk that cannot be opened, pieces of " << piece;
    }
    std::vector<std::string> none;
    test.Walk({}, ListMode::kNone, 3, none);
    EXPECT_EQ(none, std::vector<std::string>());
    EXPECT_EQ(test.damage, std::vector<std::string>());
  }
}

// The directory of a tree that holds the most names of chunks.
GridDirectory DeepestDirectory(const ChunkTree& tree) {
  GridDirectory in;
  while (in.level < tree.depth()) {
    const auto c = tree.Resolve(in, "c");
    in = c.kind == Kind::kDirectory ? c.directory : tree.Resolve(in, "0").directory;
  }
  return in;
}

TEST(ChunkTreeTest, AListingGoesOnAfterItsCookieWhenTheShardIsReplacedInBetween) {
  for (const ShardedSource& source : Sources()) {
    if (source.cell_count() < 6) continue;
    TestTree reference(source);
    reference.Put(source, EveryOther(source));
    const GridDirectory in = DeepestDirectory(*reference.tree);
    const auto before = reference.Names(in, ListMode::kPresent, 100);
    for (std::size_t stop = 1; stop < before.size(); ++stop) {
      TestTree test(source);
      auto chunks = EveryOther(source);
      test.Put(source, chunks);
      std::uint64_t cookie = 0;
      std::vector<std::string> names;
      std::vector<ChunkTree::Match> matches;
      ASSERT_TRUE(test.Piece(in, ListMode::kPresent, stop, cookie, matches, names));
      // The chunk that the cookie names goes away; the others stay, with other bytes.
      const ShardSlot last = matches.back().chunk.slot;
      std::erase_if(chunks, [&](const auto& chunk) { return source.SlotOf(chunk.first) == last; });
      for (auto& [index, text] : chunks) text = "longer than before";
      for (const auto& [key, bytes] : source.Encode(EveryOther(source))) {
        test.store->Remove("top/" + key);
      }
      test.Put(source, chunks);
      test.tree->shards().Invalidate("");
      while (test.Piece(in, ListMode::kPresent, 2, cookie, matches, names)) {
      }
      EXPECT_EQ(names, before) << "stopped after " << stop;
    }
  }
}

// Its index may be read by several calls, of which each may be the first that finds it overwritten.
TEST(ChunkTreeTest, AShardThatIsOverwrittenWhileItIsListedIsListedAsItIsThen) {
  for (const ShardedSource& source : Sources()) {
    const auto chunks = EveryOther(source);
    for (std::uint64_t before = 0;; ++before) {
      TestTree test(source);
      test.Put(source, chunks);
      test.faulty->FailAfter(before, Fault::kChanged);
      std::vector<std::string> paths;
      test.Walk({}, ListMode::kPresent, chunks.size() + 1, paths);
      EXPECT_EQ(paths.size(), chunks.size()) << "after " << before << " calls";
      EXPECT_EQ(test.damage, std::vector<std::string>()) << "after " << before << " calls";
      if (test.faulty->calls() <= before) break;
    }
  }
}

TEST(ChunkTreeTest, IdsAboveTwoToTheSixtyAreListedAndResumed) {
  const ShardingSpec spec = Spec(0, 1, 1);
  const std::set<std::uint64_t> ids{0,
                                    1,
                                    (std::uint64_t{1} << 60) - 1,
                                    std::uint64_t{1} << 60,
                                    (std::uint64_t{1} << 60) + 1,
                                    std::uint64_t{1} << 63,
                                    ~std::uint64_t{0} - 1,
                                    ~std::uint64_t{0}};
  for (std::size_t piece = 1; piece < 10; ++piece) {
    TestTree test(ShardedDirectory::Names::kIds, spec);
    test.PutIds(spec, ids);
    const auto names = test.Names({}, ListMode::kPresent, piece);
    std::set<std::uint64_t> listed;
    for (const std::string& name : names) listed.insert(std::stoull(name));
    EXPECT_EQ(names.size(), ids.size()) << piece;
    EXPECT_EQ(listed, ids) << piece;
  }
}

TEST(ChunkTreeTest, AMeshListsItsManifestAndItsFragmentsWhereverTheListingStops) {
  const ShardingSpec spec = Spec(0, 1, 0);
  for (const std::size_t piece : {1u, 2u, 3u, 100u}) {
    TestTree test(ShardedDirectory::Names::kMeshes, spec);
    test.PutIds(spec, {2, 3, std::uint64_t{1} << 62});
    EXPECT_EQ(test.Names({}, ListMode::kPresent, piece),
              (std::vector<std::string>{"2.index", "2", "4611686018427387904.index",
                                        "4611686018427387904", "3.index", "3"}));
    EXPECT_EQ(test.Names({}, ListMode::kGrid, piece).size(), 6u) << "there is no grid";
  }
}

TEST(ChunkTreeTest, AnUnreadableShardIsLeftOutOfListingsAndReported) {
  const ShardedSource source = ZarrSource({12}, {1}, {4}, {ChunkKeyEncoding::Kind::kV2, '.'});
  TestTree test(source);
  test.Put(source, {{0, "a"}, {5, "b"}, {9, "c"}});
  test.store->Put("top/1", std::string(100, 'x'));
  EXPECT_EQ(test.Names({}, ListMode::kPresent, 100), (std::vector<std::string>{"0", "9"}));
  ASSERT_EQ(test.damage.size(), 1u);
  EXPECT_NE(test.damage[0].find("top/1"), std::string::npos) << test.damage[0];
}

TEST(ChunkTreeTest, AnEmptyShardOfCountlessMinishardsIsListedAtOnce) {
  const ShardingSpec spec = Spec(0, 63, 0);
  TestTree test(ShardedDirectory::Names::kIds, spec);
  test.store->Put("top/0.shard", "");
  EXPECT_EQ(test.Names({}, ListMode::kPresent, 10), std::vector<std::string>());
  const auto generation = test.tree->shards().Current(0, Deadline::None());
  ASSERT_TRUE(generation);
  std::size_t present = 0;
  EXPECT_TRUE(test.tree->ForEachPresent(*generation, [&](const ChunkRef&) { ++present; }));
  EXPECT_EQ(present, 0u);
}

TEST(ChunkTreeTest, ShardFilesAreRecognisedByTheirKeys) {
  const TestTree volume(PrecomputedSource({130, 65, 64}, {64, 64, 64}, Spec(1, 1, 5)));
  for (const char* key : {"00.shard", "1f.shard", "00.index", "1f.data"}) {
    EXPECT_TRUE(volume.tree->IsShardKey(key)) << key;
  }
  for (const char* key : {"0.shard", "20.shard", "1F.shard", "00.shard.tmp", "info"}) {
    EXPECT_FALSE(volume.tree->IsShardKey(key)) << key;
  }
}

TEST(ChunkTreeTest, TheDirectoriesOfANestedShardAreThoseOfItsChunks) {
  const ShardedSource source = ZarrSource({3, 9, 4}, {1, 2, 1}, {2, 2, 4});
  const TestTree test(source);
  for (std::uint64_t shard = 0; shard < source.zarr->shard_grid.cell_count(); ++shard) {
    std::set<std::string> expected;
    for (std::uint64_t i = 0; i < source.cell_count(); ++i) {
      if (source.SlotOf(i).shard != shard) continue;
      const auto parts = Components(source.NameOf(i));
      expected.insert(parts[0] + "/" + parts[1]);
      expected.insert(parts[0] + "/" + parts[1] + "/" + parts[2]);
    }
    std::set<std::string> visited;
    test.tree->ForEachDirectory(
        shard, [&](const GridDirectory& in) { visited.insert(test.tree->Path(in)); });
    EXPECT_EQ(visited, expected) << shard;
  }
}

}  // namespace
}  // namespace unshard
