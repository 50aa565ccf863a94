// Every state in which a crash can leave a whole dataset while its shards are published one after
// the other: each shard is one of its versions as a whole, and what was acknowledged is there.
//
// Where the environment variable UNSHARD_CRASH_STATES names a folder, the distinct states are also
// written there, for other programs to read (tests/fault/test_crash_states.py):
//
//   <scenario>/<number>/dataset/       its files, with what the crash left over
//   <scenario>/<number>/allowed.json   what they may hold: in each shard the versions that it may
//                                      have, and at the same place in `values` what a chunk holds
//                                      in that version, in hexadecimal, or null where it is missing
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "codec/json/json.h"
#include "codec/json/writer.h"
#include "store/local/local_replacer.h"
#include "tests/support/full_run.h"
#include "tests/support/published_shards.h"
#include "tests/support/sharded_source.h"
#include "tests/support/simulated_disk.h"

namespace unshard {
namespace {

// 4 × 2 × 2 chunks in two shards; those at the upper edges of x and z are clipped.
const std::vector<std::uint64_t> kSize = {14, 8, 7};
const std::vector<std::uint64_t> kChunk = {4, 4, 4};
constexpr std::uint64_t kShards = 2;
constexpr std::string_view kLockSuffix = ".__lock";
constexpr std::string_view kNewSuffix = ".new.__lock";

using Chunks = std::map<std::uint64_t, std::string>;  // by number of the cell

struct Scenario {
  const char* name;
  bool zarr = false;
  ShardEncoding encoding = ShardEncoding::kRaw;  // precomputed only
  bool new_shards = false;                       // there are none before
  bool clones = false;
  bool removes_all = false;  // of each shard, before chunks come back to the first
};

ShardedSource MakeSource(const Scenario& scenario) {
  if (scenario.zarr) return ZarrSource(kSize, kChunk, {2, 2, 2});
  ShardingSpec spec;
  spec.preshift_bits = 1;
  spec.minishard_bits = 2;
  spec.shard_bits = 1;
  spec.minishard_index_encoding = spec.data_encoding = scenario.encoding;
  return PrecomputedSource(kSize, kChunk, spec, "raw");
}

// Publishing into one shard.
struct Round {
  std::uint64_t shard = 0;
  std::vector<std::uint64_t> put;  // numbers of cells
  std::vector<std::uint64_t> removed;
};

// How far the rounds came.
struct Progress {
  std::size_t acknowledged = 0;
  std::size_t begun = 0;
  std::size_t appended = 0;  // of those acknowledged
};

JsonValue Text(const std::optional<std::string>& value) {
  if (!value) return {};
  std::string digits;
  for (const char letter : *value) {
    constexpr const char* kDigits = "0123456789abcdef";
    digits += kDigits[static_cast<unsigned char>(letter) >> 4];
    digits += kDigits[static_cast<unsigned char>(letter) & 15];
  }
  return JsonValue::String(digits);
}

void WriteFile(const std::filesystem::path& path, std::string_view text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  ASSERT_TRUE(file) << path;
}

class CrashStatesTest : public testing::TestWithParam<Scenario> {
 protected:
  void SetUp() override {
    for (std::uint64_t index = 0; index < source_.cell_count(); ++index) {
      cells_[source_.SlotOf(index).shard].push_back(index);
    }
    ASSERT_EQ(cells_.size(), kShards);
    Chunks chunks;
    for (const auto& [shard, cells] : cells_) {
      // The last one of each shard is missing at first.
      for (std::size_t i = 0; i + 1 < cells.size() && !GetParam().new_shards; ++i) {
        chunks[cells[i]] = Value(cells[i], 0);
      }
    }
    versions_.push_back(chunks);
    const auto& first = cells_.at(0);
    const auto& second = cells_.at(1);
    if (GetParam().removes_all) {
      rounds_ = {{0, {}, first}, {1, {}, second}, {0, {first[0], first[5]}, {}}};
    } else {
      rounds_ = {{0, {first[0], first[7]}, {first[2]}},
                 {1, {second[3], second[4], second[7]}, {}},
                 {0, {first[0], first[2]}, {first[7]}}};
    }
    for (std::size_t i = 0; i < rounds_.size(); ++i) {
      for (const std::uint64_t cell : rounds_[i].put) chunks[cell] = Value(cell, i + 1);
      for (const std::uint64_t cell : rounds_[i].removed) chunks.erase(cell);
      versions_.push_back(chunks);
    }
    if (const char* folder = std::getenv("UNSHARD_CRASH_STATES")) {
      folder_ = std::filesystem::path(folder) / GetParam().name;
    }
  }

  // Bytes that a chunk of this cell really has.
  std::string Value(std::uint64_t cell, std::uint64_t version) const {
    const std::uint64_t size =
        GetParam().zarr ? 64 : grid().ClippedElementCount(source_.CellAt(cell));
    return ChunkText(cell * 100 + version, size);
  }
  const ChunkGrid& grid() const {
    return GetParam().zarr ? source_.zarr->grid : source_.precomputed->grid;
  }
  std::string Key(std::uint64_t shard) const {
    return source_.directory + (source_.directory.empty() ? "" : "/") + source_.keys->Key(shard);
  }
  ShardContent ContentOfShard(const Chunks& chunks, std::uint64_t shard) const {
    ShardContent content;
    for (const auto& [cell, text] : chunks) {
      const ShardSlot slot = source_.SlotOf(cell);
      if (slot.shard == shard) content[{slot.page, slot.slot}] = text;
    }
    return content;
  }

  std::shared_ptr<SimulatedDisk> NewDisk() const {
    SimulatedDiskOptions options;
    options.clones = GetParam().clones;
    const auto disk = std::make_shared<SimulatedDisk>(options);
    disk->Put(source_.document_name, source_.document);
    for (const auto& [shard, text] : source_.EncodeShards(versions_[0]))
      disk->Put(Key(shard), text);
    return disk;
  }
  // One round after the other, from a round on, until one fails.
  Progress Publish(const std::shared_ptr<SimulatedDisk>& disk, std::size_t from = 0) {
    Progress progress{from, from, 0};
    for (; progress.begun < rounds_.size() && !disk->crashed(); ++progress.acknowledged) {
      const Round& round = rounds_[progress.begun];
      const ShardContent base = ContentOfShard(versions_[progress.begun], round.shard);
      const Chunks& next = versions_[++progress.begun];
      PublishRequest request;
      request.object.key = Key(round.shard);
      request.shard = round.shard;
      request.format = source_.format.get();
      const auto place = [&](std::uint64_t cell) {
        const ShardSlot slot = source_.SlotOf(cell);
        return PlacedAt{slot.page, slot.slot};
      };
      for (const std::uint64_t cell : round.put) {
        request.changes.push_back(maker_.Put(place(cell), next.at(cell), base));
      }
      for (const std::uint64_t cell : round.removed) {
        request.changes.push_back(maker_.Remove(place(cell), base));
      }
      // The arrays are so small that an index and one chunk are much of a shard.
      const auto result =
          ShardPublisher(MakeLocalReplacer(disk), {.garbage_percent = 60}).Publish(request);
      if (!result) {
        EXPECT_TRUE(disk->crashed()) << result.error().message;
        return progress;
      }
      progress.appended += result->appended ? 1U : 0U;
    }
    return progress;
  }

  // The versions of all that a shard may be one of.
  std::vector<const Chunks*> Allowed(const Progress& progress, std::uint64_t shard) const {
    std::vector<const Chunks*> allowed;
    std::set<ShardContent> different;
    for (std::size_t i = progress.acknowledged; i <= progress.begun; ++i) {
      if (different.insert(ContentOfShard(versions_[i], shard)).second) {
        allowed.push_back(&versions_[i]);
      }
    }
    return allowed;
  }
  void ExpectAllowed(const SimulatedDisk& disk, const Progress& progress) const {
    for (std::uint64_t shard = 0; shard < kShards; ++shard) {
      const auto text = disk.Text(Key(shard));
      const auto found = text ? ContentOf(*source_.format, *text, shard) : ShardContent{};
      ASSERT_TRUE(found) << found.error().message;
      const auto allowed = Allowed(progress, shard);
      EXPECT_TRUE(std::any_of(
          allowed.begin(), allowed.end(),
          [&](const Chunks* chunks) { return *found == ContentOfShard(*chunks, shard); }))
          << "shard " << shard << " is none of " << allowed.size() << " versions";
    }
  }
  JsonValue AllowedInWriting(const Progress& progress) const {
    JsonValue shards = JsonValue::Array();
    for (const auto& [shard, cells] : cells_) {
      const auto allowed = Allowed(progress, shard);
      JsonValue chunks = JsonValue::Array();
      for (const std::uint64_t cell : cells) {
        JsonValue begin = JsonValue::Array(), end = JsonValue::Array(), values = JsonValue::Array();
        for (std::size_t d = 0; d < kSize.size(); ++d) {
          const CellExtent extent = grid().Extent(source_.CellAt(cell), d);
          begin.mutable_items().push_back(
              JsonValue::Number(static_cast<std::uint64_t>(extent.begin)));
          end.mutable_items().push_back(JsonValue::Number(static_cast<std::uint64_t>(extent.end)));
        }
        for (const Chunks* version : allowed) {
          const auto found = version->find(cell);
          values.mutable_items().push_back(found == version->end() ? JsonValue()
                                                                   : Text(found->second));
        }
        chunks.mutable_items().push_back(
            JsonValue::Object({{"begin", begin}, {"end", end}, {"values", values}}));
      }
      shards.mutable_items().push_back(
          JsonValue::Object({{"key", JsonValue::String(Key(shard))}, {"chunks", chunks}}));
    }
    return JsonValue::Object(
        {{"document", JsonValue::String(source_.document_name)}, {"shards", shards}});
  }

  void Check(const SimulatedDisk& disk, const Progress& progress) {
    ExpectAllowed(disk, progress);
    std::map<std::string, std::string> files, distinct;
    for (const std::string& path : disk.Paths()) {
      const std::string& text = files[path] = *disk.Text(path);
      const bool left_over = path.ends_with(kLockSuffix);
      if (left_over) ++left_over_;
      // TensorStore puts its version into a lock file that it finds, and keeps what stands behind.
      if (left_over && !path.ends_with(kNewSuffix)) {
        EXPECT_EQ(text, "") << path;
      }
      // Of what nobody reads it does not matter which bytes have survived, only how many.
      distinct[path] = left_over ? std::to_string(text.size()) : text;
    }
    const std::string allowed = WriteJson(AllowedInWriting(progress), 0);
    if (!states_.emplace(distinct, allowed).second || folder_.empty()) return;
    const auto folder = folder_ / std::to_string(states_.size());
    for (const auto& [path, text] : files) WriteFile(folder / "dataset" / path, text);
    WriteFile(folder / "allowed.json", allowed);
  }
  // The next process takes up the round that was not acknowledged.
  void GoOn(const std::shared_ptr<SimulatedDisk>& disk, const Progress& progress) {
    const Progress end = Publish(disk, progress.acknowledged);
    EXPECT_EQ(end.acknowledged, rounds_.size());
    ExpectAllowed(*disk, end);
  }

  const ShardedSource source_ = MakeSource(GetParam());
  ChangeMaker maker_{std::make_shared<SimulatedDisk>()};
  std::map<std::uint64_t, std::vector<std::uint64_t>> cells_;  // by shard
  std::vector<Round> rounds_;
  std::vector<Chunks> versions_;  // before the first round, and after each
  std::filesystem::path folder_;  // empty: states are not written out
  std::set<std::pair<std::map<std::string, std::string>, std::string>> states_;
  std::uint64_t left_over_ = 0;
};

constexpr Scenario kScenarios[] = {
    {"zarr", true},
    {"zarr_new", true, ShardEncoding::kRaw, true},
    {"zarr_cloned", true, ShardEncoding::kRaw, false, true},
    {"zarr_removed", true, ShardEncoding::kRaw, false, false, true},
    {"precomputed", false},
    {"precomputed_gzip", false, ShardEncoding::kGzip},
    {"precomputed_new", false, ShardEncoding::kRaw, true},
    {"precomputed_cloned", false, ShardEncoding::kRaw, false, true},
    {"precomputed_removed", false, ShardEncoding::kRaw, false, false, true},
};

INSTANTIATE_TEST_SUITE_P(Scenarios, CrashStatesTest, testing::ValuesIn(kScenarios),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST_P(CrashStatesTest, EachShardIsAVersionAsAWholeAndWhatWasAcknowledgedIsThere) {
  const std::uint64_t seeds = InFullRun(6U, 2U);
  for (std::uint64_t n = 1;; ++n) {
    SCOPED_TRACE("crash at operation " + std::to_string(n));
    const auto disk = NewDisk();
    disk->CrashAt(n);
    const Progress progress = Publish(disk);
    std::vector<std::shared_ptr<SimulatedDisk>> after = {
        disk->AfterKill(), disk->AfterPowerLoss(Survival::kNothing, n),
        disk->AfterPowerLoss(Survival::kEverything, n)};
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      after.push_back(disk->AfterPowerLoss(Survival::kRandom, n * seeds + seed));
    }
    for (const auto& each : after) {
      Check(*each, progress);
      GoOn(each, progress);
    }
    if (HasFailure()) return;
    if (!disk->crashed()) {
      EXPECT_EQ(progress.acknowledged, rounds_.size());
      EXPECT_EQ(progress.appended, GetParam().clones ? rounds_.size() : 0);
      break;
    }
  }
  RecordProperty("states", static_cast<int>(states_.size()));
  EXPECT_GT(states_.size(), 10u);
  EXPECT_GT(left_over_, 0u);
}

}  // namespace
}  // namespace unshard
