// The shard container neuroglancer_uint64_sharded_v1: chunk id to shard, minishard and entry.
// codec/FORMATS.md, "Precomputed shards". Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "codec/json/cursor.h"
#include "codec/shard/chunk_locator.h"
#include "codec/shard/format.h"

namespace unshard {

enum class ChunkIdHash { kIdentity, kMurmurHash3X86_128 };
enum class ShardEncoding { kRaw, kGzip };

// The `sharding` member of a scale, mesh, skeleton or annotation index.
struct ShardingSpec {
  unsigned preshift_bits = 0;  // 0..64
  ChunkIdHash hash = ChunkIdHash::kIdentity;
  unsigned minishard_bits = 0;  // 0..64, minishard_bits + shard_bits <= 64
  unsigned shard_bits = 0;
  ShardEncoding minishard_index_encoding = ShardEncoding::kRaw;
  ShardEncoding data_encoding = ShardEncoding::kRaw;
};

// Parses a `sharding` object: absent encodings mean raw, enumerators may be in any case. Fails with
// kDataLoss, naming the member and what was expected.
Result<ShardingSpec> ParseShardingSpec(const JsonCursor& sharding);
// The inverse, as TensorStore writes it.
JsonValue ShardingJson(const ShardingSpec& spec);
// "raw" or "gzip".
std::string_view ShardEncodingName(ShardEncoding encoding);

// The position of the entry of `chunk_id`; the slot is the chunk id itself.
ShardSlot LocateChunkId(const ShardingSpec& spec, std::uint64_t chunk_id);

// "0af.shard": lower-case hex, padded to ceil(shard_bits / 4) digits.
std::string ShardFileName(const ShardingSpec& spec, std::uint64_t shard);
// The shard number of an exact shard file name; nothing for any other name.
std::optional<std::uint64_t> ParseShardFileName(const ShardingSpec& spec, std::string_view name);
// The two files of the obsolete form: "<hex>.index" and "<hex>.data".
ShardKeys::Pair ObsoleteShardFileNames(const ShardingSpec& spec, std::uint64_t shard);
// The shard number of "<hex>.index" or "<hex>.data"; nothing for any other name.
std::optional<std::uint64_t> ParseObsoleteShardFileName(const ShardingSpec& spec,
                                                        std::string_view name);

// Numbers chunk ids in the order in which shards store them: by shard, minishard, id. One to one.
// Immutable; thread-safe.
class StorageOrder {
 public:
  // For ids of at most `id_bits` bits. With a hash, a number is the shard, the minishard and the
  // id: where that takes more than `max_bits`, the numbers are the ids themselves.
  StorageOrder(const ShardingSpec& spec, unsigned id_bits, unsigned max_bits);

  [[nodiscard]] std::uint64_t NumberOf(std::uint64_t id) const;
  [[nodiscard]] std::uint64_t IdAt(std::uint64_t number) const;

 private:
  enum class Kind {
    kIds,          // the number is the id
    kMovedBits,    // the number has the bits of the id, those of shard and minishard first
    kShardAndIds,  // the number is shard, minishard and id
  };
  Kind kind_ = Kind::kIds;
  ShardingSpec spec_;
  unsigned id_bits_ = 0;
  unsigned rest_bits_ = 0;  // of an id, above those that give the shard
};

// The format with these parameters. Its pages have exactly the entries that readers can find: ids
// that belong to another shard or minishard are omitted, and counted in left_out(). An object of
// length 0 has no chunks. A walk requests 16 bytes of the shard index, which the opening range may
// contain, and then the minishard index.
std::unique_ptr<ShardFormat> MakeNeuroglancerShardFormat(const ShardingSpec& spec);

}  // namespace unshard
