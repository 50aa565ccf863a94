// What a publish to a remote store costs in requests, and what an emptied shard becomes there.
#include <gtest/gtest.h>

#include <cstdio>

#include "store/publish/publisher.h"
#include "store/remote/remote_replacer.h"
#include "tests/support/fake_object_writer.h"
#include "tests/support/memory_store.h"
#include "tests/support/published_shards.h"
#include "tests/support/simulated_disk.h"
#include "tests/support/temporary_directory.h"

namespace unshard {
namespace {

using Requests = std::vector<std::string>;

constexpr const char* kShardKey = "scale/0.shard";

class RemotePublishTest : public testing::TestWithParam<std::string> {
 protected:
  RemotePublishTest() {
    options_.scratch_directory = directory_.path();
    replacer_ = MakeRemoteReplacer(writer_, std::make_shared<MemoryStore>(), options_);
    EXPECT_TRUE(replacer_->CanReplace(kShardKey));
  }
  Result<PublishResult> Publish(std::vector<ShardChange> changes) {
    (void)writer_->TakeRequests();
    return ShardPublisher(replacer_, {})
        .Publish(RequestFor(format_, kShardKey, std::move(changes)));
  }
  // Chunks of 500 KB.
  void Store(std::size_t chunks) {
    for (std::size_t i = 0; i < chunks; ++i) {
      content_[format_.places[i]] = ChunkText(i, 500'000);
    }
    writer_->Place(kShardKey, Assembled(*format_.format, content_));
  }
  ShardChange Put(std::size_t place, const std::string& text) {
    ShardChange change = changes_.Put(format_.places[place], text, content_);
    change.seen_in = writer_->Now(kShardKey)->info.generation;
    content_[format_.places[place]] = text;
    return change;
  }
  void ExpectContent() {
    const auto found = ContentOf(*format_.format, writer_->Bytes(kShardKey));
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_TRUE(*found == content_);
  }
  // What has been asked for of the base.
  static std::uint64_t BytesRead(const Requests& requests) {
    std::uint64_t bytes = 0;
    for (const std::string& each : requests) {
      unsigned long begin = 0, size = 0;
      if (std::sscanf(each.c_str(), "GET %lu+%lu", &begin, &size) == 2) bytes += size;
    }
    return bytes;
  }

  TemporaryDirectory directory_;
  const WritableFormat& format_ = FormatNamed(GetParam());
  RemoteOptions options_;
  const std::shared_ptr<FakeObjectWriter> writer_ = std::make_shared<FakeObjectWriter>();
  std::shared_ptr<ObjectReplacer> replacer_;
  ChangeMaker changes_{std::make_shared<SimulatedDisk>()};
  ShardContent content_;
};

INSTANTIATE_TEST_SUITE_P(Formats, RemotePublishTest,
                         testing::Values("PrecomputedRaw", "Zarr", "ZarrStart"),
                         [](const auto& tested) { return tested.param; });

TEST_P(RemotePublishTest, AShardThatIsReplacedWholeReadsNoDataOfTheBase) {
  Store(3);
  std::vector<ShardChange> changes;
  for (std::size_t i = 0; i < 3; ++i) changes.push_back(Put(i, ChunkText(100 + i, 400'000)));
  const auto result = Publish(std::move(changes));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->conflicting.size(), 0u);
  EXPECT_EQ(writer_->Count("LOOK"), 1);
  EXPECT_EQ(writer_->Count("PUT"), 1);
  const Requests requests = writer_->TakeRequests();
  EXPECT_LE(requests.size(), 2u + 5u) << "the index takes few reads";
  EXPECT_LE(BytesRead(requests), 200'000u);
  ExpectContent();
}

TEST_P(RemotePublishTest, ChunksThatStayAreReadOnceAndTogether) {
  Store(6);
  const auto result = Publish({Put(2, ChunkText(100, 400'000))});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(writer_->Count("PUT"), 1);
  const Requests requests = writer_->TakeRequests();
  EXPECT_LE(BytesRead(requests), 6u * 500'000 + 200'000);
  EXPECT_LE(requests.size(), 2u + 5u + 2u);
  ExpectContent();
}

TEST_P(RemotePublishTest, WhatIsComparedAfterAConflictIsReadInFewRequests) {
  const std::size_t chunks = format_.places.size();
  for (const PlacedAt& place : format_.places) content_[place] = ChunkText(place.second, 20'000);
  writer_->Place(kShardKey, Assembled(*format_.format, content_));
  const auto publish = [&](bool of_another_version, std::uint64_t seed) {
    std::vector<ShardChange> changes;
    for (std::size_t i = 0; i < chunks; ++i) {
      changes.push_back(Put(i, ChunkText(seed + i, 20'000)));
      if (of_another_version) changes.back().seen_in.reset();
    }
    const auto result = Publish(std::move(changes));
    EXPECT_TRUE(result) << result.error().message;
    EXPECT_EQ(result ? result->conflicting.size() : 99, 0u);
    ExpectContent();
    return writer_->TakeRequests().size();
  };
  const std::size_t known = publish(false, 1000);
  const std::size_t compared = publish(true, 2000);
  EXPECT_GE(chunks, 8u);
  EXPECT_EQ(compared, known + 1) << chunks << " chunks";
}

TEST_P(RemotePublishTest, AnEmptiedShardIsAnObjectWithAnEmptyIndexAndNeverADelete) {
  Store(2);
  std::vector<ShardChange> removals;
  for (const auto& [place, text] : content_) removals.push_back(changes_.Remove(place, content_));
  content_.clear();
  const auto emptied = Publish(removals);
  ASSERT_TRUE(emptied) << emptied.error().message;
  EXPECT_EQ(emptied->chunks, 0u);
  EXPECT_EQ(writer_->Count("DELETE"), 0);
  EXPECT_TRUE(writer_->Bytes(kShardKey) == Assembled(*format_.format, {}));
  ExpectContent();
  const auto nothing = Publish(removals);
  ASSERT_TRUE(nothing) << nothing.error().message;
  EXPECT_TRUE(nothing->unchanged);
  EXPECT_EQ(writer_->Count("PUT"), 0);
  // And it is filled again.
  ASSERT_TRUE(Publish({Put(1, "again")}));
  ExpectContent();
}

// Zeros in both rows of a minishard; all ones in Zarr, and a checksum.
TEST(EmptyShardTest, ItsBytesAreThoseOfTheFormats) {
  EXPECT_EQ(Assembled(*FormatNamed("PrecomputedRaw").format, {}), std::string(4 * 16, '\0'));
  const std::string zarr = Assembled(*FormatNamed("Zarr").format, {});
  ASSERT_GT(zarr.size(), 4u);
  EXPECT_EQ(zarr.substr(0, zarr.size() - 4), std::string(zarr.size() - 4, '\xff'));
}

}  // namespace
}  // namespace unshard
