// A mount against the simplest model of it, a map from cell to bytes, under random operations.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <random>
#include <thread>

#include "tests/support/mounted_volume.h"

namespace unshard {
namespace {

using Chunks = std::map<std::uint64_t, std::string>;
using Random = std::mt19937_64;

std::uint64_t Below(Random& random, std::uint64_t bound) { return random() % bound; }

ShardedSource RandomSource(Random& random) {
  if (Below(random, 2) == 0) {
    ShardingSpec spec;
    spec.preshift_bits = static_cast<unsigned>(Below(random, 3));
    spec.minishard_bits = static_cast<unsigned>(Below(random, 3));
    spec.shard_bits = static_cast<unsigned>(Below(random, 3));
    if (Below(random, 2) == 0) spec.hash = ChunkIdHash::kMurmurHash3X86_128;
    if (Below(random, 2) == 0) spec.data_encoding = ShardEncoding::kGzip;
    if (Below(random, 2) == 0) spec.minishard_index_encoding = ShardEncoding::kGzip;
    const auto extent = [&] { return 1 + Below(random, 9); };
    const auto chunk = [&] { return 1 + Below(random, 4); };
    return PrecomputedSource({extent(), extent(), extent()}, {chunk(), chunk(), chunk()}, spec);
  }
  const std::uint64_t rank = Below(random, 4);
  std::vector<std::uint64_t> shape;
  std::vector<std::uint64_t> chunk;
  std::vector<std::uint64_t> per_shard;
  for (std::uint64_t d = 0; d < rank; ++d) {
    shape.push_back(1 + Below(random, 8));
    chunk.push_back(1 + Below(random, 3));
    per_shard.push_back(1 + Below(random, 3));
  }
  const auto kind =
      Below(random, 2) == 0 ? ChunkKeyEncoding::Kind::kDefault : ChunkKeyEncoding::Kind::kV2;
  return ZarrSource(shape, chunk, per_shard, {kind, Below(random, 2) == 0 ? '/' : '.'});
}

class ModelTest : public MountedVolume {
 protected:
  std::string RandomText(Random& random) {
    return std::string(1 + Below(random, 40), static_cast<char>('a' + Below(random, 26)));
  }
  std::string PathOf(std::uint64_t cell) { return JoinPath(Top(), source_format_.NameOf(cell)); }
  std::string Top() { return JoinPath("d", source_format_.directory); }

  // Rewrites the shard of `cell` so that it holds what `model` says, and tells of it.
  void Rewrite(const Chunks& model, std::uint64_t cell) {
    const std::uint64_t shard = source_format_.SlotOf(cell).shard;
    const std::string key = JoinPath(Top(), source_format_.keys->Key(shard));
    const auto encoded = source_format_.EncodeShards(model);
    std::vector<std::string> events{key};
    for (std::string above = ParentPath(key); above.size() > Top().size();
         above = ParentPath(above)) {
      if (!std::filesystem::exists(source_.At(above))) events.insert(events.begin(), above);
    }
    const auto found = encoded.find(shard);
    if (found != encoded.end()) {
      source_.Replace(key, found->second);
    } else {
      source_.Remove(key);
    }
    for (const std::string& event : events) Changed(event);
  }
  void ListAll(const std::string& path, std::size_t piece, std::vector<std::string>& paths) {
    for (const std::string& name : Names(path, piece)) {
      const std::string child = JoinPath(path, name);
      const auto entry = Find(child);
      ASSERT_TRUE(entry && entry->node != 0) << child << " is listed";
      if (entry->attributes.directory) {
        ListAll(child, piece, paths);
      } else if (name != "zarr.json") {
        paths.push_back(child);
      }
    }
  }
  void CheckListing(const Chunks& model, std::size_t piece) {
    std::vector<std::string> listed;
    ListAll(Top(), piece, listed);
    std::set<std::string> expected;
    for (const auto& [cell, text] : model) expected.insert(PathOf(cell));
    EXPECT_EQ(listed.size(), expected.size()) << "each once";
    EXPECT_EQ((std::set<std::string>(listed.begin(), listed.end())), expected);
  }

  ShardedSource source_format_;
};

TEST_F(ModelTest, AMountIsAMapFromNamesToChunksUnderRandomRewrites) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    source_.Remove("d");
    source_format_ = RandomSource(random);
    const std::uint64_t cells = source_format_.cell_count();
    Chunks model;
    for (std::uint64_t cell = 0; cell < cells; ++cell) {
      if (Below(random, 2) == 0) model[cell] = RandomText(random);
    }
    Write("d", source_format_, model);
    Mount();
    // What programs hold open: a node, and the bytes that it had at its look-up.
    std::vector<std::pair<Entry, std::string>> held;
    for (int step = 0; step < 60; ++step) {
      const std::uint64_t cell = Below(random, cells);
      switch (Below(random, 6)) {
        case 0:
          model[cell] = RandomText(random);
          Rewrite(model, cell);
          break;
        case 1:
          model.erase(cell);
          Rewrite(model, cell);
          break;
        case 2:
          if (step % 8 == 0) CheckListing(model, 1 + Below(random, 5));
          break;
        case 3: {
          const auto entry = Find(PathOf(cell));
          ASSERT_TRUE(entry);
          ASSERT_EQ(entry->node != 0, model.contains(cell));
          if (entry->node != 0) held.emplace_back(*entry, model[cell]);
          break;
        }
        default: {
          const auto found = model.find(cell);
          ASSERT_EQ(Text(PathOf(cell)), found == model.end() ? "ENOENT" : found->second);
        }
      }
      if (held.empty()) continue;
      const auto& [entry, text] = held[Below(random, held.size())];
      const std::uint64_t offset = Below(random, text.size() + 2);
      const std::uint64_t size = Below(random, 50);
      const auto read = ReadAt(entry.node, offset, size);
      ASSERT_TRUE(read) << read.error().message;
      ASSERT_EQ(*read, offset < text.size() ? text.substr(offset, size) : "");
    }
    CheckListing(model, 3);
    if (HasFatalFailure()) return;
  }
}

// Every chunk of a shard has the version of the shard as its text, in a length of its own.
std::string Version(std::uint64_t version) {
  return std::string(200 + version % 90, static_cast<char>('a' + version % 26));
}

TEST_F(ModelTest, EveryReadIsWhollyOneVersionWhileShardsAreReplaced) {
  for (const ShardEncoding encoding : {ShardEncoding::kRaw, ShardEncoding::kGzip}) {
    ShardingSpec spec;
    spec.data_encoding = encoding;
    source_.Remove("d");
    source_format_ = PrecomputedSource({16, 4, 4}, {4, 4, 4}, spec);
    const auto all = [](std::uint64_t version) {
      Chunks chunks;
      for (std::uint64_t cell = 0; cell < 4; ++cell) chunks[cell] = Version(version);
      return chunks;
    };
    Write("d", source_format_, all(0));
    Mount();
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> wrong{0};
    std::atomic<std::uint64_t> reads{0};
    const auto scale = Find(Top());
    ASSERT_TRUE(scale);
    std::vector<std::thread> readers;
    for (std::uint64_t reader = 0; reader < 3; ++reader) {
      readers.emplace_back([&, reader] {
        Random random(reader);
        while (!stop) {
          const auto ticket = fs_->BeginRequest();
          const auto entry = fs_->Lookup(scale->node, source_format_.NameOf(Below(random, 4)));
          if (!entry || entry->node == 0) {
            ++wrong;
            continue;
          }
          // In two pieces, with time for a rewrite in between.
          const auto first = ReadAt(entry->node, 0, 100);
          std::this_thread::yield();
          const auto rest = ReadAt(entry->node, 100, 1000);
          const bool whole = first && rest &&
                             first->size() + rest->size() == entry->attributes.size &&
                             (*first + *rest).find_first_not_of((*first)[0]) == std::string::npos &&
                             entry->attributes.size >= 200;
          if (!whole) ++wrong;
          ++reads;
          fs_->Forget(entry->node, 1);
        }
      });
    }
    for (std::uint64_t version = 1; version <= 60; ++version) {
      for (const auto& [key, bytes] : source_format_.Encode(all(version))) {
        source_.Replace(JoinPath(Top(), key), bytes);
        Changed(JoinPath(Top(), key));
      }
    }
    while (reads < 50) std::this_thread::yield();
    stop = true;
    for (std::thread& reader : readers) reader.join();
    EXPECT_EQ(wrong, 0u);
    EXPECT_EQ(Text(PathOf(3)), Version(60)) << "nothing old is left";
  }
}

}  // namespace
}  // namespace unshard
