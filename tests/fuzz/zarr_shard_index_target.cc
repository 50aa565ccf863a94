// One byte of parameters, the rest a whole shard: its walk ends, and every entry lies within it.
#include <algorithm>
#include <string>
#include <variant>

#include "codec/zarr3/shard.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/support/codecs.h"

namespace unshard {
namespace {

ChunkCodecPtr IndexChain(std::uint8_t parameters) {
  std::string codecs = "[";
  if ((parameters & 8) != 0) {
    codecs += R"({"name": "transpose", "configuration": {"order": [1, 0]}}, )";
  }
  const char* const endian = (parameters & 2) != 0 ? "big" : "little";
  codecs += std::string(R"({"name": "bytes", "configuration": {"endian": ")") + endian + "\"}}]";
  const JsonValue json = ParseJson(codecs).value();
  return BindZarr3Chain(JsonCursor(json, "index_codecs"), kUint64, 2).value();
}

ShardLevel Level(std::uint64_t chunks, std::uint8_t parameters) {
  ShardLevel level;
  level.axes = {0};
  level.chunk_shape = {1};
  level.grid_shape = {chunks};
  level.chunk_count = chunks;
  level.index_at_start = (parameters & 1) != 0;
  level.guess_checksum = (parameters & 4) != 0;
  level.index_chain = level.guess_checksum ? NewIndexChain(1) : IndexChain(parameters);
  if ((parameters & 16) != 0) level.outer = {*BindBytesCodec("crc32c")};
  return level;
}

void WalkPage(const ShardFormat& format, ByteSpan object, std::uint64_t page) {
  const auto walk = format.Walk(0, page, 1 << 16);
  RangeRequest request = walk->Start();
  for (int step_count = 0;; ++step_count) {
    Require(step_count < 2, "one request a level");
    const std::uint64_t begin =
        request.suffix ? object.size() - std::min<std::uint64_t>(object.size(), request.size)
                       : std::min<std::uint64_t>(object.size(), request.begin);
    const ByteSpan rest = object.subspan(begin);
    const auto step =
        walk->Feed(rest.first(std::min<std::uint64_t>(rest.size(), request.size)), object.size());
    if (!step) return;
    if (const auto* found = std::get_if<IndexPage>(&*step)) {
      for (const IndexEntry& entry : found->entries()) {
        Require(entry.damaged() ||
                    MakeByteRange(entry.range.begin, entry.range.size, object.size()).has_value(),
                "entries lie within the shard or are marked");
      }
      return;
    }
    request = std::get<RangeRequest>(*step);
    Require(MakeByteRange(request.begin, request.size, object.size()).has_value(),
            "nested indexes lie within the shard");
  }
}

}  // namespace

void FuzzZarrShardIndex(ByteSpan input) {
  if (input.empty()) return;
  std::vector<ShardLevel> levels = {Level(3, input[0])};
  if ((input[0] & 32) != 0) levels.push_back(Level(2, static_cast<std::uint8_t>(input[0] >> 3)));
  const auto format = MakeZarrShardFormat(std::move(levels), {});
  Require(format.has_value(), "the format is made");
  for (std::uint64_t page = 0; page < (*format)->page_count(); ++page) {
    WalkPage(**format, input.subspan(1), page);
  }
}

}  // namespace unshard
