// What the kernel is told when the source changes, and what look-ups and open files see then.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/mounted_volume.h"

namespace unshard {
namespace {

using Told = std::set<std::string>;

class RefreshTest : public MountedVolume {
 protected:
  void Put(const std::string& path, const ShardedSource& source,
           const std::map<std::uint64_t, std::string>& chunks, std::uint64_t shard = 0) {
    source_.Replace(JoinPath(JoinPath(path, source.directory), source.keys->Key(shard)),
                    source.EncodeShards(chunks).at(shard));
  }
  NodeId NodeOf(const std::string& path) {
    const auto entry = Find(path);
    EXPECT_TRUE(entry && entry->node != 0) << path;
    return entry ? entry->node : 0;
  }
};

const ShardedSource& Flat() {
  static const ShardedSource source = ZarrSource({8}, {1}, {4}, {ChunkKeyEncoding::Kind::kV2, '.'});
  return source;
}

TEST_F(RefreshTest, ExactlyTheChunksOfTheOldAndTheNewShardAreInvalidated) {
  Write("a", Flat(), {{0, "old0"}, {1, "old1"}, {5, "other"}});
  Mount();
  const NodeId directory = NodeOf("a");
  EXPECT_EQ(Text("a/0") + Text("a/2"), "old0ENOENT");
  EXPECT_EQ(Text("a/5"), "other");
  Put("a", Flat(), {{1, "new1"}, {2, "new2"}});
  Changed("a/0");
  EXPECT_EQ(notifier_.NamesIn(directory), (Told{"0", "1", "2"}));
  EXPECT_EQ(notifier_.inodes, std::set<NodeId>{directory});
  EXPECT_EQ(Text("a/0") + Text("a/1") + Text("a/2"), "ENOENTnew1new2");
  EXPECT_EQ(Text("a/5"), "other");
}

TEST_F(RefreshTest, AnEventWithoutAChangeTellsOfNoChunk) {
  Write("a", Flat(), {{0, "a"}, {5, "b"}});
  Mount();
  const NodeId directory = NodeOf("a");
  EXPECT_EQ(Text("a/0"), "a");
  Changed("a/0");
  EXPECT_TRUE(notifier_.entries.empty());
  Changed("a/1");
  EXPECT_EQ(notifier_.NamesIn(directory), Told{"1"}) << "a shard that nobody has asked for";
  Changed("b/1");
  EXPECT_TRUE(notifier_.entries.empty());
}

TEST_F(RefreshTest, AnOldNodeKeepsItsBytesWhileANewLookupSeesTheNew) {
  for (const ShardEncoding encoding : {ShardEncoding::kRaw, ShardEncoding::kGzip}) {
    ShardingSpec spec;
    spec.data_encoding = encoding;
    const ShardedSource source = PrecomputedSource({8, 4, 4}, {4, 4, 4}, spec);
    Write("v", source, {{0, "old bytes"}});
    Mount();
    const auto before = Find("v/8_8_8/0-4_0-4_0-4");
    ASSERT_TRUE(before);
    Put("v", source, {{0, "completely new bytes"}});
    Changed("v/8_8_8/0.shard");
    EXPECT_EQ(notifier_.NamesIn(NodeOf("v/8_8_8")).count("0-4_0-4_0-4"), 1u);
    EXPECT_EQ(notifier_.NamesIn(NodeOf("v/8_8_8")).count("0-4_0-4_0-4.gz"),
              encoding == ShardEncoding::kGzip ? 1u : 0u);
    const auto after = Find("v/8_8_8/0-4_0-4_0-4");
    ASSERT_TRUE(after);
    EXPECT_NE(after->node, before->node);
    EXPECT_EQ(after->attributes.inode, before->attributes.inode);
    EXPECT_EQ(*ReadAt(before->node, 0, 100), "old bytes");
    EXPECT_EQ(fs_->GetAttributes(before->node)->attributes.size, 9u);
    EXPECT_EQ(*ReadAt(after->node, 0, 100), "completely new bytes");
    fs_->Forget(before->node, 1);
    EXPECT_FALSE(ReadAt(before->node, 0, 100)) << "a node that nobody refers to is gone";
    EXPECT_EQ(*ReadAt(after->node, 0, 100), "completely new bytes");
  }
}

TEST_F(RefreshTest, MoreGenerationsThanANodeNumberCountsAreToldApart) {
  Write("a", Flat(), {{0, "g0"}});
  Mount();
  const auto first = Find("a/0");
  ASSERT_TRUE(first);
  NodeId last = first->node;
  for (int i = 1; i < 600; ++i) {
    const std::string text = "g" + std::to_string(i);
    Put("a", Flat(), {{0, text}});
    Changed("a/0");
    const auto entry = Find("a/0");
    ASSERT_TRUE(entry && entry->node != 0) << i;
    ASSERT_NE(entry->node, last);
    ASSERT_NE(entry->node, first->node);
    ASSERT_EQ(*ReadAt(entry->node, 0, 10), text);
    fs_->Forget(last == first->node ? 0 : last, 1);
    last = entry->node;
  }
  EXPECT_EQ(*ReadAt(first->node, 0, 10), "g0");
}

TEST_F(RefreshTest, AMissingShardThatAppearsAndVanishesIsTold) {
  Write("a", Flat(), {{0, "a"}});
  Mount();
  const NodeId directory = NodeOf("a");
  EXPECT_EQ(Text("a/6"), "ENOENT");
  Put("a", Flat(), {{6, "six"}, {7, "seven"}}, 1);
  Changed("a/1");
  EXPECT_EQ(notifier_.NamesIn(directory), (Told{"1", "6", "7"}));
  EXPECT_EQ(Text("a/6") + Text("a/7"), "sixseven");
  source_.Remove("a/1");
  Changed("a/1");
  EXPECT_EQ(notifier_.NamesIn(directory), (Told{"1", "6", "7"}));
  EXPECT_EQ(Text("a/6") + Text("a/7"), "ENOENTENOENT");
}

TEST_F(RefreshTest, AnIndexThatCannotBeReadMakesTheWholeDirectoryBeLookedUpAgain) {
  Write("a", Flat(), {{0, "a"}, {1, "b"}});
  Mount();
  const NodeId directory = NodeOf("a");
  EXPECT_EQ(Text("a/0"), "a");
  source_.Replace("a/0", std::string(200, 'x'));
  Changed("a/0");
  EXPECT_TRUE(notifier_.NamesIn(directory).contains("1")) << "what the old shard held";
  EXPECT_EQ(notifier_.NamesIn(kRootNode), Told{"a"}) << "the kernel drops all that is below";
  EXPECT_EQ(Text("a/3"), "EIO");
}

// A look-up that meets the change before its event has come must not stand in for the event.
TEST_F(RefreshTest, AChangeThatALookupHasMetIsToldWithItsEvent) {
  ShardingSpec spec;
  spec.data_encoding = ShardEncoding::kGzip;  // look-ups read chunks, for their sizes
  const ShardedSource source = PrecomputedSource({8, 4, 4}, {4, 4, 4}, spec);
  Write("v", source, {{0, "old"}, {1, "one"}});
  Mount();
  EXPECT_EQ(Text("v/8_8_8/0-4_0-4_0-4"), "old");
  source_.Write("v/8_8_8/0.shard", source.EncodeShards({{1, "one, rewritten"}}).at(0));
  EXPECT_EQ(Text("v/8_8_8/4-8_0-4_0-4"), "one, rewritten");
  Changed("v/8_8_8/0.shard");
  const Told told = notifier_.NamesIn(NodeOf("v/8_8_8"));
  EXPECT_TRUE(told.contains("0-4_0-4_0-4")) << "the kernel goes on showing what is gone";
  EXPECT_TRUE(told.contains("4-8_0-4_0-4"));
  EXPECT_EQ(Text("v/8_8_8/0-4_0-4_0-4"), "ENOENT");
}

const ShardedSource& Nested() {
  static const ShardedSource source = ZarrSource({4, 4}, {1, 1}, {2, 2});
  return source;
}

TEST_F(RefreshTest, ANestedShardTellsOfItsChunksInEachOfItsDirectories) {
  Write("a", Nested(), {{0, "00"}, {5, "11"}});
  Mount();
  const NodeId zero = NodeOf("a/c/0");
  const NodeId one = NodeOf("a/c/1");
  EXPECT_EQ(Text("a/c/0/0") + Text("a/c/1/1"), "0011");
  Put("a", Nested(), {{0, "new"}, {4, "10"}});
  Changed("a/c/0/0");
  EXPECT_EQ(notifier_.NamesIn(zero), Told{"0"});
  EXPECT_EQ(notifier_.NamesIn(one), (Told{"0", "1"}));
  EXPECT_EQ(notifier_.NamesIn(NodeOf("a/c")), Told{}) << "the directories stay";
  EXPECT_EQ(Text("a/c/0/0") + Text("a/c/1/0") + Text("a/c/1/1"), "new10ENOENT");
}

TEST_F(RefreshTest, DirectoriesOfAShardDirectoryThatAppearsAreLookedUpAgain) {
  for (const ChunkKeyEncoding& keys :
       {ChunkKeyEncoding{}, ChunkKeyEncoding{ChunkKeyEncoding::Kind::kV2, '/'}}) {
    const ShardedSource source = ZarrSource({4, 4}, {1, 1}, {2, 2}, keys);
    const std::string top = keys.kind == ChunkKeyEncoding::Kind::kDefault ? "d" : "v";
    const std::string in = keys.kind == ChunkKeyEncoding::Kind::kDefault ? "d/c" : "v";
    Write(top, source, {{0, "00"}});
    Mount();
    EXPECT_EQ(Text(in + "/2"), "EISDIR") << "every directory of the grid exists";
    const NodeId parent = NodeOf(in);
    std::filesystem::create_directory(source_.At(in + "/1"));
    Changed(in + "/1");
    const Told appeared = notifier_.NamesIn(parent);
    EXPECT_TRUE(appeared.contains("2")) << top;
    EXPECT_TRUE(appeared.contains("3")) << top;
    EXPECT_FALSE(appeared.contains("0")) << top;
    EXPECT_EQ(Text(in + "/2"), "EISDIR");
    source_.Remove(in + "/1");
    Changed(in + "/1");
    const Told vanished = notifier_.NamesIn(parent);
    EXPECT_TRUE(vanished.contains("2") && vanished.contains("3")) << top;
    EXPECT_EQ(Text(in + "/3"), "EISDIR");
    source_.Remove(top);
  }
}

// The watch of a directory that came a moment ago tells of the directory, and no more; after lost
// events there is one for everything.
TEST_F(RefreshTest, MetadataAreReadAgainWhereAnythingInTheirDirectoryMayHaveChanged) {
  const ShardedSource flat = ZarrSource({8}, {1}, {4}, {ChunkKeyEncoding::Kind::kV2, '.'});
  Write("first", flat, {{0, "0123"}});
  for (const char* name : {"told", "lost"}) std::filesystem::create_directory(source_.At(name));
  Mount();
  for (const char* name : {"told", "lost"}) {
    const std::string directory = name;
    EXPECT_EQ(Text(directory + "/0"), "ENOENT");
    Write(directory, flat, {{0, "0123"}});
    EXPECT_NE(Text(directory + "/0"), "0123") << "a shard, as nobody has said anything yet";
    directory == "told" ? Changed("told") : void(fs_->Refresh({"", true}, notifier_));
    EXPECT_EQ(Text(directory + "/0"), "0123");
  }
}

TEST_F(RefreshTest, DirectoriesOfEveryLevelFollowTheirShardDirectories) {
  const ShardedSource source = ZarrSource({4, 4, 4}, {1, 1, 1}, {2, 2, 2});
  Write("", source, {{0, "000"}});
  Mount();
  EXPECT_EQ(Text("c/0/2"), "EISDIR");
  EXPECT_EQ(Text("c/1/3"), "EISDIR");
  const NodeId zero = NodeOf("c/0");
  const NodeId one = NodeOf("c/1");
  std::filesystem::create_directory(source_.At("c/0/1"));
  Changed("c/0/1");
  EXPECT_EQ(notifier_.NamesIn(zero), (Told{"2", "3"}));
  EXPECT_EQ(notifier_.NamesIn(one), (Told{"2", "3"}));
  fs_->Refresh({"", true}, notifier_);
  EXPECT_TRUE(notifier_.NamesIn(kRootNode).contains("c")) << "lost events: all is looked up again";
}

TEST_F(RefreshTest, AnIndexOfAnArrayAtTheRootThatCannotBeReadMakesItsDirectoriesBeLookedUpAgain) {
  Write("", Nested(), {{0, "00"}});
  Mount();
  EXPECT_EQ(Text("c/0/0"), "00");
  source_.Replace("c/0/0", std::string(200, 'x'));
  Changed("c/0/0");
  EXPECT_EQ(notifier_.NamesIn(kRootNode), Told{"c"}) << "the kernel drops all that is below";
  EXPECT_EQ(Text("c/0/1"), "EIO");
}

TEST_F(RefreshTest, AMeshIsToldByBothOfItsNames) {
  ShardingSpec spec;
  source_.Write("m/info", R"({"@type":"neuroglancer_multilod_draco","vertex_quantization_bits":10,)"
                          R"("transform":[1,0,0,0,0,1,0,0,0,0,1,0],"lod_scale_multiplier":1,)"
                          R"("sharding":)" +
                              ShardingText(spec) + "}");
  source_.Write("m/0.shard", AsText(EncodeNeuroglancerShard(spec, {{7, {1}}})));
  Mount();
  EXPECT_NE(Text("m/7.index"), "ENOENT");
  source_.Replace("m/0.shard", AsText(EncodeNeuroglancerShard(spec, {{7, {2}}, {9, {3}}})));
  Changed("m/0.shard");
  EXPECT_EQ(notifier_.NamesIn(NodeOf("m")), (Told{"0.shard", "7", "7.index", "9", "9.index"}));
}

TEST_F(RefreshTest, AChangedDocumentIsShownAndToldByItsName) {
  Write("a", Flat(), {{0, "a"}});
  Mount();
  const auto before = Find("a/zarr.json");
  ASSERT_TRUE(before);
  const std::string text = Text("a/zarr.json");
  std::string document = Flat().document;
  document.insert(1, R"("attributes":{"x":1},)");
  source_.Replace("a/zarr.json", document);
  Changed("a/zarr.json");
  EXPECT_TRUE(notifier_.NamesIn(NodeOf("a")).contains("zarr.json"));
  EXPECT_NE(Text("a/zarr.json").find("attributes"), std::string::npos);
  EXPECT_EQ(*ReadAt(before->node, 0, 10000), text) << "who has it open reads on";
  EXPECT_EQ(Text("a/0"), "a");
}

TEST_F(RefreshTest, AnArrayOfAnotherShapeIsServedAnew) {
  Write("a", Flat(), {{0, "a"}});
  Mount();
  EXPECT_EQ(Text("a/0"), "a");
  const ShardedSource larger = ZarrSource({8, 8}, {1, 1}, {2, 2});
  source_.Remove("a/0");
  Write("a", larger, {{0, "new"}});
  Changed("a/zarr.json");
  EXPECT_TRUE(notifier_.NamesIn(kRootNode).contains("a")) << "everything below is another one";
  EXPECT_EQ(Text("a/c/0/0"), "new");
}

// An event can come while a document is half written: what was read then is old at its look-up.
TEST_F(RefreshTest, ADocumentThatWasReadHalfWrittenIsReadAgainWhenItIsLookedUp) {
  Write("a", Flat(), {{0, "a"}});
  source_.Write("b/zarr.json", R"({"zarr_format":3,"node_ty)");
  Mount();
  EXPECT_EQ(Text("b/zarr.json"), "EIO");
  Write("b", Flat(), {{1, "b"}});
  EXPECT_NE(Text("b/zarr.json"), "EIO") << "no event has come";
  EXPECT_EQ(Text("b/0") + Text("b/1"), "ENOENTb");
}

TEST_F(RefreshTest, AHalfWrittenDocumentWhereNoneStoodTakesNothingAway) {
  Write("a", Flat(), {{0, "a"}});
  source_.Write("notes", "text");
  Mount();
  source_.Write("zarr.json", "");
  Changed("zarr.json");
  EXPECT_EQ(Text("zarr.json"), "") << "it passes through";
  EXPECT_EQ(Text("notes") + Text("a/0"), "texta");
  source_.Write("zarr.json", R"({"zarr_format":3,"node_type":"group"})");
  Changed("zarr.json");
  EXPECT_EQ(Text("notes") + Text("a/0"), "texta");
}

TEST_F(RefreshTest, AFileThatPassesThroughIsToldAndItsOldNodeReadsOn) {
  Write("a", Flat(), {{0, "a"}});
  source_.Write("a/notes", "old");
  Mount();
  const auto before = Find("a/notes");
  ASSERT_TRUE(before);
  EXPECT_EQ(*ReadAt(before->node, 0, 10), "old");
  source_.Replace("a/notes", "new text");
  Changed("a/notes");
  EXPECT_EQ(notifier_.NamesIn(NodeOf("a")), Told{"notes"});
  EXPECT_EQ(Text("a/notes"), "new text");
  EXPECT_EQ(*ReadAt(before->node, 0, 10), "old");
}

TEST_F(RefreshTest, AnImmutableSourceIsNeverLookedAtAgain) {
  options_.immutable = true;
  Write("a", Flat(), {{0, "a"}});
  Mount();
  EXPECT_EQ(Text("a/0"), "a");
  Put("a", Flat(), {{0, "b"}});
  Changed("a/0");
  EXPECT_EQ(Text("a/0"), "a");
}

}  // namespace
}  // namespace unshard
