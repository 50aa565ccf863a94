// The smallest shard format with every feature that a ShardSet handles.
#pragma once

#include <string>
#include <vector>

#include "codec/shard/chunk_locator.h"
#include "codec/shard/format.h"

namespace unshard {

// A shard of `slots` chunks, one index page: per slot 16 bytes (begin, size, little-endian; size 0:
// empty) at the start, then the chunks. Walked in two requests: one byte, then the index.
class TinyShardFormat : public ShardFormat {
 public:
  explicit TinyShardFormat(std::uint64_t slots, bool has_outer_codec = false)
      : slots_(slots), has_outer_codec_(has_outer_codec) {}
  std::unique_ptr<IndexWalk> Walk(std::uint64_t shard, std::uint64_t page,
                                  std::uint64_t max_index_bytes) const override;
  RangeRequest opening_range() const override {
    return RangeRequest::At(0, has_outer_codec_ ? kMaxOpeningBytes : slots_ * 16);
  }
  std::uint64_t page_count() const override { return 1; }
  bool stored_is_plain() const override { return true; }
  Result<Bytes> DecodeEntry(Bytes stored, std::uint64_t) const override { return stored; }
  bool has_outer_codecs() const override { return has_outer_codec_; }
  // An outer codec: objects are stored with each byte inverted.
  Result<Bytes> DecodeShard(Bytes stored, std::uint64_t max_bytes) const override;
  Status CanWrite() const override { return {}; }
  std::uint64_t fixed_index_bytes() const override { return slots_ * 16; }
  std::unique_ptr<ShardAssembly> Assemble(std::uint64_t shard,
                                          std::vector<AssembledChunk> chunks) const override;
  // Never appends.
  std::unique_ptr<ShardAssembly> Append(std::uint64_t, std::vector<AssembledChunk>,
                                        std::vector<std::uint64_t>, std::uint64_t) const override {
    return nullptr;
  }
  Result<Bytes> EncodeEntry(Bytes plain) const override { return plain; }
  Result<Bytes> EncodeShard(Bytes body, std::uint64_t max_bytes) const override;

 private:
  const std::uint64_t slots_;
  const bool has_outer_codec_;
};

// The bytes of a shard; an empty text is a missing chunk.
std::string EncodeTinyShard(const std::vector<std::string>& chunks);
std::string Inverted(std::string text);

// Shard 7 is "7.shard" or, obsolete, "7.index" and "7.data"; with `nested` "c/7/0".
class TinyShardKeys : public ShardKeys {
 public:
  explicit TinyShardKeys(bool nested = false) : nested_(nested) {}
  std::string Key(std::uint64_t shard) const override;
  std::optional<std::uint64_t> Parse(std::string_view key) const override;
  std::optional<Pair> ObsoletePair(std::uint64_t shard) const override;

 private:
  const bool nested_;
};

}  // namespace unshard
