#include "store/publish/publisher.h"
#include "store/local/inotify_watcher.h"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <map>
#include <set>
#include <thread>

#include "codec/precomputed/shard.h"
#include "store/local/file_store.h"
#include "store/object/read_through.h"
#include "store/shard/object.h"
#include "tests/support/published_shards.h"
#include "tests/support/replaceable_store.h"
#include "tests/support/simulated_disk.h"
#include "tests/support/temporary_directory.h"

namespace unshard {
namespace {

// Publishes into "scale/0.shard" of one of the stores.
class ShardPublisherTest : public testing::Test {
 protected:
  void SetUp() override { Use(StoreKind::kPosix); }
  // store_ is null where its server is not installed.
  void Use(StoreKind kind) {
    is_remote_ = IsRemote(kind);
    store_ = ReplaceableStore::Make(kind, directory_.path());
    if (!store_) return;
    files_ = store_->files();
    // A store in memory has no files: its changes come from a simulated disk.
    changes_ = std::make_unique<ChangeMaker>(files_ ? files_ : std::make_shared<SimulatedDisk>());
  }
  // What stands under a key; nothing where it is missing.
  std::optional<std::string> Text(const std::string& key = kKey) { return store_->Text(key); }
  void Store(const std::string& key, const std::string& text) { store_->Put(key, text); }
  Result<PublishResult> Publish(const PublishRequest& request) {
    return ShardPublisher(store_->Replacer(timeouts_), options_).Publish(request);
  }
  Result<PublishResult> Publish(const WritableFormat& format, std::vector<ShardChange> changes) {
    return Publish(RequestFor(format, kKey, std::move(changes)));
  }
  void ExpectContent(const WritableFormat& format, const ShardContent& content) {
    const auto text = Text();
    // An empty shard in place of a removal.
    if (!is_remote_ || !content.empty()) {
      EXPECT_EQ(text.has_value(), !content.empty());
    }
    if (!text) return;
    const auto found = ContentOf(*format.format, *text);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_TRUE(*found == content);
    EXPECT_FALSE(Text(kLock)) << "the lock file is left";
    EXPECT_FALSE(Text(kNew)) << "an unfinished version is left";
  }

  static constexpr const char* kKey = "scale/0.shard";
  static constexpr const char* kLock = "scale/0.shard.__lock";
  static constexpr const char* kNew = "scale/0.shard.new.__lock";
  TemporaryDirectory directory_;
  std::unique_ptr<ReplaceableStore> store_;
  bool is_remote_ = false;
  std::shared_ptr<FileSystem> files_;  // null: elsewhere
  std::unique_ptr<ChangeMaker> changes_;
  PublisherOptions options_;
  LockTimeouts timeouts_;
  std::mt19937 random_{7};
};

struct Case {
  std::string format;
  StoreKind store = StoreKind::kPosix;
};

constexpr std::array kEveryStore = {
    StoreKind::kPosix,          StoreKind::kSimulated, StoreKind::kCloning, StoreKind::kMemory,
    StoreKind::kMemoryAppended, StoreKind::kVersitygw, StoreKind::kRadosgw, StoreKind::kFakeGcs};

class EveryFormatTest : public ShardPublisherTest, public testing::WithParamInterface<Case> {
 protected:
  void SetUp() override {
    Use(GetParam().store);
    if (!store_) GTEST_SKIP() << "the server is not installed";
  }
  const WritableFormat& format_ = FormatNamed(GetParam().format);
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const WritableFormat& format : WritableFormats()) {
    for (const StoreKind store : kEveryStore) cases.push_back({format.name, store});
  }
  return cases;
}

std::string NameOf(const testing::TestParamInfo<Case>& tested) {
  return tested.param.format + NameOf(tested.param.store);
}

INSTANTIATE_TEST_SUITE_P(Formats, EveryFormatTest, testing::ValuesIn(Cases()), NameOf);

// Compressing is slow under the sanitizers.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kRounds = 10;
#else
constexpr int kRounds = 40;
#endif

TEST_P(EveryFormatTest, ManyPublishesHoldWhatWasPutLastWithoutMuchGarbage) {
  ShardContent content;
  std::size_t appended = 0;
  for (int round = 0; round < kRounds; ++round) {
    const auto result =
        Publish(format_, changes_->Random(format_, content, 1 + random_() % 8, random_));
    ASSERT_TRUE(result) << result.error().message;
    ExpectContent(format_, content);
    EXPECT_EQ(result->chunks, content.size());
    EXPECT_EQ(result->conflicting.size(), 0u);
    if (result->unchanged) continue;
    EXPECT_EQ(result->object_size, Text().value_or("").size());
    const std::uint64_t whole = Assembled(*format_.format, content).size();
    if (result->appended) {
      ++appended;
      constexpr std::uint64_t kIndexes = 256;  // compressed ones depend on where chunks stand
      EXPECT_LE(result->object_size - std::min(result->object_size, whole),
                result->object_size * options_.garbage_percent / 100 + kIndexes);
      EXPECT_LT(result->bytes_written, result->object_size);
    } else if (!content.empty()) {
      EXPECT_TRUE(*Text() == Assembled(*format_.format, content)) << "depends on history";
    }
  }
  const bool can_append = format_.appends && (GetParam().store == StoreKind::kCloning ||
                                              GetParam().store == StoreKind::kMemoryAppended);
  EXPECT_EQ(appended > 3, can_append) << appended;
}

TEST_P(EveryFormatTest, AWholeShardIsWrittenOnce) {
  ShardContent content;
  std::vector<ShardChange> changes;
  for (const PlacedAt& place : format_.places) {
    content[place] = ChunkText(place.second, 5000);
    changes.push_back(changes_->Put(place, content[place], {}));
  }
  std::shuffle(changes.begin(), changes.end(), random_);
  const auto result = Publish(format_, std::move(changes));
  ASSERT_TRUE(result) << result.error().message;
  ExpectContent(format_, content);
  EXPECT_EQ(result->bytes_written, result->object_size);
  EXPECT_TRUE(*Text() == Assembled(*format_.format, content));
}

TEST_P(EveryFormatTest, TheLastRemovalRemovesTheShard) {
  ShardContent content;
  const PlacedAt place = format_.places[3];
  ASSERT_TRUE(Publish(format_, {changes_->Put(place, "alone", content)}));
  content[place] = "alone";
  ExpectContent(format_, content);
  const auto removed = Publish(format_, {changes_->Remove(place, content)});
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_EQ(removed->object_size, is_remote_ ? Assembled(*format_.format, {}).size() : 0u);
  EXPECT_EQ(removed->chunks, 0u);
  ExpectContent(format_, {});
  const auto nothing = Publish(format_, {changes_->Remove(place, {})});
  ASSERT_TRUE(nothing) << nothing.error().message;
  EXPECT_TRUE(nothing->unchanged);
  EXPECT_FALSE(Text(kLock));
}

TEST_P(EveryFormatTest, ConflictsAreCountedAndInStrictModeLeftAsTheyAre) {
  ShardContent seen;
  const PlacedAt a = format_.places[0], b = format_.places[1], c = format_.places[2];
  ASSERT_TRUE(Publish(format_, {changes_->Put(a, "base a", {}), changes_->Put(b, "base b", {})}));
  seen = {{a, "other a"}, {b, "base b"}, {c, "there"}};
  PublishRequest request =
      RequestFor(format_, kKey,
                 {changes_->Put(a, "new a", seen), changes_->Put(b, "new b", seen),
                  changes_->Put(c, "new c", seen)});
  request.strict = true;
  const auto strict = Publish(request);
  ASSERT_TRUE(strict) << strict.error().message;
  EXPECT_EQ(strict->conflicting, (std::vector<PlacedAt>{a, c}));
  ExpectContent(format_, {{a, "base a"}, {b, "new b"}});
  request.changes.erase(request.changes.begin() + 1);
  const auto nothing = Publish(request);
  ASSERT_TRUE(nothing) << nothing.error().message;
  EXPECT_TRUE(nothing->unchanged);
  EXPECT_EQ(nothing->conflicting.size(), 2u);
  ExpectContent(format_, {{a, "base a"}, {b, "new b"}});
  request.strict = false;
  const auto result = Publish(request);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->conflicting.size(), 2u);
  EXPECT_EQ(result->conflicting, (std::vector<PlacedAt>{a, c}));
  ExpectContent(format_, {{a, "new a"}, {b, "new b"}, {c, "new c"}});
}

// As of a chunk that was committed while its store did not answer.
TEST_P(EveryFormatTest, WhatIsNotKnownToBeReplacedIsReplacedButInStrictMode) {
  const PlacedAt there = format_.places[0], absent = format_.places[1], own = format_.places[2];
  Store(kKey, Assembled(*format_.format, {{there, "theirs"}, {own, "own"}}));
  PublishRequest request = RequestFor(format_, kKey, {});
  for (const auto& [at, text] : ShardContent{{there, "new"}, {absent, "added"}, {own, "own"}}) {
    request.changes.push_back(changes_->Put(at, text, {}));
    request.changes.back().expected = ChunkFingerprint::Unknown();
    request.changes.back().put = FingerprintOf({{at, text}}, at);
  }
  request.strict = true;
  EXPECT_EQ(Publish(request).value_or(PublishResult()).conflicting.size(), 1u);
  ExpectContent(format_, {{there, "theirs"}, {absent, "added"}, {own, "own"}});
  request.strict = false;
  EXPECT_TRUE(Publish(request));
  ExpectContent(format_, {{there, "new"}, {absent, "added"}, {own, "own"}});
}

TEST_P(EveryFormatTest, WhereTheBaseIsTheVersionThatTheWriterSawNothingIsCompared) {
  const PlacedAt place = format_.places[0];
  ASSERT_TRUE(Publish(format_, {changes_->Put(place, "base", {})}));
  const Generation base = store_->Info(kKey)->generation;
  const auto conflicts = [&](const std::string& text, const std::optional<Generation>& seen_in) {
    ShardChange change = changes_->Put(place, text, {{place, "what never was there"}});
    change.seen_in = seen_in;
    const auto result = Publish(format_, {std::move(change)});
    EXPECT_TRUE(result) << result.error().message;
    ExpectContent(format_, {{place, text}});
    return result ? result->conflicting.size() : 99;
  };
  EXPECT_EQ(conflicts("first", base), 0u);
  EXPECT_EQ(conflicts("second", base), 1u) << "another version by now";
  EXPECT_EQ(conflicts("third", std::nullopt), 1u);
}

// Cutting off the end of a shard damages entries or, where it stands there, the index.
TEST_P(EveryFormatTest, ADamagedBaseIsNeverPublishedOntoAsIfItWereWhole) {
  ShardContent content;
  for (std::size_t i = 0; i < 4; ++i) content[format_.places[i]] = ChunkText(i, 500);
  const std::string whole = Assembled(*format_.format, content);
  for (std::size_t size = 1; size < whole.size(); size += 101) {
    Store(kKey, whole.substr(0, size));
    const auto result = Publish(format_, {changes_->Put(format_.places[0], "new", content)});
    if (result) {
      const auto found = ContentOf(*format_.format, *Text());
      ASSERT_TRUE(found) << size;
      EXPECT_EQ(found->size(), content.size()) << size;
    } else {
      EXPECT_EQ(result.error().code, ErrorCode::kDataLoss) << result.error().message;
      EXPECT_NE(result.error().message.find("0.shard"), std::string::npos);
      EXPECT_TRUE(*Text() == whole.substr(0, size));
    }
    EXPECT_FALSE(Text(kLock));
  }
}

TEST_F(ShardPublisherTest, ADamagedChunkIsRefusedByNameUntilItIsReplacedOrRemoved) {
  const WritableFormat& format = FormatNamed("ZarrStart");
  ShardContent content;
  for (std::size_t i = 0; i < 4; ++i) content[format.places[i]] = ChunkText(i, 500);
  const std::string whole = Assembled(*format.format, content);
  Store(kKey, whole.substr(0, whole.size() - 10));
  const auto refused = Publish(format, {changes_->Put(format.places[0], "new", content)});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kDataLoss);
  EXPECT_NE(refused.error().message.find("page 0, slot 3"), std::string::npos)
      << refused.error().message;
  ShardChange repair = changes_->Put(format.places[3], "repaired", {});
  const auto repaired = Publish(format, {std::move(repair)});
  ASSERT_TRUE(repaired) << repaired.error().message;
  EXPECT_EQ(repaired->conflicting.size(), 1u);
  content[format.places[3]] = "repaired";
  ExpectContent(format, content);
}

TEST_F(ShardPublisherTest, FragmentsStayBeforeTheirManifestsThroughEveryRewrite) {
  WritableFormat format = FormatNamed("PrecomputedRaw");
  const auto publish = [&](std::vector<ShardChange> changes) {
    PublishRequest request = RequestFor(format, kKey, std::move(changes));
    request.has_leading = true;
    return Publish(request);
  };
  std::map<PlacedAt, std::string> fragments;
  ShardContent content;
  const auto mesh = [&](const PlacedAt& place, const std::string& bytes) {
    ShardChange change = changes_->Put(
        place, MeshManifest({5, static_cast<std::uint32_t>(bytes.size()) - 5}), content);
    change.open_leading = changes_->Source(bytes);
    change.leading_size = bytes.size();
    return change;
  };
  const auto expect = [&] {
    const std::string text = *Text();
    ObjectInfo info;
    info.size = text.size();
    const Bytes stored(ByteVector(text.begin(), text.end()));
    const ShardObject object("test", MakeObjectOf(info, stored));
    const auto index = object.ReadIndex(*format.format, 0, 1 << 20);
    ASSERT_TRUE(index);
    ASSERT_EQ(index->chunks.size(), fragments.size());
    for (const StoredChunk& chunk : index->chunks) {
      const std::string& bytes = fragments[{chunk.page, chunk.slot}];
      EXPECT_TRUE(text.substr(chunk.range.begin - bytes.size(), bytes.size()) == bytes);
    }
  };
  for (const StoreKind store : kEveryStore) {
    Use(store);
    if (!store_) continue;
    fragments.clear();
    content.clear();
    for (int round = 0; round < 20; ++round) {
      const PlacedAt place = format.places[static_cast<std::size_t>(round * 7 % 10)];
      const std::string bytes = ChunkText(random_(), 100 + random_() % 900);
      const auto result = publish({mesh(place, bytes)});
      ASSERT_TRUE(result) << result.error().message;
      fragments[place] = bytes;
      content[place] = MeshManifest({5, static_cast<std::uint32_t>(bytes.size()) - 5});
      ExpectContent(format, content);
      expect();
    }
    const auto size = static_cast<std::uint32_t>(fragments[format.places[0]].size());
    ShardChange manifest = changes_->Put(format.places[0], MeshManifest({size}), content);
    ASSERT_TRUE(publish({manifest}));
    content[format.places[0]] = MeshManifest({size});
    ExpectContent(format, content);
    expect();
    const std::string before = *Text();
    for (ShardChange wrong : {changes_->Put(format.places[0], MeshManifest({size + 1}), content),
                              changes_->Put(format.places[0], "no manifest", content),
                              changes_->Put(format.places[20], MeshManifest({1}), content)}) {
      const auto refused = publish({wrong});
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument) << refused.error().message;
      EXPECT_TRUE(*Text() == before);
    }
  }
}

// One mesh at the first place of a shard of meshes, and a change of it.
class MeshPublisherTest : public ShardPublisherTest {
 protected:
  Result<PublishResult> PublishMesh(ShardChange change, bool strict = false) {
    PublishRequest request = RequestFor(format_, kKey, {std::move(change)});
    request.has_leading = true;
    request.strict = strict;
    return Publish(request);
  }
  // Fragments `bytes`, in place of `seen`; the manifest is that of `content_` unless it is new.
  ShardChange Mesh(const std::string& bytes, const std::string& seen) {
    const std::string manifest = MeshManifest({static_cast<std::uint32_t>(bytes.size())});
    ShardChange change = changes_->Put(place_, manifest, content_);
    change.open_leading = changes_->Source(bytes);
    change.leading_size = bytes.size();
    change.leading = ExpectedBytes{Print(seen), std::nullopt, std::nullopt, Print(bytes)};
    content_[place_] = manifest;
    return change;
  }
  static ChunkFingerprint Print(const std::string& bytes) {
    return FingerprintOf(ShardContent{{{0, 0}, bytes}}, {0, 0});
  }
  const WritableFormat& format_ = FormatNamed("PrecomputedRaw");
  const PlacedAt place_ = format_.places[0];
  ShardContent content_;
};

TEST_F(MeshPublisherTest, FragmentsThatAreNotWhatWasWrittenAreNotPublished) {
  ASSERT_TRUE(PublishMesh(Mesh("first", "")));
  const std::string before = *Text();
  ShardChange damaged = Mesh("other", "first");
  damaged.open_leading = changes_->Source("oTher");
  const auto refused = PublishMesh(damaged);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kDataLoss);
  EXPECT_TRUE(*Text() == before);
  EXPECT_TRUE(PublishMesh(Mesh("other", "first")));
  EXPECT_NE(Text()->find("other"), std::string::npos);
}

TEST_F(MeshPublisherTest, FragmentsOfAnotherWriterAreAConflictAndStayInStrictMode) {
  ASSERT_TRUE(PublishMesh(Mesh("seen!", "")));
  ASSERT_TRUE(PublishMesh(Mesh("other", "seen!")));  // by another host
  const auto strict = PublishMesh(Mesh("ours!", "seen!"), true);
  ASSERT_TRUE(strict) << strict.error().message;
  EXPECT_EQ(strict->conflicting, std::vector<PlacedAt>{place_});
  EXPECT_NE(Text()->find("other"), std::string::npos);
  const auto again = PublishMesh(Mesh("other", "seen!"), true);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->conflicting.size(), 0u) << "what is put is there already";
  const auto replaced = PublishMesh(Mesh("ours!", "seen!"));
  ASSERT_TRUE(replaced) << replaced.error().message;
  EXPECT_EQ(replaced->conflicting.size(), 1u);
  EXPECT_NE(Text()->find("ours!"), std::string::npos);
}

// Fragments that would begin within the shard index are damage; a copy of the bytes that stand
// there would pass for sound.
TEST_F(MeshPublisherTest, AMeshWhoseFragmentsReachIntoTheShardIndexIsNotCopied) {
  content_[place_] = MeshManifest({20});  // the first chunk of the shard, without fragments
  Store(kKey, Assembled(*format_.format, content_));
  const std::string before = *Text();
  const std::string manifest = MeshManifest({4});
  ShardChange other = changes_->Put(format_.places[1], manifest, content_);
  other.open_leading = changes_->Source("mesh");
  other.leading_size = 4;
  const auto refused = PublishMesh(other);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kDataLoss);
  EXPECT_TRUE(*Text() == before);
  ASSERT_TRUE(PublishMesh(Mesh("a mesh written whole", "")));
  EXPECT_TRUE(PublishMesh(other));
}

// Chunks that `sharding` places elsewhere: a rewrite would keep none of them.
TEST_F(ShardPublisherTest, AShardWithChunksThatBelongElsewhereIsNotPublishedOnto) {
  ShardingSpec wrong{.preshift_bits = 1, .minishard_bits = 1, .shard_bits = 1};
  ShardingSpec right = wrong;
  right.preshift_bits = 3;
  const auto stored = MakeNeuroglancerShardFormat(right);
  ShardContent content;
  for (std::uint64_t id = 0; id < 16; ++id) {
    content[{LocateChunkId(right, id).page, id}] = ChunkText(id, 100);
  }
  const std::string whole = Assembled(*stored, content);
  for (const StoreKind store : kEveryStore) {
    Use(store);
    if (!store_) continue;
    Store(kKey, whole);
    WritableFormat format;
    format.format = MakeNeuroglancerShardFormat(wrong);
    const auto refused = Publish(format, {changes_->Put({0, 0}, "new", content)});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kDataLoss);
    EXPECT_NE(refused.error().message.find("`sharding`"), std::string::npos)
        << refused.error().message;
    EXPECT_TRUE(*Text() == whole);
    EXPECT_FALSE(Text(kNew));
    format.format = MakeNeuroglancerShardFormat(right);
    EXPECT_TRUE(Publish(format, {changes_->Put({0, 0}, "new", content)}));
  }
}

class ObsoletePairTest : public ShardPublisherTest, public testing::WithParamInterface<StoreKind> {
 protected:
  void SetUp() override {
    Use(GetParam());
    if (!store_) GTEST_SKIP() << "the server is not installed";
  }
  static constexpr std::size_t kIndexBytes = 4 * 16;
  void StorePair() {
    for (std::size_t i = 0; i < 5; ++i) content_[format_.places[i]] = ChunkText(i, 300);
    const std::string shard = Assembled(*format_.format, content_);
    Store("scale/0.index", shard.substr(0, kIndexBytes));
    Store("scale/0.data", shard.substr(kIndexBytes));
  }
  Result<PublishResult> PublishOver(std::vector<ShardChange> changes) {
    PublishRequest request = RequestFor(format_, kKey, std::move(changes));
    request.object.obsolete = ShardKeys::Pair{"scale/0.index", "scale/0.data"};
    return Publish(request);
  }
  const WritableFormat& format_ = FormatNamed("PrecomputedRaw");
  ShardContent content_;
};

INSTANTIATE_TEST_SUITE_P(Stores, ObsoletePairTest, testing::ValuesIn(kEveryStore),
                         [](const auto& tested) { return NameOf(tested.param); });

TEST_P(ObsoletePairTest, IsMergedIntoOneShardAndRemoved) {
  StorePair();
  const auto result = PublishOver({changes_->Put(format_.places[2], "new", content_)});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->conflicting.size(), 0u);
  content_[format_.places[2]] = "new";
  ExpectContent(format_, content_);
  EXPECT_FALSE(Text("scale/0.index"));
  EXPECT_FALSE(Text("scale/0.data"));
}

TEST_P(ObsoletePairTest, WithoutChunksIsRemovedAndDoesNotComeBack) {
  StorePair();
  std::vector<ShardChange> removals;
  for (const auto& [place, text] : content_) removals.push_back(changes_->Remove(place, content_));
  const auto result = PublishOver(removals);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->object_size, is_remote_ ? kIndexBytes : 0u);
  ExpectContent(format_, {});
  for (const char* key : {kLock, "scale/0.index", "scale/0.data"}) EXPECT_FALSE(Text(key));
  if (is_remote_) return;  // an empty shard stays: no pair comes back
  // A pair that a crash left beside the shard it was merged into.
  StorePair();
  Store(kKey, Assembled(*format_.format, content_));
  ASSERT_TRUE(PublishOver(removals));
  for (const char* key : {kKey, kLock, "scale/0.index", "scale/0.data"}) EXPECT_FALSE(Text(key));
}

TEST_P(ObsoletePairTest, HalfOfItIsRefused) {
  StorePair();
  store_->Remove("scale/0.data");
  const auto refused = PublishOver({changes_->Put(format_.places[2], "new", content_)});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("0.data"), std::string::npos);
  EXPECT_TRUE(Text("scale/0.index"));
}

TEST_F(ShardPublisherTest, WaitsForAnotherWriterAndPublishesOntoWhatThatOneLeft) {
  const WritableFormat& format = FormatNamed("Zarr");
  for (const StoreKind store : {StoreKind::kPosix, StoreKind::kSimulated}) {
    Use(store);
    ShardContent content{{format.places[0], "theirs"}};
    Store(kLock, "");
    auto lock = *files_->Open(kLock, {.write = true});
    ASSERT_TRUE(*lock->Lock(true));
    std::atomic<bool> done{false};
    const ShardChange ours = changes_->Put(format.places[1], "ours", {});
    std::thread publisher([&] {
      const auto result = Publish(format, {ours});
      EXPECT_TRUE(result) << result.error().message;
      done = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT_FALSE(done);
    // As TensorStore does it: into the lock file, then renamed. The lock that we wait for is then
    // on the shard itself.
    ASSERT_TRUE(lock->Write(0, AsBytes(Assembled(*format.format, content))));
    ASSERT_TRUE(files_->Rename(kLock, kKey));
    lock.reset();
    publisher.join();
    content[format.places[1]] = "ours";
    ExpectContent(format, content);
  }
}

TEST_F(ShardPublisherTest, ALockThatIsNotReleasedFailsThePublishWhichCanBeRepeated) {
  const WritableFormat& format = FormatNamed("Zarr");
  timeouts_.notice = timeouts_.total = std::chrono::milliseconds(20);
  for (const StoreKind store : {StoreKind::kPosix, StoreKind::kSimulated}) {
    Use(store);
    Store(kLock, "");
    auto lock = *files_->Open(kLock, {.write = true});
    ASSERT_TRUE(*lock->Lock(true));
    const ShardChange ours = changes_->Put(format.places[1], "ours", {});
    const auto waiting = Publish(format, {ours});
    ASSERT_FALSE(waiting);
    EXPECT_EQ(waiting.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(waiting.error().message.find(kLock), std::string::npos) << waiting.error().message;
    EXPECT_FALSE(Text());
    lock.reset();
    EXPECT_TRUE(Publish(format, {ours}));
    ExpectContent(format, {{format.places[1], "ours"}});
  }
}

TEST_F(ShardPublisherTest, AtTheEndOfTheMountNoLockIsWaitedForAsLong) {
  const WritableFormat& format = FormatNamed("Zarr");
  timeouts_.total = std::chrono::hours(24);
  timeouts_.at_end = std::chrono::milliseconds(0);
  ShardPublisher publisher(store_->Replacer(timeouts_), options_);
  Store(kLock, "");
  const auto lock = *files_->Open(kLock, {.write = true});
  ASSERT_TRUE(*lock->Lock(true));
  const ShardChange ours = changes_->Put(format.places[1], "ours", {});
  std::thread waiting([&] {
    const auto result = publisher.Publish(RequestFor(format, kKey, {ours}));
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::kUnavailable);
  });
  publisher.End();
  waiting.join();
}

// Whoever can write into the directory can put a link to any file under the name of the version.
TEST_F(ShardPublisherTest, WhatHasTheNameOfTheNewVersionIsUnlinkedAndNotWrittenTo) {
  const WritableFormat& format = FormatNamed("Zarr");
  for (const StoreKind store : {StoreKind::kPosix, StoreKind::kSimulated}) {
    Use(store);
    Store("scale/other", "another file");
    ASSERT_TRUE(files_->Link("scale/other", kNew));
    ASSERT_TRUE(Publish(format, {changes_->Put(format.places[0], "ours", {})}));
    ExpectContent(format, {{format.places[0], "ours"}});
    EXPECT_EQ(Text("scale/other"), "another file");
    EXPECT_EQ((*files_->Stat("scale/other"))->links, 1u);
  }
}

TEST_F(ShardPublisherTest, RemovesWhatACrashLeft) {
  const WritableFormat& format = FormatNamed("Zarr");
  for (const StoreKind store : {StoreKind::kPosix, StoreKind::kSimulated}) {
    Use(store);
    const std::string left(100'000, 'x');
    Store(kLock, left);
    Store(kNew, left);
    ASSERT_TRUE(Publish(format, {changes_->Put(format.places[0], "ours", {})}));
    ExpectContent(format, {{format.places[0], "ours"}});
  }
}

// TensorStore can be told to go by the name of the lock file alone.
TEST_F(ShardPublisherTest, LeavesTheBytesAloneThatAnotherWriterHasInTheLockFile) {
  const WritableFormat& format = FormatNamed("Zarr");
  for (const StoreKind store : {StoreKind::kPosix, StoreKind::kSimulated}) {
    Use(store);
    Store(kLock, "theirs");
    const auto theirs = *files_->Open(kLock, {});
    ASSERT_TRUE(Publish(format, {changes_->Put(format.places[0], "ours", {})}));
    EXPECT_EQ((*theirs->Stat()).size, 6u);
  }
}

TEST_F(ShardPublisherTest, StartsOverWhereTheBaseWasReplacedMeanwhile) {
  const WritableFormat& format = FormatNamed("PrecomputedGzip");
  for (const StoreKind store : kEveryStore) {
    Use(store);
    if (!store_) continue;
    ShardContent content{{format.places[0], "first"}};
    Store(kKey, Assembled(*format.format, content));
    PublishRequest request =
        RequestFor(format, kKey, {changes_->Put(format.places[1], "ours", content)});
    int commits = 0;
    std::vector<bool> told;
    request.committing = [&](const std::string&) -> Status {
      if (++commits > 1) return {};
      content[format.places[0]] = "replaced";
      Store(kKey, Assembled(*format.format, content));
      return {};
    };
    request.committed = [&](const ShardSet::OwnPublish* own) { told.push_back(own != nullptr); };
    const auto result = Publish(request);
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(told, (std::vector<bool>{false, true}));
    content[format.places[1]] = "ours";
    ExpectContent(format, content);
    // Other bytes each time: S3 takes versions of the same bytes for one.
    int version = 0;
    request.committing = [&](const std::string&) -> Status {
      content[format.places[0]] = "replaced " + std::to_string(++version);
      Store(kKey, Assembled(*format.format, content));
      return {};
    };
    const auto never = Publish(request);
    ASSERT_FALSE(never);
    EXPECT_EQ(never.error().code, ErrorCode::kConflict);
    ExpectContent(format, content);
  }
}

// Where the store does not keep what was replaced, the rest of the base cannot be copied any more.
TEST_F(ShardPublisherTest, StartsOverWhereTheBaseIsReplacedWhileItIsCopied) {
  const WritableFormat& format = FormatNamed("PrecomputedRaw");
  for (const StoreKind store : kEveryStore) {
    Use(store);
    if (!store_) continue;
    ShardContent content{{format.places[0], "first"}, {format.places[2], "second"}};
    Store(kKey, Assembled(*format.format, content));
    ShardChange change = changes_->Put(format.places[1], "ours", content);
    change.open = [&, open = change.open] {
      if (content[format.places[0]] == "first") {
        content[format.places[0]] = "replaced";
        Store(kKey, Assembled(*format.format, content));
      }
      return open();
    };
    const auto result = Publish(format, {change});
    ASSERT_TRUE(result) << result.error().message;
    content[format.places[1]] = "ours";
    ExpectContent(format, content);
  }
}

TEST_F(ShardPublisherTest, AnUnknownOutcomeIsAFailureAndTheNextPublishFindsEitherVersion) {
  const WritableFormat& format = FormatNamed("PrecomputedRaw");
  using Lost = MemoryReplacer::Lost;
  for (const bool removes : {false, true}) {
    for (const Lost lost : {Lost::kRequest, Lost::kAnswer}) {
      Use(StoreKind::kMemory);
      ShardContent content{{format.places[0], "first"}};
      Store(kKey, Assembled(*format.format, content));
      const ShardContent next =
          removes ? ShardContent{} : ShardContent{{format.places[0], "second"}};
      ShardChange change = removes ? changes_->Remove(format.places[0], content)
                                   : changes_->Put(format.places[0], "second", content);
      change.put = FingerprintOf(next, format.places[0]);
      PublishRequest request = RequestFor(format, kKey, {change});
      std::vector<std::optional<ShardSet::OwnPublish>> told;
      request.committed = [&](const ShardSet::OwnPublish* own) {
        told.push_back(own ? std::optional(*own) : std::nullopt);
      };
      const auto base = store_->Info(kKey)->generation;
      store_->memory()->LoseNext(lost);
      const auto unknown = Publish(request);
      ASSERT_FALSE(unknown);
      EXPECT_EQ(unknown.error().code, ErrorCode::kUnavailable);
      EXPECT_NE(unknown.error().message.find(kKey), std::string::npos);
      // Whoever waits has to look at the store.
      ASSERT_TRUE(told.size() == 1 && told[0]);
      EXPECT_EQ(told[0]->base, base);
      EXPECT_FALSE(told[0]->published);
      ExpectContent(format, lost == Lost::kRequest ? content : next);
      const auto again = Publish(request);
      ASSERT_TRUE(again) << again.error().message;
      EXPECT_EQ(again->unchanged, removes && lost == Lost::kAnswer);
      EXPECT_EQ(again->conflicting.size(), 0u);
      ExpectContent(format, next);
    }
  }
}

// What publisher and shard set say to each other about one publish.
TEST_F(ShardPublisherTest, AShardSetAdoptsWhatWasPublishedWithoutAChange) {
  class Keys final : public ShardKeys {
    std::string Key(std::uint64_t) const override { return "0.shard"; }
    std::optional<std::uint64_t> Parse(std::string_view key) const override {
      return key == "0.shard" ? std::optional<std::uint64_t>(0) : std::nullopt;
    }
  };
  const WritableFormat& format = FormatNamed("PrecomputedGzip");
  auto store = OpenFileStore(directory_.path(), 4);
  ASSERT_TRUE(store);
  ShardSet set(*store, "scale", format.format, std::make_shared<Keys>(), MakeNullWatcher(),
               std::make_shared<IndexCache>(1 << 20), {});
  ShardContent content;
  const auto first = *set.Current(0, Deadline::None());
  for (int round = 0; round < 10; ++round) {
    PublishRequest request =
        RequestFor(format, kKey, changes_->Random(format, content, 3, random_));
    std::optional<ShardSet::Replacement> replacement;
    request.committing = [&](const std::string&) -> Status {
      replacement.emplace(*set.BeginReplacement(0, Deadline::None()));
      return {};
    };
    request.committed = [&](const ShardSet::OwnPublish* own) {
      if (own != nullptr) {
        const auto finished = replacement->Finish(*own);
        ASSERT_TRUE(finished);
        EXPECT_EQ((*finished)->count, first->count);
      }
      replacement.reset();
    };
    const auto result = Publish(request);
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_TRUE(set.Invalidate("scale/0.shard").changes.empty());
    EXPECT_EQ((*set.Current(0, Deadline::None()))->count, first->count);
    EXPECT_EQ(set.Find(0, first->count), *set.Current(0, Deadline::None()));
  }
}

TEST_F(ShardPublisherTest, MakesMissingDirectoriesAndKeepsPermissions) {
  const WritableFormat& format = FormatNamed("Zarr");
  PublishRequest request = RequestFor(format, "a/b/c/0", {changes_->Put({0, 1}, "x", {})});
  ASSERT_TRUE(Publish(request));
  for (const mode_t mode : {0640u, 0440u, 0600u}) {
    ASSERT_EQ(::chmod(directory_.At("a/b/c/0").c_str(), mode), 0);
    ASSERT_TRUE(Publish(request));
    struct stat status {};
    ASSERT_EQ(::stat(directory_.At("a/b/c/0").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, mode);
  }
}

TEST_F(ShardPublisherTest, KeepsOwnerGroupAccessControlListAndExtendedAttributes) {
  const WritableFormat& format = FormatNamed("Zarr");
  PublishRequest request = RequestFor(format, kKey, {changes_->Put({0, 1}, "x", {})});
  ASSERT_TRUE(Publish(request));
  const std::string path = directory_.At(kKey);
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  const bool root = ::geteuid() == 0;
  constexpr uid_t kUser = 65534;
  constexpr gid_t kGroup = 65533;
  if (root) {
    ASSERT_EQ(::chown(path.c_str(), kUser, kGroup), 0);
  }
  // Version 2, then tag, permissions and id: user, user 4711, group, mask, others.
  constexpr std::array<std::uint16_t, 22> kAccess = {2,      0,      1,  6, 0xffff, 0xffff, 2,  4,
                                                     4711,   0,      4,  4, 0xffff, 0xffff, 16, 4,
                                                     0xffff, 0xffff, 32, 0, 0xffff, 0xffff};
  const std::map<std::string, std::string> attributes = {
      {"user.unshard", "kept"},
      {"system.posix_acl_access",
       {reinterpret_cast<const char*>(kAccess.data()), sizeof(kAccess)}}};
  std::set<std::string> set;  // that this file system has
  for (const auto& [name, value] : attributes) {
    if (::setxattr(path.c_str(), name.c_str(), value.data(), value.size(), 0) == 0) {
      set.insert(name);
    } else {
      ASSERT_EQ(errno, EOPNOTSUPP) << name;
    }
  }
  ASSERT_TRUE(Publish(request));
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
  EXPECT_EQ(status.st_uid, root ? kUser : ::getuid());
  if (root) {
    EXPECT_EQ(status.st_gid, kGroup);
  }
  for (const std::string& name : set) {
    std::string value(200, '\0');
    const ssize_t size = ::getxattr(path.c_str(), name.c_str(), value.data(), value.size());
    ASSERT_GE(size, 0) << name;
    EXPECT_EQ(value.substr(0, static_cast<std::size_t>(size)), attributes.at(name));
  }
}

TEST_F(ShardPublisherTest, WhatCannotBeReadOrIsNotWhatWasAnnouncedLeavesTheShardAsItWas) {
  const WritableFormat& format = FormatNamed("PrecomputedGzip");
  ShardContent content{{format.places[0], "first"}};
  Store(kKey, Assembled(*format.format, content));
  const ShardChange good = changes_->Put(format.places[1], "second", content);
  ShardChange unreadable = good;
  unreadable.open = []() -> Result<std::shared_ptr<File>> {
    return FailErrno(EIO, "reading the spool");
  };
  ShardChange shorter = good;
  ++shorter.size;
  ShardChange nowhere = good;
  nowhere.page = 1000;
  ShardChange large = changes_->Put(format.places[1], std::string(2000, 'x'), content);
  options_.max_chunk_bytes = 1000;
  for (const auto& bad : {std::vector{unreadable}, {shorter}, {nowhere}, {large}, {good, good}}) {
    EXPECT_FALSE(Publish(format, bad));
    ExpectContent(format, content);
  }
  EXPECT_TRUE(Publish(format, {good}));
}

TEST_F(ShardPublisherTest, CapsAndFullDisksAreErrorsAndNothingIsLeftBehind) {
  SimulatedDiskOptions disk;
  disk.capacity = 10'000;
  store_ = ReplaceableStore::Over(std::make_shared<SimulatedDisk>(disk));
  const WritableFormat& format = FormatNamed("PrecomputedRaw");
  ShardContent content{{format.places[0], ChunkText(1, 6000)}};
  const auto spool = std::make_shared<SimulatedDisk>();
  changes_ = std::make_unique<ChangeMaker>(spool);
  ASSERT_TRUE(Publish(format, {changes_->Put(format.places[0], content.begin()->second, {})}));
  const ShardChange small = changes_->Put(format.places[1], "x", {});
  const auto full = Publish(format, {small});
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().system_errno, ENOSPC);
  ExpectContent(format, content);
  options_.max_index_bytes = 10;
  const auto capped = Publish(format, {small});
  ASSERT_FALSE(capped);
  EXPECT_EQ(capped.error().code, ErrorCode::kResourceExhausted);
  ExpectContent(format, content);
}

class ConcurrentPublishersTest : public ShardPublisherTest,
                                 public testing::WithParamInterface<StoreKind> {
 protected:
  void SetUp() override {
    Use(GetParam());
    if (!store_) GTEST_SKIP() << "the server is not installed";
  }
};

INSTANTIATE_TEST_SUITE_P(Stores, ConcurrentPublishersTest,
                         testing::Values(StoreKind::kPosix, StoreKind::kMemory,
                                         StoreKind::kVersitygw, StoreKind::kRadosgw,
                                         StoreKind::kFakeGcs),
                         [](const auto& tested) { return NameOf(tested.param); });

TEST_P(ConcurrentPublishersTest, OfOneShardLoseNothing) {
  const WritableFormat& format = FormatNamed("PrecomputedRaw");
  ShardContent content;
  std::vector<ShardChange> changes;
  for (const PlacedAt& place : format.places) {
    content[place] = ChunkText(place.second, 200);
    changes.push_back(changes_->Put(place, content[place], {}));
  }
  using Lost = MemoryReplacer::Lost;
  constexpr std::array lost = {Lost::kNothing, Lost::kRequest, Lost::kAnswer};
  std::atomic<std::size_t> next{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] {
      for (std::size_t at = next++; at < changes.size(); at = next++) {
        MemoryReplacer* const memory = store_->memory();
        if (memory != nullptr) memory->LoseNext(lost[at % lost.size()]);
        auto result = Publish(format, {changes[at]});
        // Without a lock others may be faster each time; an answer that is lost is kUnavailable.
        const bool locks = memory == nullptr && !is_remote_;
        for (int tries = 0; !locks && !result && tries < 1000; ++tries) {
          const ErrorCode code = result.error().code;
          if (code != ErrorCode::kConflict && code != ErrorCode::kUnavailable) break;
          result = Publish(format, {changes[at]});
        }
        EXPECT_TRUE(result) << result.error().message;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ExpectContent(format, content);
}

}  // namespace
}  // namespace unshard
