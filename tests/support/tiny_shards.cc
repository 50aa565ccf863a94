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

// The chunks as they come, then the index.
class TinyAssembly final : public ShardAssembly {
 public:
  TinyAssembly(std::uint64_t slots, std::vector<AssembledChunk> chunks)
      : chunks_(std::move(chunks)), index_(slots * 16), end_(slots * 16) {}
  Result<AssemblyStep> Next(const PutChunk& put) override {
    if (next_ > 0 && next_ <= chunks_.size()) {
      std::uint8_t* const row = index_.data() + chunks_[next_ - 1].slot * 16;
      StoreU64Le(row, end_ + put.leading);
      StoreU64Le(row + 8, put.stored);
      end_ += put.leading + put.stored;
    }
    AssemblyStep step;
    step.kind = next_ < chunks_.size()    ? AssemblyStep::Kind::kChunk
                : next_ == chunks_.size() ? AssemblyStep::Kind::kBytes
                                          : AssemblyStep::Kind::kDone;
    step.at = step.kind == AssemblyStep::Kind::kBytes ? 0 : end_;
    step.chunk = next_++;
    if (step.kind == AssemblyStep::Kind::kBytes) step.bytes = index_;
    return step;
  }

 private:
  const std::vector<AssembledChunk> chunks_;
  ByteVector index_;
  std::uint64_t end_;
  std::size_t next_ = 0;
};

}  // namespace

std::unique_ptr<ShardAssembly> TinyShardFormat::Assemble(std::uint64_t,
                                                         std::vector<AssembledChunk> chunks) const {
  return std::make_unique<TinyAssembly>(slots_, std::move(chunks));
}

Result<Bytes> TinyShardFormat::EncodeShard(Bytes body, std::uint64_t max_bytes) const {
  return has_outer_codec_ ? DecodeShard(std::move(body), max_bytes)
                          : body;  // inverting undoes itself
}

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
