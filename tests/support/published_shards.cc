#include "tests/support/published_shards.h"

#include <gtest/gtest.h>

#include "codec/core/checksum.h"
#include "codec/precomputed/shard.h"
#include "codec/zarr3/document.h"
#include "tests/support/index_walking.h"
#include "tests/support/shard_writer.h"

namespace unshard {
namespace {

constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 30;

WritableFormat Precomputed(const std::string& name, ShardEncoding encoding) {
  ShardingSpec spec;
  spec.preshift_bits = 1;
  spec.minishard_bits = 2;
  spec.shard_bits = 3;
  spec.minishard_index_encoding = encoding;
  spec.data_encoding = encoding;
  WritableFormat writable{name, MakeNeuroglancerShardFormat(spec), {}, true};
  for (std::uint64_t id = 0; writable.places.size() < 30; ++id) {
    const ShardSlot slot = LocateChunkId(spec, id);
    if (slot.shard == 0) writable.places.emplace_back(slot.page, id);
  }
  return writable;
}

WritableFormat Zarr(const std::string& name, const std::string& codecs, std::uint64_t pages,
                    bool appends) {
  constexpr std::uint64_t kChunks = 24;
  const auto node = ParseZarrMetadata(
      R"({"zarr_format":3,"node_type":"array","data_type":"uint8","fill_value":0,"shape":[24],)"
      R"("chunk_grid":{"name":"regular","configuration":{"chunk_shape":[24]}},)"
      R"("chunk_key_encoding":"default","codecs":)" +
      codecs + "}");
  EXPECT_TRUE(node && node->sharded) << (node ? "not sharded" : node.error().message);
  WritableFormat writable{name, node->sharded->format, {}, appends};
  for (std::uint64_t i = 0; i < kChunks; ++i) {
    writable.places.emplace_back(i / (kChunks / pages), i % (kChunks / pages));
  }
  return writable;
}

std::string Sharding(const std::string& shape, const std::string& codecs, const char* more = "") {
  return R"({"name":"sharding_indexed","configuration":{"chunk_shape":)" + shape + R"(,"codecs":)" +
         codecs +
         R"(,"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},"crc32c"])" +
         more + "}}";
}

}  // namespace

const std::vector<WritableFormat>& WritableFormats() {
  static const std::vector<WritableFormat> formats = {
      Precomputed("PrecomputedRaw", ShardEncoding::kRaw),
      Precomputed("PrecomputedGzip", ShardEncoding::kGzip),
      Zarr("Zarr", "[" + Sharding("[1]", R"(["bytes"])") + "]", 1, true),
      Zarr("ZarrStart", "[" + Sharding("[1]", R"(["bytes"])", R"(,"index_location":"start")") + "]",
           1, true),
      Zarr("ZarrNested", "[" + Sharding("[6]", "[" + Sharding("[1]", R"(["bytes"])") + "]") + "]",
           4, false),
      Zarr("ZarrOuterCodecs",
           "[" + Sharding("[1]", R"(["bytes"])") +
               R"(,{"name":"gzip","configuration":{"level":1}}])",
           1, false),
  };
  return formats;
}

const WritableFormat& FormatNamed(const std::string& name) {
  for (const WritableFormat& format : WritableFormats()) {
    if (format.name == name) return format;
  }
  ADD_FAILURE() << name;
  return WritableFormats().front();
}

Result<ShardContent> ContentOf(const ShardFormat& format, std::string_view stored,
                               std::uint64_t shard) {
  Bytes body(ByteVector(AsBytes(stored).begin(), AsBytes(stored).end()));
  UNSHARD_ASSIGN_OR_RETURN(body, format.DecodeShard(body, kNoLimit));
  ShardContent content;
  for (std::uint64_t page = 0; page < format.page_count(); ++page) {
    UNSHARD_ASSIGN_OR_RETURN(const IndexPage index,
                             WalkInMemory(format, body.span(), shard, page, kNoLimit));
    for (const IndexEntry& entry : index.entries()) {
      if (entry.damaged()) return Fail(ErrorCode::kDataLoss, "a damaged entry");
      UNSHARD_ASSIGN_OR_RETURN(
          const Bytes plain,
          format.DecodeEntry(body.Slice(entry.range.begin, entry.range.size), kNoLimit));
      content[{page, entry.slot}] = std::string(AsText(plain.span()));
    }
  }
  return content;
}

std::string Assembled(const ShardFormat& format, const ShardContent& content) {
  std::vector<AssembledChunk> chunks;
  std::vector<const std::string*> texts;
  for (const auto& [place, text] : content) {
    chunks.push_back({place.first, place.second, std::nullopt});
    texts.push_back(&text);
  }
  const auto assembly = format.Assemble(0, std::move(chunks));
  const auto chunk = [&](std::size_t number) -> Result<ChunkBytes> {
    const ByteSpan plain = AsBytes(*texts[number]);
    UNSHARD_ASSIGN_OR_RETURN(Bytes stored,
                             format.EncodeEntry(Bytes(ByteVector(plain.begin(), plain.end()))));
    return ChunkBytes{{}, std::move(stored)};
  };
  auto body = AssembleInMemory(*assembly, chunk, kNoLimit);
  EXPECT_TRUE(body);
  const auto stored = format.EncodeShard(Bytes(*std::move(body)), kNoLimit);
  EXPECT_TRUE(stored);
  return std::string(AsText(stored->span()));
}

std::string MeshManifest(const std::vector<std::uint32_t>& fragment_sizes) {
  ByteVector manifest(24, 0);  // chunk shape and grid origin
  AppendU32Le(manifest, 1);    // levels
  AppendU32Le(manifest, 0);    // its scale
  manifest.resize(manifest.size() + 12);
  AppendU32Le(manifest, static_cast<std::uint32_t>(fragment_sizes.size()));
  manifest.resize(manifest.size() + 12 * fragment_sizes.size());
  for (const std::uint32_t size : fragment_sizes) AppendU32Le(manifest, size);
  return std::string(AsText(manifest));
}

std::string ChunkText(std::uint64_t seed, std::size_t size) {
  std::mt19937_64 random(seed);
  std::string text(size, ' ');
  for (char& letter : text) letter = static_cast<char>(random());
  return text;
}

ChunkFingerprint FingerprintOf(const ShardContent& content, const PlacedAt& place) {
  const auto found = content.find(place);
  if (found == content.end()) return {};
  return {false, found->second.size(), Checksum(AsBytes(found->second))};
}

std::function<Result<std::shared_ptr<File>>()> ChangeMaker::Source(const std::string& text) {
  const std::string name = "spool-" + std::to_string(++last_file_);
  auto file = spool_->Open(name, {.write = true, .create = true, .truncate = true});
  EXPECT_TRUE(file && (*file)->Write(0, AsBytes(text)));
  return [spool = spool_, name] { return spool->Open(name, {}); };
}

ShardChange ChangeMaker::Put(const PlacedAt& place, const std::string& text,
                             const ShardContent& seen) {
  ShardChange change;
  change.page = place.first;
  change.slot = place.second;
  change.open = Source(text);
  change.size = text.size();
  change.expected = FingerprintOf(seen, place);
  return change;
}

ShardChange ChangeMaker::Remove(const PlacedAt& place, const ShardContent& seen) const {
  ShardChange change;
  change.page = place.first;
  change.slot = place.second;
  change.removed = true;
  change.expected = FingerprintOf(seen, place);
  return change;
}

std::vector<ShardChange> ChangeMaker::Random(const WritableFormat& format, ShardContent& content,
                                             std::size_t count, std::mt19937& random) {
  std::map<PlacedAt, ShardChange> changes;
  for (std::size_t i = 0; i < count; ++i) {
    const PlacedAt place = format.places[random() % format.places.size()];
    if (changes.contains(place)) continue;
    if (random() % 4 == 0) {
      changes.emplace(place, Remove(place, content));
      content.erase(place);
    } else {
      const std::string text = ChunkText(random(), 1 + random() % 3000);
      changes.emplace(place, Put(place, text, content));
      content[place] = text;
    }
  }
  std::vector<ShardChange> result;
  for (auto& [place, change] : changes) result.push_back(std::move(change));
  return result;
}

PublishRequest RequestFor(const WritableFormat& format, const std::string& key,
                          std::vector<ShardChange> changes) {
  PublishRequest request;
  request.object.key = key;
  request.format = format.format.get();
  request.changes = std::move(changes);
  return request;
}

}  // namespace unshard
