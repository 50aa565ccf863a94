// A listing from which chunks had to be left out fails at its end, and gives all other names.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "store/object/error_number.h"
#include "tests/support/mounted_volume.h"

namespace unshard {
namespace {

ShardingSpec FourShards() {
  ShardingSpec spec;
  spec.shard_bits = 2;
  return spec;
}

struct WholeListing {
  std::vector<std::string> names;
  std::vector<std::uint64_t> cookies;  // after each name
  std::string end;                     // "" or an errno
};

class IncompleteListingTest : public MountedVolume {
 protected:
  // One listing from `cookie` on, `piece` names a request. `after_first`: between two requests.
  WholeListing List(const std::string& path, std::size_t piece, std::uint64_t cookie = 0,
                    const std::function<void()>& after_first = nullptr) {
    WholeListing listed;
    const auto directory = Find(path);
    if (!directory || directory->node == 0) return {{}, {}, "no directory"};
    for (bool first = true;; first = false) {
      std::size_t taken = 0;
      const auto visit = [&](const DirectoryName& name) {
        if (taken == piece) return false;
        ++taken;
        cookie = name.next_cookie;
        listed.names.emplace_back(name.name);
        listed.cookies.push_back(cookie);
        return true;
      };
      const Status done = fs_->ReadDirectory(directory->node, cookie, false, visit);
      if (first && after_first) after_first();
      // As READDIR answers: a failure is seen by the request that has no name.
      if (taken > 0) continue;
      if (!done) listed.end = ErrnoName(ErrnoOf(done.error()));
      return listed;
    }
  }
  // 16 chunks in 4 shards, of which those in `damaged` have no index.
  ShardedSource WriteVolume(const std::set<std::uint64_t>& damaged) {
    const ShardedSource source = PrecomputedSource({16, 16, 4}, {4, 4, 4}, FourShards());
    std::map<std::uint64_t, std::string> chunks;
    for (std::uint64_t i = 0; i < 16; ++i) chunks[i] = "chunk";
    Write("", source, chunks);
    for (const std::uint64_t shard : damaged) Damage("8_8_8/" + source.keys->Key(shard));
    return source;
  }
  void Damage(const std::string& path) { source_.Replace(path, "torn"); }
};

std::vector<std::string> NamesOutside(const ShardedSource& source,
                                      const std::set<std::uint64_t>& damaged) {
  std::vector<std::string> names{".", ".."};
  for (std::uint64_t i = 0; i < source.cell_count(); ++i) {
    if (!damaged.contains(source.SlotOf(i).shard)) names.push_back(source.NameOf(i));
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> Sorted(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  return names;
}

TEST_F(IncompleteListingTest, AnyUnreadableShardFailsTheEndAndNoOtherName) {
  const std::vector<std::set<std::uint64_t>> cases{{0}, {1}, {3}, {0, 2}, {1, 2, 3}, {0, 1, 2, 3}};
  for (const auto& damaged : cases) {
    const ShardedSource source = WriteVolume(damaged);
    Mount();
    for (const std::size_t piece : {1u, 2u, 3u, 1000u}) {
      const WholeListing listed = List("8_8_8", piece);
      EXPECT_EQ(Sorted(listed.names), NamesOutside(source, damaged)) << piece;
      EXPECT_EQ(listed.end, "EIO") << *damaged.begin() << ' ' << piece;
    }
    EXPECT_NE(fs_->superblock().errors.Text().find("readdir /8_8_8 EIO "), std::string::npos);
  }
  WriteVolume({});
  Mount();
  EXPECT_EQ(List("8_8_8", 3).end, "");
}

TEST_F(IncompleteListingTest, CookiesStayUniqueAndLeadToTheRestOfTheListing) {
  WriteVolume({1});
  Mount();
  const WholeListing whole = List("8_8_8", 1000);
  EXPECT_EQ(std::set(whole.cookies.begin(), whole.cookies.end()).size(), whole.cookies.size());
  for (std::size_t at = 0; at < whole.cookies.size(); ++at) {
    EXPECT_LT(whole.cookies[at], std::uint64_t{1} << 63);
    const WholeListing rest = List("8_8_8", 2, whole.cookies[at]);
    EXPECT_EQ(rest.names,
              std::vector(whole.names.begin() + static_cast<long>(at) + 1, whole.names.end()));
    EXPECT_EQ(rest.end, "EIO");
  }
}

TEST_F(IncompleteListingTest, AShardThatCanBeReadAgainMeanwhileDoesNotMakeAListingWhole) {
  const ShardedSource source = WriteVolume({0});
  Mount();
  const WholeListing listed = List("8_8_8", 5, 0, [&] {
    WriteVolume({});
    Changed("8_8_8/" + source.keys->Key(0));
  });
  EXPECT_EQ(Sorted(listed.names), NamesOutside(source, {0}));
  EXPECT_EQ(listed.end, "EIO");
  const WholeListing next = List("8_8_8", 5);
  EXPECT_EQ(Sorted(next.names), NamesOutside(source, {}));
  EXPECT_EQ(next.end, "");
}

TEST_F(IncompleteListingTest, TheDocumentIsListedBehindChunksThatAreLeftOut) {
  ChunkKeyEncoding flat;
  flat.kind = ChunkKeyEncoding::Kind::kV2;
  flat.separator = '.';
  Write("", ZarrSource({4, 4}, {1, 1}, {2, 2}, flat), {{0, "a"}, {6, "b"}, {15, "c"}});
  source_.Replace("0.1", "");
  Mount();
  for (const std::size_t piece : {1u, 1000u}) {
    const WholeListing listed = List("", piece);
    EXPECT_EQ(Sorted(listed.names),
              (std::vector<std::string>{".", "..", "0.0", "3.3", "zarr.json"}));
    EXPECT_EQ(listed.end, "EIO") << "no byte is damage here";
  }
}

TEST_F(IncompleteListingTest, OnlyTheDirectoriesOfTheGridWhoseChunksAreLeftOutFail) {
  Write("", ZarrSource({4, 4}, {1, 1}, {2, 2}), {{0, "a"}, {2, "b"}, {8, "c"}, {15, "d"}});
  source_.Replace("c/0/1", "");
  Mount();
  const std::vector<std::string> dots{".", ".."};
  EXPECT_EQ(List("c", 2).end, "") << "directories of unreadable shards are listed";
  EXPECT_EQ(Sorted(List("c", 2).names), (std::vector<std::string>{".", "..", "0", "1", "2", "3"}));
  EXPECT_EQ(List("c/0", 1).names, (std::vector<std::string>{".", "..", "0"}));
  EXPECT_EQ(List("c/0", 1).end, "EIO");
  EXPECT_EQ(List("c/1", 1).names, dots);
  EXPECT_EQ(List("c/1", 1).end, "EIO");
  EXPECT_EQ(List("c/2", 1).end, "");
  EXPECT_EQ(List("c/3", 1).names, (std::vector<std::string>{".", "..", "3"}));
  EXPECT_EQ(List("c/3", 1).end, "");
}

}  // namespace
}  // namespace unshard
