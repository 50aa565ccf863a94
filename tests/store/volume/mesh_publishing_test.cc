// Which halves of meshes are published together, and which wait.
#include "store/volume/mesh_publishing.h"

#include "tests/support/published_shards.h"
#include "tests/support/writing_parts.h"

namespace unshard {
namespace {

constexpr std::uint64_t kMostBytes = 1000;

class MeshPublishingTest : public WritingParts {
 protected:
  // "<changes> published:<names> waiting:<names>" of all that is in the spool.
  std::string Planned() {
    const auto versions = parts_->written->BeginPublish(ShardOf("m/7"));
    auto changes = MeshChangesOf(parts_->written, parts_->current, versions, kMostBytes);
    parts_->versions.AbandonPublish(versions);
    if (!changes) return changes.error().message;
    last_ = *std::move(changes);
    return std::to_string(last_.changes.size()) + " published:" + Names(last_.published) +
           " waiting:" + Names(last_.waiting);
  }
  static std::string Names(const std::vector<WrittenVersionPtr>& versions) {
    std::string names;
    for (const auto& version : versions) names += " " + version->tree->Path(version->chunk);
    return names;
  }
  static std::string Read(const std::function<Result<std::shared_ptr<File>>()>& open) {
    const auto file = open();
    if (!file) return file.error().message;
    std::string text(kMostBytes, ' ');
    const auto read = (*file)->Read(0, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()});
    return read ? text.substr(0, *read) : read.error().message;
  }
  ShardChanges last_;
};

TEST_F(MeshPublishingTest, HalvesWaitForEachOther) {
  ASSERT_TRUE(Commit("m/7.index", MeshManifest({5, 4})));
  EXPECT_EQ(Planned(), "0 published: waiting: 7.index");
  ASSERT_TRUE(Commit("m/7", "too short"));
  ASSERT_TRUE(Commit("m/8", "nothing announces these"));
  EXPECT_EQ(Planned(), "1 published: 7.index 7 waiting: 8") << "it is nine bytes after all";
  ASSERT_TRUE(Commit("m/7", "short"));
  EXPECT_EQ(Planned(), "0 published: waiting: 7.index 7 8");
}

TEST_F(MeshPublishingTest, BothHalvesAreOneChange) {
  const std::string manifest = MeshManifest({5, 4});
  ASSERT_TRUE(Commit("m/7.index", manifest));
  ASSERT_TRUE(Commit("m/7", "fragments"));
  EXPECT_EQ(Planned(), "1 published: 7.index 7 waiting:");
  const auto publishing = parts_->written->BeginPublish(ShardOf("m/7"));
  EXPECT_EQ(Read(last_.changes[0].open), manifest);
  EXPECT_EQ(Read(last_.changes[0].open_leading), "fragments");
  EXPECT_EQ(last_.changes[0].leading_size, 9u);
  EXPECT_TRUE(last_.changes[0].expected.absent && last_.changes[0].leading->expected.absent);
  parts_->versions.AbandonPublish(publishing);
  ASSERT_TRUE(Publish("m/7"));
  EXPECT_EQ(Stored("m/7.index"), manifest);
  EXPECT_EQ(Stored("m/7"), "fragments");
  EXPECT_EQ(Spooled(), "");
}

TEST_F(MeshPublishingTest, NewFragmentsOfTheSameSizeKeepTheStoredManifest) {
  const std::string manifest = MeshManifest({9});
  ASSERT_TRUE(Commit("m/7.index", manifest));
  ASSERT_TRUE(Commit("m/7", "fragments"));
  ASSERT_TRUE(Publish("m/7"));
  ASSERT_TRUE(Commit("m/7", "FRAGMENTS"));
  EXPECT_EQ(Planned(), "1 published: 7 waiting:");
  EXPECT_EQ(Read(last_.changes[0].open), manifest) << "from the store";
  EXPECT_EQ(last_.changes[0].expected, *last_.changes[0].put);
  ASSERT_TRUE(Publish("m/7"));
  EXPECT_EQ(Stored("m/7.index"), manifest);
  EXPECT_EQ(Stored("m/7"), "FRAGMENTS");
  ASSERT_TRUE(Commit("m/7", "other size"));
  EXPECT_EQ(Planned(), "0 published: waiting: 7");
}

TEST_F(MeshPublishingTest, AManifestWithoutFragmentsNeedsNoOtherFile) {
  ASSERT_TRUE(Commit("m/7.index", MeshManifest({0})));
  EXPECT_EQ(Planned(), "1 published: 7.index waiting:");
  EXPECT_EQ(Read(last_.changes[0].open_leading), "");
}

TEST_F(MeshPublishingTest, ARemovedManifestTakesItsFragmentsAlong) {
  ASSERT_TRUE(Commit("m/7.index", MeshManifest({9})));
  ASSERT_TRUE(Commit("m/7", "fragments"));
  ASSERT_TRUE(Remove("m/7.index"));
  EXPECT_EQ(Planned(), "1 published: 7.index 7 waiting:");
  EXPECT_TRUE(last_.changes[0].removed);
  ASSERT_TRUE(Commit("m/7", "of a new mesh"));
  EXPECT_EQ(Planned(), "1 published: 7.index waiting: 7");
}

TEST_F(MeshPublishingTest, WhatCannotBeReadFailsAsAWhole) {
  ASSERT_TRUE(Commit("m/7.index", MeshManifest({9})));
  ASSERT_TRUE(Commit("m/7", "fragments"));
  for (const std::string& path : disk_->Paths()) {
    if (path.rfind("chunks/m/7.index", 0) != 0) continue;
    ASSERT_TRUE(disk_->Remove(path));
  }
  EXPECT_EQ(Planned().find("published"), std::string::npos);
}

}  // namespace
}  // namespace unshard
