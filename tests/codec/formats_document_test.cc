// Holds every example of codec/docs against the code. An example is a fenced block whose
// fence names a kind; "#" begins a remark in all kinds but JSON.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "codec/chain/codec_chain.h"
#include "codec/codecs/gzip.h"
#include "codec/codecs/image_form.h"
#include "codec/codecs/n5_block.h"
#include "codec/codecs/segmentation_format.h"
#include "codec/grid/chunk_key.h"
#include "codec/grid/morton.h"
#include "codec/json/parser.h"
#include "codec/json/writer.h"
#include "codec/precomputed/info.h"
#include "codec/precomputed/mesh_manifest.h"
#include "codec/precomputed/murmurhash3.h"
#include "codec/precomputed/shard.h"
#include "codec/types/fill_value.h"
#include "codec/zarr2/array.h"
#include "codec/zarr3/document.h"
#include "tests/support/codecs.h"
#include "tests/support/folders.h"
#include "tests/support/index_walking.h"
#include "tests/support/shard_writer.h"

namespace unshard {
namespace {

using Words = std::vector<std::string>;
using Numbers = std::vector<std::uint64_t>;

struct Example {
  std::string kind;
  std::string text;
  std::string place;  // of its fence: page and line
};

void ReadExamples(const std::string& page, std::vector<Example>& examples) {
  std::ifstream file(SourceFolder() + "/codec/docs/" + page);
  EXPECT_TRUE(file) << page;
  bool inside = false;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.rfind("```", 0) == 0) {
      inside = !inside;
      if (inside) examples.push_back({line.substr(3), "", page + ":" + std::to_string(number)});
    } else if (inside) {
      examples.back().text += line + '\n';
    }
  }
}

std::vector<Example> ReadExamples() {
  std::vector<Example> examples;
  for (const char* page :
       {"precomputed.md", "encodings.md", "zarr.md", "views.md", "writing.md", "sizes.md"}) {
    ReadExamples(page, examples);
  }
  return examples;
}

// The words of each line, without remarks and lines that hold nothing else.
std::vector<Words> Lines(const Example& example) {
  std::vector<Words> lines;
  std::istringstream text(example.text);
  for (std::string line; std::getline(text, line);) {
    std::istringstream content(line.substr(0, line.find('#')));
    Words words;
    for (std::string word; content >> word;) words.push_back(word);
    if (!words.empty()) lines.push_back(words);
  }
  return lines;
}

std::uint64_t Number(const std::string& word, int base = 10) {
  char* end = nullptr;
  const std::uint64_t number = std::strtoull(word.c_str(), &end, base);
  EXPECT_TRUE(!word.empty() && *end == '\0') << word << " is no number";
  return number;
}

std::size_t Find(const Words& words, const std::string& word) {
  return static_cast<std::size_t>(std::find(words.begin(), words.end(), word) - words.begin());
}

// The numbers after `key`, up to the first word that is none.
template <class Integer = std::uint64_t>
std::vector<Integer> After(const Words& words, const std::string& key) {
  std::vector<Integer> numbers;
  for (std::size_t i = Find(words, key) + 1; i < words.size(); ++i) {
    if (words[i].find_first_not_of("-0123456789") != std::string::npos) break;
    numbers.push_back(static_cast<Integer>(std::strtoll(words[i].c_str(), nullptr, 10)));
  }
  return numbers;
}

std::uint64_t One(const Words& words, const std::string& key) {
  const std::size_t at = Find(words, key) + 1;
  EXPECT_LT(at, words.size()) << "nothing follows " << key;
  return at < words.size() ? Number(words[at]) : 0;
}

bool IsDump(const Words& words) { return words[0].size() == 4 && words.size() > 1; }

// The bytes of the dump lines, whose offsets must be right.
ByteVector Dump(const std::vector<Words>& lines) {
  ByteVector bytes;
  for (const Words& words : lines) {
    if (!IsDump(words)) continue;
    EXPECT_EQ(Number(words[0], 16), bytes.size()) << "wrong offset " << words[0];
    for (std::size_t i = 1; i < words.size(); ++i) {
      bytes.push_back(static_cast<std::uint8_t>(Number(words[i], 16)));
    }
  }
  return bytes;
}

ShardingSpec SpecOf(const Words& words) {
  ShardingSpec spec;
  if (words[0] == "murmurhash3_x86_128") {
    spec.hash = ChunkIdHash::kMurmurHash3X86_128;
  } else {
    EXPECT_EQ(words[0], "identity");
  }
  spec.preshift_bits = static_cast<unsigned>(One(words, "preshift"));
  spec.minishard_bits = static_cast<unsigned>(One(words, "minishard"));
  spec.shard_bits = static_cast<unsigned>(One(words, "shard"));
  return spec;
}

void CheckPlacement(const Example& example) {
  for (const Words& words : Lines(example)) {
    ASSERT_EQ(words.size(), 12U);  // hash, 3 × (name, bits), id, "->", shard, minishard, file
    const ShardingSpec spec = SpecOf(words);
    const std::uint64_t id = Number(words[7]);
    const ShardSlot expected{Number(words[9]), Number(words[10]), id};
    EXPECT_EQ(LocateChunkId(spec, id), expected) << id;
    EXPECT_EQ(ShardFileName(spec, expected.shard), words[11]);
    EXPECT_EQ(ParseShardFileName(spec, words[11]), expected.shard);
  }
}

void CheckMurmurHash(const Example& example) {
  for (const Words& words : Lines(example)) {
    EXPECT_EQ(MurmurHash3X86_128Of64(Number(words[0])), Number(words[2], 16)) << words[0];
  }
}

// The chunks of lines like "chunk 2 = 01 02"; `key` is their first word.
std::vector<ShardChunk> ChunksOf(const std::vector<Words>& lines, const std::string& key) {
  std::vector<ShardChunk> chunks;
  for (const Words& words : lines) {
    if (words[0] != key) continue;
    ShardChunk chunk{Number(words[1]), {}};
    for (std::size_t i = 3; i < words.size(); ++i) {
      chunk.plain.push_back(static_cast<std::uint8_t>(Number(words[i], 16)));
    }
    chunks.push_back(chunk);
  }
  return chunks;
}

void CheckPrecomputedShard(const Example& example) {
  const std::vector<Words> lines = Lines(example);
  const ShardingSpec spec = SpecOf(lines[0]);
  const std::vector<ShardChunk> chunks = ChunksOf(lines, "chunk");
  const ByteVector shard = Dump(lines);
  EXPECT_EQ(EncodeNeuroglancerShard(spec, chunks), shard);
  const auto format = MakeNeuroglancerShardFormat(spec);
  for (const ShardChunk& chunk : chunks) {
    const auto page = WalkInMemory(*format, shard, 0, LocateChunkId(spec, chunk.slot).page);
    ASSERT_TRUE(page) << page.error().message;
    const auto range = page->Find(chunk.slot);
    ASSERT_TRUE(range) << chunk.slot;
    const ByteSpan stored = ByteSpan(shard).subspan(range->begin, range->size);
    EXPECT_EQ(ByteVector(stored.begin(), stored.end()), chunk.plain);
  }
}

// The dump shows what differs from the base.
void CheckPrecomputedAppend(const Example& example) {
  const std::vector<Words> lines = Lines(example);
  const ShardingSpec spec = SpecOf(lines[0]);
  const ByteVector base = EncodeNeuroglancerShard(spec, ChunksOf(lines, "chunk"));
  const std::vector<ShardChunk> put = ChunksOf(lines, "put");
  ByteVector expected = base;
  for (const Words& words : lines) {
    if (!IsDump(words)) continue;
    const std::uint64_t at = Number(words[0], 16);
    expected.resize(std::max<std::size_t>(expected.size(), at + words.size() - 1));
    for (std::size_t i = 1; i < words.size(); ++i) {
      expected[at + i - 1] = static_cast<std::uint8_t>(Number(words[i], 16));
    }
  }
  std::vector<AssembledChunk> chunks;
  std::vector<std::uint64_t> pages;
  for (const ShardChunk& chunk : put) {
    pages.push_back(LocateChunkId(spec, chunk.slot).page);
    chunks.push_back({pages.back(), chunk.slot, std::nullopt});
  }
  const auto assembly = MakeNeuroglancerShardFormat(spec)->Append(0, chunks, pages, base.size());
  const auto plain = [&](std::size_t number) -> Result<ChunkBytes> {
    return ChunkBytes{{}, Bytes(put[number].plain)};
  };
  const auto shard = AssembleInMemory(*assembly, plain, 1 << 20, base);
  ASSERT_TRUE(shard) << shard.error().message;
  EXPECT_EQ(*shard, expected);
}

void CheckMorton(const Example& example) {
  for (const Words& words : Lines(example)) {
    const MortonRule rule = words[0] == "legacy" ? MortonRule::kLegacy : MortonRule::kStandard;
    const Numbers cell = After(words, "cell");
    const auto code = CompressedMorton::Make(After(words, "grid"), rule);
    ASSERT_TRUE(code);
    EXPECT_EQ(code->Encode(cell), One(words, "->")) << words[0];
    Numbers decoded(cell.size());
    EXPECT_TRUE(code->Decode(One(words, "->"), decoded));
    EXPECT_EQ(decoded, cell);
  }
}

void CheckVolumeNames(const Example& example) {
  const std::vector<Words> lines = Lines(example);
  const auto grid = ChunkGrid::Make(After(lines[0], "size"), After(lines[0], "chunk"),
                                    After<std::int64_t>(lines[0], "offset"));
  ASSERT_TRUE(grid);
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const Words& words = lines[i];
    const std::string& name = words.back();
    GridCell cell;
    const NameMatch match = ParseChunkRangeName(*grid, name, cell);
    if (words[0] == "cell") {
      EXPECT_EQ(ChunkRangeName(*grid, After(words, "cell")), name);
      EXPECT_EQ(match, NameMatch::kChunk) << name;
      EXPECT_EQ(cell, After(words, "cell"));
    } else {
      EXPECT_EQ(match, words[0] == "no" ? NameMatch::kNoChunk : NameMatch::kOther) << name;
    }
  }
}

void CheckCompressedSegmentation(const Example& example) {
  Numbers shape, block, labels, words;
  for (const Words& line : Lines(example)) {
    if (line[0] == "shape") {
      shape = After(line, "shape");
      block = After(line, "block");
    } else if (line[0] == "labels") {
      for (const std::uint64_t label : After(line, "labels")) labels.push_back(label);
    } else {
      ASSERT_EQ(line[0], "words");
      for (std::size_t i = 1; i < line.size(); ++i) words.push_back(Number(line[i], 16));
    }
  }
  ASSERT_EQ(shape.size(), 3U);
  ASSERT_EQ(block.size(), 3U);
  const SegmentationForm form = {
      {shape[0], shape[1], shape[2]}, {block[0], block[1], block[2]}, 1, 2};
  ByteVector voxels;
  for (const std::uint64_t label : labels) AppendU64Le(voxels, label);
  ByteVector chunk;
  for (const std::uint64_t word : words) AppendU32Le(chunk, static_cast<std::uint32_t>(word));
  const auto encoded = EncodeCompressedSegmentation(voxels, form);
  ASSERT_TRUE(encoded) << encoded.error().message;
  EXPECT_EQ(*encoded, chunk);
  const auto decoded = DecodeCompressedSegmentation(chunk, form);
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(*decoded, voxels);
}

void CheckImageSizes(const Example& example) {
  for (const Words& words : Lines(example)) {
    const Numbers shape = After(words, "chunk");
    const Numbers size = After(words, "image");
    ASSERT_EQ(shape.size(), 3U);
    ASSERT_EQ(size.size(), 2U);
    const auto image = ArrangeImage(words[0], {shape[0], shape[1], shape[2]},
                                    words[0] == "png" ? kMaxPngSide : kMaxJpegSide);
    ASSERT_TRUE(image) << image.error().message;
    EXPECT_EQ((Numbers{image->width, image->height}), size);
  }
}

// The chunk is decoded, and, where the encoding is written, encoded.
void CheckEncodedChunk(const Example& example) {
  const std::vector<Words> lines = Lines(example);
  const Numbers shape = After(lines[0], "shape");
  ASSERT_EQ(shape.size(), 3U);
  const DataType type = FindDataType(DataTypeDialect::kPrecomputedVolume, lines[0][1]).value();
  const std::uint64_t channels = One(lines[0], "channels");
  ByteVector bytes;
  for (const std::uint64_t value : After(lines[1], "voxels")) {
    for (std::uint32_t i = 0; i < type.size; ++i) {
      bytes.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
    }
  }
  const ByteVector chunk = Dump(lines);
  const auto codec = BindVolumeChain(R"("encoding": ")" + lines[0][0] + "\"", type, channels);
  ASSERT_TRUE(codec) << codec.error().message;
  if (!(*codec)->CanDecode()) return;  // not in this build
  const auto voxels = (*codec)->Decode(chunk, Numbers{channels, shape[2], shape[1], shape[0]});
  ASSERT_TRUE(voxels) << voxels.error().message;
  EXPECT_TRUE(std::ranges::equal(voxels->bytes(), bytes));
  if (!(*codec)->CanEncode() || (*codec)->is_lossy()) return;
  const auto encoded = (*codec)->Encode(*voxels);
  ASSERT_TRUE(encoded) << encoded.error().message;
  EXPECT_EQ(*encoded, chunk);
}

// The JSON in a line, from the word after `key` on.
JsonValue JsonAfter(const Words& words, std::size_t at) {
  std::string text;
  for (std::size_t i = at; i < words.size(); ++i) text += words[i] + ' ';
  const auto json = ParseJson(text);
  EXPECT_TRUE(json) << text;
  return json.value_or(JsonValue());
}

Result<ChunkCodecPtr> ArrayChunkCodec(const Words& words, const Numbers& shape) {
  const JsonValue json = JsonAfter(words, Find(words, "shape") + shape.size() + 2);
  const JsonCursor cursor(json, "");
  const DataType type = FindDataType(DataTypeDialect::kZarr, words[1]).value();
  if (words[0] == "n5") return BindN5Chain(cursor, type, shape);
  if (words[0] == "zarr2") return MakeZarr2ChunkCodec(cursor, shape.size());
  return BindZarr3Chain(cursor, type, shape.size());
}

// The chunk is decoded and encoded.
void CheckArrayChunk(const Example& example) {
  const std::vector<Words> lines = Lines(example);
  const Numbers shape = After(lines[0], "shape");
  const auto codec = ArrayChunkCodec(lines[0], shape);
  ASSERT_TRUE(codec) << codec.error().message;
  ByteVector items;
  for (const std::uint64_t value : After(lines[1], "voxels")) {
    for (std::uint32_t i = 0; i < (*codec)->type().size; ++i) {
      items.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
    }
  }
  const auto voxels = Voxels::Make((*codec)->type(), shape, std::move(items));
  ASSERT_TRUE(voxels) << voxels.error().message;
  if (!(*codec)->CanDecode()) return;  // not in this build
  const ByteVector chunk = Dump(lines);
  const auto decoded = (*codec)->Decode(chunk, shape);
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(*decoded, *voxels) << example.place;
  const auto encoded = (*codec)->Encode(*voxels);
  ASSERT_TRUE(encoded) << encoded.error().message;
  EXPECT_EQ(*encoded, chunk) << example.place;
}

void CheckFillValues(const Example& example) {
  for (const Words& words : Lines(example)) {
    const JsonValue json = JsonAfter({words[1]}, 0);
    const DataType type = FindDataType(DataTypeDialect::kZarr, words[0]).value();
    const auto item = ParseFillValue(JsonCursor(json, ""), type);
    ASSERT_TRUE(item) << item.error().message;
    ByteVector expected;
    for (std::size_t i = 3; i < words.size(); ++i) {
      expected.push_back(static_cast<std::uint8_t>(Number(words[i], 16)));
    }
    EXPECT_EQ(*item, expected) << words[0] << ' ' << words[1];
  }
}

void CheckMeshManifest(const Example& example) {
  const std::vector<Words> lines = Lines(example);
  const ByteVector manifest = Dump(lines);
  const auto bytes = MeshFragmentBytes(manifest);
  ASSERT_TRUE(bytes) << bytes.error().message;
  EXPECT_EQ(*bytes, One(lines.back(), "bytes"));
  EXPECT_FALSE(MeshFragmentBytes(ByteSpan(manifest).first(manifest.size() - 1)));
}

void CheckZarrNames(const Example& example) {
  for (const Words& words : Lines(example)) {
    const ChunkKeyEncoding encoding{
        words[0] == "v2" ? ChunkKeyEncoding::Kind::kV2 : ChunkKeyEncoding::Kind::kDefault,
        words[1][0]};
    const Numbers cell = After(words, "cell");
    EXPECT_EQ(ZarrChunkKey(encoding, cell), words.back());
    GridCell parsed;
    EXPECT_EQ(ParseZarrChunkKey(encoding, Numbers(cell.size(), 100), words.back(), parsed),
              NameMatch::kChunk);
    EXPECT_EQ(parsed, cell);
  }
}

// A one-dimensional array with one shard of so many chunks.
std::string ArrayOfOneShard(std::uint64_t slots) {
  return R"({"zarr_format": 3, "node_type": "array", "shape": [)" + std::to_string(slots) +
         R"(], "data_type": "uint8", "fill_value": 0, "chunk_key_encoding": "default",
           "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [)" +
         std::to_string(slots) + R"(]}}, "codecs": [{"name": "sharding_indexed", "configuration": {
           "chunk_shape": [1], "codecs": ["bytes"], "index_codecs": ["bytes", "crc32c"]}}]})";
}

void CheckZarrIndex(const Example& example) {
  const std::vector<Words> lines = Lines(example);
  const std::uint64_t slots = One(lines[0], "slots");
  std::vector<ShardChunk> chunks;
  for (const Words& words : lines) {
    if (words[0] != "chunk") continue;
    chunks.push_back({Number(words[1]), ByteVector(Number(words[3]), 0x55)});
  }
  const ByteVector index = Dump(lines);
  const ByteVector shard = EncodeZarrShard(slots, chunks);
  ASSERT_GE(shard.size(), index.size());
  const ByteSpan tail = ByteSpan(shard).last(index.size());
  EXPECT_EQ(ByteVector(tail.begin(), tail.end()), index);

  const auto node = ParseZarrMetadata(ArrayOfOneShard(slots));
  ASSERT_TRUE(node) << node.error().message;
  const auto page = WalkInMemory(*node->sharded->format, shard, 0, 0);
  ASSERT_TRUE(page) << page.error().message;
  std::uint64_t begin = 0;
  for (const ShardChunk& chunk : chunks) {
    EXPECT_EQ(page->Find(chunk.slot), (ByteRange{begin, chunk.plain.size()})) << chunk.slot;
    begin += chunk.plain.size();
  }
  EXPECT_EQ(page->entries().size(), chunks.size());
}

void CheckGzipTrailers(const Example& example) {
  for (const Words& words : Lines(example)) {
    ASSERT_EQ(words.size(), 9U);  // "stored" size "trailer" 4 bytes "->" size
    ByteVector trailer;
    for (std::size_t i = 3; i < 7; ++i) {
      trailer.push_back(static_cast<std::uint8_t>(Number(words[i], 16)));
    }
    const auto size = PlausibleGzipSize(trailer, Number(words[1]));
    EXPECT_EQ(size ? std::to_string(*size) : "decode", words[8]) << "stored " << words[1];
  }
}

std::string OnOneLine(const std::string& text) {
  const auto document = ParseJson(text);
  EXPECT_TRUE(document) << document.error().message;
  return document ? WriteJson(*document, 0) : "";
}

std::string Unsharded(const std::string& kind, const std::string& text) {
  if (kind.find("zarr.json") != std::string::npos) {
    const auto node = ParseZarrMetadata(text);
    EXPECT_TRUE(node && node->sharded) << (node ? "not sharded" : node.error().message);
    return node ? node->unsharded_text : "";
  }
  const auto info = ParseNeuroglancerInfo(text);
  EXPECT_TRUE(info && !info->sharded.empty()) << (info ? "not sharded" : info.error().message);
  return info ? info->unsharded_text : "";
}

const std::map<std::string, std::function<void(const Example&)>>& Checks() {
  static const std::map<std::string, std::function<void(const Example&)>> checks{
      {"placement", CheckPlacement},
      {"murmurhash3_x86_128", CheckMurmurHash},
      {"precomputed-shard", CheckPrecomputedShard},
      {"precomputed-append", CheckPrecomputedAppend},
      {"morton", CheckMorton},
      {"volume-names", CheckVolumeNames},
      {"compressed-segmentation", CheckCompressedSegmentation},
      {"image-sizes", CheckImageSizes},
      {"encoded-chunk", CheckEncodedChunk},
      {"array-chunk", CheckArrayChunk},
      {"fill-values", CheckFillValues},
      {"mesh-manifest", CheckMeshManifest},
      {"zarr-names", CheckZarrNames},
      {"zarr-index", CheckZarrIndex},
      {"gzip-trailer", CheckGzipTrailers},
  };
  return checks;
}

TEST(FormatsDocument, EveryExampleIsWhatTheCodeDoes) {
  std::set<std::string> seen;
  for (const Example& example : ReadExamples()) {
    if (example.kind.rfind("json", 0) == 0) continue;
    SCOPED_TRACE(example.place);
    ASSERT_EQ(Checks().count(example.kind), 1U) << "no check of the kind " << example.kind;
    ASSERT_FALSE(Lines(example).empty());
    Checks().at(example.kind)(example);
    seen.insert(example.kind);
  }
  EXPECT_EQ(seen.size(), Checks().size()) << "some kind of example is gone";
}

TEST(FormatsDocument, MetadataAreShownAsItSays) {
  const std::vector<Example> examples = ReadExamples();
  std::set<std::string> seen;
  for (std::size_t i = 0; i + 1 < examples.size(); ++i) {
    const Example& sharded = examples[i];
    if (sharded.kind.rfind("json sharded ", 0) != 0) continue;
    SCOPED_TRACE(sharded.place);
    EXPECT_EQ(examples[i + 1].kind, "json un" + sharded.kind.substr(5));
    EXPECT_EQ(OnOneLine(Unsharded(sharded.kind, sharded.text)), OnOneLine(examples[i + 1].text));
    seen.insert(sharded.kind);
  }
  EXPECT_EQ(seen.size(), 2U);
}

// The words in backquotes of the lines of a page that begin with `start`.
Words QuotedIn(const std::string& page, const std::string& start) {
  std::ifstream file(SourceFolder() + "/codec/docs/" + page);
  EXPECT_TRUE(file) << page;
  Words words;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(start)) continue;
    for (std::size_t at = line.find('`'); at != line.npos; at = line.find('`', at)) {
      const std::size_t end = line.find('`', at + 1);
      words.push_back(line.substr(at + 1, end - at - 1));
      at = end + 1;
    }
  }
  return words;
}

// All names of codecs in a dialect that decode chunks, and the options that distinguish codecs of
// one name.
std::set<std::string> NamesIn(Dialect dialect) {
  std::set<std::string> names;
  for (const CodecDefinition* const codec : CodecDefinitions()) {
    for (const CodecDefinition::Name& each : codec->names) {
      if (each.dialect != dialect || !codec->CanBind() || codec->takes_any_length) continue;
      names.emplace(each.name);
      if (!each.when.empty()) names.emplace(each.when);
    }
  }
  return names;
}

TEST(FormatsDocument, ItsTablesHaveTheNamesOfAllCodecs) {
  const Words zarr = QuotedIn("zarr.md", "| Zarr v3 |");
  const auto prefix = std::find(zarr.begin(), zarr.end(), "numcodecs.");
  ASSERT_NE(prefix, zarr.end());
  EXPECT_EQ(std::set<std::string>(zarr.begin(), prefix), NamesIn(Dialect::kZarr3));
  EXPECT_EQ(std::set<std::string>(prefix + 1, zarr.end()), NamesIn(Dialect::kZarr2));
  const Words n5 = QuotedIn("zarr.md", "| N5 |");
  EXPECT_EQ(std::set<std::string>(n5.begin(), n5.end()), NamesIn(Dialect::kN5));
  for (const std::string& encoding : NamesIn(Dialect::kPrecomputed)) {
    EXPECT_FALSE(QuotedIn("encodings.md", "| `" + encoding + "` |").empty()) << encoding;
  }
}

}  // namespace
}  // namespace unshard
