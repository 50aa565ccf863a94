#include "tests/support/tiny_shards.h"

#include <charconv>

namespace unshard {
namespace {

class TinyWalk final : public IndexWalk {
 public:
  explicit TinyWalk(std::uint64_t slots) : slots_(slots) {}
  RangeRequest Start() override { return RangeRequest::At(0, 1); }
  Result<IndexStep> Feed(ByteSpan bytes, std::uint64_t object_size) override {
    if (bytes.size() != (first_ ? 1 : slots_ * 16)) {
      return Fail(ErrorCode::kDataLoss, "the index ends early");
    }
    if (std::exchange(first_, false)) return RangeRequest::At(0, slots_ * 16);
    std::vector<IndexEntry> entries;
    for (std::uint64_t slot = 0; slot < slots_; ++slot) {
      const std::uint8_t* row = bytes.data() + slot * 16;
      if (LoadU64Le(row + 8) == 0) continue;
      const auto range = MakeByteRange(LoadU64Le(row), LoadU64Le(row + 8), object_size);
      entries.push_back({slot, range ? *range : kDamagedRange});
    }
    return IndexPage(std::move(entries));
  }

 private:
  const std::uint64_t slots_;
  bool first_ = true;
};

}  // namespace

std::unique_ptr<IndexWalk> TinyShardFormat::Walk(std::uint64_t, std::uint64_t,
                                                 std::uint64_t) const {
  return std::make_unique<TinyWalk>(slots_);
}

Result<Bytes> TinyShardFormat::DecodeShard(Bytes stored, std::uint64_t max_bytes) const {
  if (stored.size() > max_bytes) return Fail(ErrorCode::kResourceExhausted, "too large");
  const std::string text = Inverted(std::string(AsText(stored.span())));
  return Bytes(ByteVector(text.begin(), text.end()));
}

std::string EncodeTinyShard(const std::vector<std::string>& chunks) {
  ByteVector index;
  std::string data;
  for (const std::string& chunk : chunks) {
    AppendU64Le(index, chunks.size() * 16 + data.size());
    AppendU64Le(index, chunk.size());
    data += chunk;
  }
  return std::string(AsText(index)) + data;
}

std::string Inverted(std::string text) {
  for (char& byte : text) byte = static_cast<char>(~byte);
  return text;
}

std::string TinyShardKeys::Key(std::uint64_t shard) const {
  const std::string number = std::to_string(shard);
  return nested_ ? "c/" + number + "/0" : number + ".shard";
}

std::optional<std::uint64_t> TinyShardKeys::Parse(std::string_view key) const {
  const std::size_t begin = nested_ ? 2 : 0;
  if (key.size() <= begin) return std::nullopt;
  std::uint64_t shard = 0;
  if (std::from_chars(key.data() + begin, key.data() + key.size(), shard).ec != std::errc()) {
    return std::nullopt;
  }
  const auto pair = ObsoletePair(shard);
  const bool is_pair = pair && (key == pair->index || key == pair->data);
  if (key != Key(shard) && !is_pair) return std::nullopt;
  return shard;
}

std::optional<ShardKeys::Pair> TinyShardKeys::ObsoletePair(std::uint64_t shard) const {
  if (nested_) return std::nullopt;
  return Pair{std::to_string(shard) + ".index", std::to_string(shard) + ".data"};
}

}  // namespace unshard
