// What a mount shows: names, sizes, bytes, failures.
#include <gtest/gtest.h>

#include <filesystem>

#include "codec/codecs/gzip.h"
#include "codec/json/parser.h"
#include "fs/tree/control_files.h"
#include "tests/support/mounted_volume.h"

namespace unshard {
namespace {

ShardingSpec Spec(ShardEncoding data = ShardEncoding::kRaw) {
  ShardingSpec spec;
  spec.minishard_bits = 1;
  spec.shard_bits = 1;
  spec.minishard_index_encoding = data;
  spec.data_encoding = data;
  return spec;
}

std::string Filled(std::size_t size, char first) {
  std::string text(size, first);
  for (std::size_t i = 0; i < size; ++i)
    text[i] = static_cast<char>(first + static_cast<char>(i % 7));
  return text;
}

const std::string kScale = "8_8_8/";

class VolumeFsTest : public MountedVolume {
 protected:
  // 2 × 2 × 1 chunks of 4 × 4 × 4, ragged in y; three of them present.
  ShardedSource WriteVolume(const ShardingSpec& spec, const std::string& encoding = "jpeg") {
    const ShardedSource source = PrecomputedSource({8, 6, 4}, {4, 4, 4}, spec, encoding);
    Write("", source, {{0, Filled(64, 'a')}, {1, Filled(32, 'k')}, {2, Filled(64, 'A')}});
    return source;
  }
  // Replaces a shard of ids by one with these stored bytes, gzip or not as they are.
  void PutStored(const std::string& path, const ShardingSpec& spec, std::uint64_t id,
                 const std::string& stored) {
    ShardingSpec raw = spec;
    raw.data_encoding = ShardEncoding::kRaw;
    const auto shard =
        EncodeNeuroglancerShard(raw, {{id, ByteVector(stored.begin(), stored.end())}});
    source_.Replace(path, AsText(shard));
  }
  void WriteSkeletons(const ShardingSpec& spec) {
    source_.Write("info",
                  R"({"@type":"neuroglancer_skeletons","transform":[1,0,0,0,0,1,0,0,0,0,1,0],)"
                  R"("vertex_attributes":[],"sharding":)" +
                      ShardingText(spec) + "}");
  }
};

TEST_F(VolumeFsTest, APrecomputedVolumeShowsItsChunksAndARewrittenInfo) {
  WriteVolume(Spec());
  Mount();
  EXPECT_EQ(NameSet(""), (std::set<std::string>{"info", "8_8_8"}));
  EXPECT_EQ(NameSet("8_8_8"), (std::set<std::string>{"0-4_0-4_0-4", "0-4_4-6_0-4", "4-8_0-4_0-4"}));
  EXPECT_EQ(Text(kScale + "0-4_0-4_0-4"), Filled(64, 'a'));
  EXPECT_EQ(Text(kScale + "0-4_4-6_0-4"), Filled(32, 'k'));
  EXPECT_EQ(Text(kScale + "4-8_4-6_0-4"), "ENOENT") << "an empty chunk";
  const std::string info = Text("info");
  EXPECT_EQ(info.find("sharding"), std::string::npos) << info;
  EXPECT_TRUE(ParseJson(info));
}

TEST_F(VolumeFsTest, EveryOffsetAndSizeOfAChunkReadsAsTheWholeDoes) {
  for (const ShardEncoding data : {ShardEncoding::kRaw, ShardEncoding::kGzip}) {
    WriteVolume(Spec(data));
    Mount();
    const std::string expected = Filled(32, 'k');
    const auto entry = Find(kScale + "0-4_4-6_0-4");
    ASSERT_TRUE(entry);
    EXPECT_EQ(entry->attributes.size, 32u);
    for (std::uint64_t offset = 0; offset < 35; ++offset) {
      for (const std::uint64_t size : {0u, 1u, 5u, 31u, 32u, 100u}) {
        const auto text = ReadAt(entry->node, offset, size);
        ASSERT_TRUE(text);
        EXPECT_EQ(*text, offset < 32 ? expected.substr(offset, size) : "") << offset << ' ' << size;
      }
    }
    EXPECT_EQ(*ReadAt(entry->node, ~std::uint64_t{0}, 10), "");
    EXPECT_EQ(*ReadAt(entry->node, 3, ~std::uint64_t{0}), expected.substr(3));
  }
}

TEST_F(VolumeFsTest, GzipDataIsShownPlainAndItsStoredBytesUnderASuffix) {
  WriteVolume(Spec(ShardEncoding::kGzip));
  Mount();
  EXPECT_EQ(Text(kScale + "0-4_0-4_0-4"), Filled(64, 'a'));
  const std::string stored = Text(kScale + "0-4_0-4_0-4.gz");
  const auto plain = GzipDecode(AsBytes(stored), 1000);
  ASSERT_TRUE(plain) << stored;
  EXPECT_EQ(AsText(*plain), Filled(64, 'a'));
  EXPECT_EQ(Text(kScale + "4-8_4-6_0-4.gz"), "ENOENT");
  EXPECT_EQ(NameSet("8_8_8").size(), 3u) << "stored names resolve, and are not listed";
}

TEST_F(VolumeFsTest, ARawChunkOfAnotherSizeThanItsCellIsAnError) {
  const ShardedSource source =
      PrecomputedSource({8, 6, 4}, {4, 4, 4}, Spec(ShardEncoding::kGzip), "raw");
  Write("", source, {{0, Filled(63, 'a')}, {1, Filled(32, 'k')}});
  Mount();
  EXPECT_EQ(Text(kScale + "0-4_0-4_0-4"), "EIO");
  EXPECT_EQ(Text(kScale + "0-4_4-6_0-4"), Filled(32, 'k'));
}

TEST_F(VolumeFsTest, ADamagedChunkHurtsNoOther) {
  const ShardedSource source =
      PrecomputedSource({16, 4, 4}, {4, 4, 4}, ShardingSpec{.data_encoding = ShardEncoding::kGzip});
  std::map<std::uint64_t, std::string> chunks;
  for (std::uint64_t i = 0; i < 4; ++i) chunks[i] = Filled(64, static_cast<char>('a' + i));
  auto shard = source.Encode(chunks).begin()->second;
  shard[16 + 12] = static_cast<char>(~shard[16 + 12]);  // in the first chunk's stream
  source_.Write("info", source.document);
  source_.Write("8_8_8/0.shard", shard);
  Mount();
  EXPECT_EQ(Text(kScale + "0-4_0-4_0-4"), "EIO");
  EXPECT_EQ(Text(kScale + "4-8_0-4_0-4"), chunks[1]);
  EXPECT_EQ(Text(kScale + "12-16_0-4_0-4"), chunks[3]);
  EXPECT_EQ(NameSet("8_8_8").size(), 4u);
}

TEST_F(VolumeFsTest, AnIndexEntryBeyondItsShardHurtsNoOther) {
  const ShardingSpec spec;
  WriteSkeletons(spec);
  ByteVector shard = EncodeNeuroglancerShard(spec, {{3, {'a'}}, {5, {'b'}}, {9, {'c'}}});
  StoreU64Le(shard.data() + shard.size() - 8, 1000);  // the size of the last entry
  source_.Write("0.shard", AsText(shard));
  Mount();
  EXPECT_EQ(Text("3") + Text("5"), "ab");
  EXPECT_EQ(Text("9"), "EIO");
  EXPECT_EQ(NameSet(""), (std::set<std::string>{"info", "3", "5", "9"}));
}

TEST_F(VolumeFsTest, AnIndexWhoseChecksumDoesNotMatchIsAnErrorUntilItIsRepaired) {
  const ShardedSource source = ZarrSource({4}, {1}, {4}, {ChunkKeyEncoding::Kind::kV2, '.'});
  Write("", source, {{0, "a"}, {1, "b"}, {2, "c"}});
  Mount();
  EXPECT_EQ(Text("0") + Text("1") + Text("2") + Text("3"), "abcENOENT");
  std::string shard = source.Encode({{0, "d"}, {1, "e"}}).begin()->second;
  const std::string good = shard;
  shard.back() = static_cast<char>(~shard.back());
  source_.Replace("0", shard);
  Changed("0");
  EXPECT_EQ(Text("1"), "EIO");
  EXPECT_EQ(Text("3"), "EIO") << "nobody knows whether it is there";
  source_.Replace("0", good);
  Changed("0");
  EXPECT_EQ(Text("0") + Text("1") + Text("2"), "deENOENT");
}

TEST_F(VolumeFsTest, AnUnreadableIndexIsAnErrorAndNeverAMissingFile) {
  WriteVolume(Spec());
  // Minishard indexes that begin and end far beyond the shard.
  const std::string beyond = std::string(8, 'a') + std::string(8, 'b');
  for (const char* key : {"8_8_8/0.shard", "8_8_8/1.shard"}) {
    if (std::filesystem::exists(source_.At(key))) source_.Replace(key, beyond + beyond);
  }
  Mount();
  EXPECT_EQ(Text(kScale + "0-4_0-4_0-4"), "EIO");
}

TEST_F(VolumeFsTest, ChunksOfSeveralGzipMembersAreShownWhole) {
  const ShardingSpec spec{.data_encoding = ShardEncoding::kGzip};
  WriteSkeletons(spec);
  const std::string member(AsText(GzipEncode(AsBytes(Filled(500, 'a')))));
  const std::string second(AsText(GzipEncode(AsBytes(Filled(300, 'k')))));
  PutStored("0.shard", spec, 7, member + second);
  Mount();
  EXPECT_EQ(Text("7"), Filled(500, 'a') + Filled(300, 'k'));
}

TEST_F(VolumeFsTest, ATrailerThatLiesCostsOneStaleHandleAndIsThenNotBelieved) {
  const ShardingSpec spec{.data_encoding = ShardEncoding::kGzip};
  WriteSkeletons(spec);
  const std::string liar = std::string(AsText(GzipEncode(AsBytes(Filled(500, 'a'))))) +
                           std::string(AsText(GzipEncode(AsBytes(Filled(300, 'k')))));
  std::vector<ShardChunk> chunks;
  for (std::uint64_t id = 0; id < 40; ++id) {
    const ByteVector member = GzipEncode(AsBytes(Filled(100 + id, 'x')));
    chunks.push_back({id, id == 30 ? ByteVector(liar.begin(), liar.end()) : member});
  }
  source_.Write("0.shard", AsText(EncodeNeuroglancerShard(ShardingSpec{}, chunks)));
  Mount();
  // Many look-ups that nobody reads after: from the seventeenth on, sizes come from trailers.
  for (std::uint64_t id = 0; id < 40; ++id) {
    const auto entry = Find(std::to_string(id));
    ASSERT_TRUE(entry);
    EXPECT_EQ(entry->attributes.size, id == 30 ? 300 : 100 + id);
  }
  EXPECT_LT(fs_->superblock().parts.reads->chunks_decoded, 40u);
  EXPECT_EQ(Text("30"), "ESTALE") << "its announced size was believed once";
  EXPECT_EQ(Text("30"), Filled(500, 'a') + Filled(300, 'k'));
  EXPECT_EQ(Text("31"), Filled(131, 'x'));
}

TEST_F(VolumeFsTest, AMeshShowsManifestAndFragments) {
  ShardingSpec spec;
  source_.Write("info", R"({"@type":"neuroglancer_multilod_draco","vertex_quantization_bits":10,)"
                        R"("transform":[1,0,0,0,0,1,0,0,0,0,1,0],"lod_scale_multiplier":1,)"
                        R"("sharding":)" +
                            ShardingText(spec) + "}");
  const std::string fragments = Filled(23, 'f');
  ByteVector manifest(24);
  AppendU32Le(manifest, 1);
  for (int i = 0; i < 4; ++i) AppendU32Le(manifest, 0);
  AppendU32Le(manifest, 1);
  for (int i = 0; i < 3; ++i) AppendU32Le(manifest, 0);
  AppendU32Le(manifest, static_cast<std::uint32_t>(fragments.size()));
  // One minishard: its index is one row, and stands last; fragments stand before the manifest.
  ByteVector shard(16);
  shard.insert(shard.end(), fragments.begin(), fragments.end());
  shard.insert(shard.end(), manifest.begin(), manifest.end());
  StoreU64Le(shard.data(), shard.size() - 16);
  StoreU64Le(shard.data() + 8, shard.size() - 16 + 24);
  AppendU64Le(shard, 99);
  AppendU64Le(shard, fragments.size());
  AppendU64Le(shard, manifest.size());
  source_.Write("0.shard", AsText(shard));
  Mount();
  EXPECT_EQ(Text("99.index"), AsText(manifest));
  EXPECT_EQ(Text("99"), fragments);
  EXPECT_EQ(NameSet(""), (std::set<std::string>{"info", "99", "99.index"}));
  EXPECT_EQ(Text("98"), "ENOENT");
  EXPECT_EQ(Text("98.index"), "ENOENT");

  // A manifest that announces more fragment bytes than stand before it.
  StoreU32Le(shard.data() + 16 + 23 + manifest.size() - 4, 1000);
  source_.Replace("0.shard", AsText(shard));
  Changed("0.shard");
  EXPECT_EQ(Text("99"), "EIO");
  EXPECT_EQ(Text("99.index").size(), manifest.size());
}

TEST_F(VolumeFsTest, ZarrArraysShowChunksUnderEachKeyEncoding) {
  using Kind = ChunkKeyEncoding::Kind;
  const ChunkKeyEncoding encodings[] = {
      {Kind::kDefault, '/'}, {Kind::kDefault, '.'}, {Kind::kV2, '.'}, {Kind::kV2, '/'}};
  for (const ChunkKeyEncoding& keys : encodings) {
    const std::string path = std::string("a") + (keys.kind == Kind::kV2 ? "v" : "d") +
                             (keys.separator == '/' ? "n" : "f");
    const ShardedSource source = ZarrSource({5, 4}, {1, 1}, {2, 2}, keys);
    Write(path, source, {{0, "a"}, {6, "b"}, {19, "c"}});
  }
  Mount();
  for (const ChunkKeyEncoding& keys : encodings) {
    const std::string path = std::string("a") + (keys.kind == Kind::kV2 ? "v" : "d") +
                             (keys.separator == '/' ? "n/" : "f/");
    const auto name = [&](std::uint64_t y, std::uint64_t x) {
      return path + ZarrChunkKey(keys, std::vector<std::uint64_t>{y, x});
    };
    EXPECT_EQ(Text(name(0, 0)), "a") << path;
    EXPECT_EQ(Text(name(1, 2)), "b") << path;
    EXPECT_EQ(Text(name(4, 3)), "c") << path;
    EXPECT_EQ(Text(name(0, 1)), "ENOENT") << path;
    EXPECT_EQ(Text(name(4, 4)), "ENOENT") << "outside the grid " << path;
    EXPECT_EQ(Text(path + "zarr.json").find("sharding_indexed"), std::string::npos);
  }
  EXPECT_EQ(NameSet("avf"), (std::set<std::string>{"zarr.json", "0.0", "1.2", "4.3"}));
  EXPECT_EQ(NameSet("adn"), (std::set<std::string>{"zarr.json", "c"}));
  EXPECT_EQ(NameSet("adn/c"), (std::set<std::string>{"0", "1", "4"}))
      << "the directories that hold chunks";
  EXPECT_EQ(NameSet("adn/c/1"), std::set<std::string>{"2"});
  EXPECT_EQ(NameSet("avn"), (std::set<std::string>{"zarr.json", "0", "1", "4"}));
  EXPECT_EQ(Text("adn/c/2"), "EISDIR") << "every directory of the grid exists";
  EXPECT_EQ(NameSet("adn/c/2"), std::set<std::string>());
  EXPECT_EQ(Text("adn/c/5"), "ENOENT") << "outside the grid";
}

TEST_F(VolumeFsTest, AnArrayOfRankZeroHasOneChunk) {
  Write("d", ZarrSource({}, {}, {}), {{0, "x"}});
  Write("v", ZarrSource({}, {}, {}, {ChunkKeyEncoding::Kind::kV2, '.'}), {{0, "y"}});
  Mount();
  EXPECT_EQ(Text("d/c"), "x");
  EXPECT_EQ(Text("v/0"), "y");
  EXPECT_EQ(NameSet("d"), (std::set<std::string>{"c", "zarr.json"}));
}

TEST_F(VolumeFsTest, EverythingElsePassesThroughAndShardsAreHidden) {
  WriteVolume(Spec());
  source_.Write("8_8_8/notes.txt", "hello");
  source_.Write("8_8_8/0.shard.__lock", "");
  source_.Write("8_8_8/0.shard.new.__lock", "half");
  source_.Write("other/deep/file", "there");
  Mount();
  EXPECT_EQ(Text("8_8_8/notes.txt"), "hello");
  EXPECT_EQ(Text("other/deep/file"), "there");
  EXPECT_EQ(Text("8_8_8/0.shard"), "ENOENT");
  EXPECT_EQ(Text("8_8_8/0.shard.__lock"), "ENOENT");
  EXPECT_EQ(Text("8_8_8/0.shard.new.__lock"), "ENOENT");
  EXPECT_EQ(NameSet("8_8_8").count("notes.txt"), 1u);
  EXPECT_EQ(NameSet("8_8_8").count("0.shard"), 0u);
  EXPECT_EQ(NameSet("8_8_8").count("0.shard.__lock"), 0u);
  EXPECT_EQ(NameSet("8_8_8").count("0.shard.new.__lock"), 0u);
}

TEST_F(VolumeFsTest, AScaleWithoutADirectoryOfItsOwnIsShown) {
  const ShardedSource source = PrecomputedSource({8, 6, 4}, {4, 4, 4}, Spec());
  source_.Write("info", source.document);
  Mount();
  EXPECT_EQ(NameSet(""), (std::set<std::string>{"info", "8_8_8"}));
  EXPECT_EQ(NameSet("8_8_8"), std::set<std::string>());
  EXPECT_EQ(Text(kScale + "0-4_0-4_0-4"), "ENOENT");
}

std::string WithKey(std::string info, const std::string& key) {
  const std::string old = "\"8_8_8\"";
  return info.replace(info.find(old), old.size(), "\"" + key + "\"");
}

TEST_F(VolumeFsTest, AKeyMayLeadToASiblingDirectory) {
  const ShardedSource source = PrecomputedSource({8, 6, 4}, {4, 4, 4}, Spec());
  source_.Write("vol/info", WithKey(source.document, "../shared/8"));
  for (const auto& [key, bytes] : source.Encode({{0, Filled(64, 'a')}})) {
    source_.Write("shared/8/" + key, bytes);
  }
  Mount();
  EXPECT_EQ(Text("shared/8/0-4_0-4_0-4"), Filled(64, 'a'));
  EXPECT_EQ(NameSet("shared/8"), std::set<std::string>{"0-4_0-4_0-4"});
}

TEST_F(VolumeFsTest, AKeyThatLeavesTheSourceIsRefused) {
  source_.Write("info", WithKey(PrecomputedSource({8, 6, 4}, {4, 4, 4}, Spec()).document, "../x"));
  const Status mounted = TryMount();
  ASSERT_FALSE(mounted);
  EXPECT_EQ(mounted.error().code, ErrorCode::kPermissionDenied);
  EXPECT_NE(mounted.error().message.find("scales[0]"), std::string::npos)
      << mounted.error().message;
}

TEST_F(VolumeFsTest, ABrokenArrayInAGroupFailsAloneAndIsNoMissingFile) {
  source_.Write("zarr.json", R"({"zarr_format":3,"node_type":"group"})");
  Write("good", ZarrSource({4}, {1}, {4}), {{0, "a"}});
  source_.Write("bad/zarr.json", R"({"zarr_format":3,"node_type":"array","shape":"x"})");
  Mount();
  EXPECT_EQ(Text("good/c/0"), "a");
  EXPECT_EQ(Text("bad/zarr.json"), "EIO");
  EXPECT_EQ(Text("bad/nothing"), "ENOENT");
  EXPECT_TRUE(NameSet("").contains("bad"));
  source_.Replace("bad/zarr.json", ZarrSource({4}, {1}, {4}).document);
  Changed("bad/zarr.json");
  EXPECT_NE(Text("bad/zarr.json"), "EIO") << "repaired while mounted";
}

TEST_F(VolumeFsTest, ASourceWithoutADatasetIsRefusedSayingWhatWasLookedFor) {
  source_.Write("readme", "");
  const Status mounted = TryMount();
  ASSERT_FALSE(mounted);
  EXPECT_NE(mounted.error().message.find("zarr.json"), std::string::npos);
}

TEST_F(VolumeFsTest, LinksInsideTheSourceAreFollowedAndOthersRefused) {
  WriteVolume(Spec());
  source_.Write("data/file", "inside");
  const TemporaryDirectory outside;
  outside.Write("secret", "outside");
  std::filesystem::create_symlink("data/file", source_.At("link"));
  std::filesystem::create_symlink(outside.At("secret"), source_.At("escape"));
  std::filesystem::create_symlink("nowhere", source_.At("dangling"));
  Mount();
  EXPECT_EQ(Text("link"), "inside");
  EXPECT_EQ(Text("escape"), "EACCES");
  EXPECT_EQ(Text("dangling"), "ENOENT");
}

TEST_F(VolumeFsTest, ControlFilesResolveAtTheRootAndAreNotListed) {
  WriteVolume(Spec());
  Mount();
  EXPECT_FALSE(NameSet("").contains(std::string(kControlDirectory)));
  EXPECT_EQ(NameSet(".unshard"),
            (std::set<std::string>{"config.json", "errors", "metrics", "schema", "status.json"}));
  const auto status = ParseJson(Text(".unshard/status.json"));
  ASSERT_TRUE(status);
  EXPECT_EQ(status->Find("source")->text(), source_.path());
  EXPECT_TRUE(ParseJson(Text(".unshard/config.json")));
  EXPECT_NE(Text(".unshard/metrics").find("unshard_store_opens_total"), std::string::npos);
  EXPECT_EQ(Text(".unshard/other"), "ENOENT");
  EXPECT_EQ(Text("8_8_8/.unshard"), "ENOENT");
  fs_->Report("read", kRootNode, "name", Error{ErrorCode::kDataLoss, "broken", 0});
  EXPECT_NE(Text(".unshard/errors").find("read /name EIO data loss: broken"), std::string::npos);
  const auto control = Find(".unshard");
  EXPECT_TRUE(fs_->IsControl(control->node));
  EXPECT_FALSE(fs_->IsControl(kRootNode));
}

TEST_F(VolumeFsTest, ExtendedAttributesSayWhereAChunkStands) {
  const ShardedSource source = WriteVolume(Spec());
  Mount();
  const auto entry = Find(kScale + "4-8_0-4_0-4");
  ASSERT_TRUE(entry);
  const auto value = [&](const std::string& name) {
    const auto found = fs_->GetExtendedAttribute(entry->node, "user.unshard." + name);
    return found && *found ? **found : std::string();
  };
  EXPECT_EQ(fs_->ListExtendedAttributes(entry->node).size(), 5u);
  const ShardSlot slot = source.SlotOf(2);
  EXPECT_EQ(value("shard"), "8_8_8/" + source.keys->Key(slot.shard));
  EXPECT_EQ(value("id"), std::to_string(slot.slot));
  EXPECT_EQ(value("length"), "64");
  const std::string shard = source.Encode({{0, Filled(64, 'a')},
                                           {1, Filled(32, 'k')},
                                           {2, Filled(64, 'A')}})[source.keys->Key(slot.shard)];
  EXPECT_EQ(shard.substr(std::stoull(value("offset")), 64), Filled(64, 'A'));
  EXPECT_FALSE(value("generation").empty());
  EXPECT_EQ(value("other"), "");
  EXPECT_TRUE(fs_->ListExtendedAttributes(kRootNode).empty());
  EXPECT_FALSE(*fs_->GetExtendedAttribute(entry->node, "security.selinux"));
}

TEST_F(VolumeFsTest, EntriesOfAListingHoldReferencesThatForgetGivesBack) {
  const ShardingSpec spec;
  WriteSkeletons(spec);
  std::vector<ShardChunk> chunks;
  for (std::uint64_t id = 1; id <= 6; ++id) chunks.push_back({id, {1, 2}});
  source_.Write("0.shard", AsText(EncodeNeuroglancerShard(spec, chunks)));
  Mount();
  const std::size_t before = fs_->superblock().nodes.size();
  std::vector<NodeId> referred;
  std::size_t taken = 0;
  ASSERT_TRUE(fs_->ReadDirectory(kRootNode, 0, true, [&](const DirectoryName& name) {
    if (name.name == "." || name.name == ".." || name.directory) return true;
    if (!name.entry) return true;
    if (++taken > 4) return false;  // the buffer is full: this one is not the kernel's
    EXPECT_EQ(name.entry->attributes.size, 2u);
    EXPECT_EQ(name.entry->attributes.inode, name.inode);
    referred.push_back(name.entry->node);
    return true;
  }));
  EXPECT_EQ(referred.size(), 4u);
  EXPECT_EQ(fs_->superblock().nodes.size(), before + 4);
  for (const NodeId node : referred) fs_->Forget(node, 1);
  EXPECT_EQ(fs_->superblock().nodes.size(), before);
}

TEST_F(VolumeFsTest, InodesOfLookupListingAndAttributesAgree) {
  WriteVolume(Spec());
  Write("zarr", ZarrSource({5, 4}, {1, 1}, {2, 2}), {{0, "a"}, {6, "b"}});
  source_.Write("extra/file", "x");
  Mount();
  for (const std::string directory : {"", "8_8_8", "zarr", "zarr/c", "zarr/c/0", "extra"}) {
    const auto parent = Find(directory);
    ASSERT_TRUE(parent && parent->node != 0) << directory;
    std::map<std::string, std::uint64_t> listed;
    ASSERT_TRUE(fs_->ReadDirectory(parent->node, 0, false, [&](const DirectoryName& name) {
      if (name.name != "." && name.name != "..") listed[std::string(name.name)] = name.inode;
      return true;
    }));
    EXPECT_FALSE(listed.empty()) << directory;
    for (const auto& [name, inode] : listed) {
      const auto entry = fs_->Lookup(parent->node, name);
      ASSERT_TRUE(entry && entry->node != 0) << directory << '/' << name;
      EXPECT_EQ(entry->attributes.inode, inode) << directory << '/' << name;
      const auto attributes = fs_->GetAttributes(entry->node);
      ASSERT_TRUE(attributes);
      EXPECT_EQ(attributes->attributes.inode, inode) << directory << '/' << name;
      EXPECT_EQ(attributes->attributes.size, entry->attributes.size);
      EXPECT_EQ(fs_->superblock().PathOf(entry->node), JoinPath(directory, name));
    }
  }
}

}  // namespace
}  // namespace unshard
