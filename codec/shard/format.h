// What the two shard formats have in common: where an inner chunk's entry stands, how its index is
// walked, and how new versions of a shard are put together. Sans-I/O: a walk names the next byte
// range it needs, the caller fetches it; an assembly names the next bytes, the caller puts them.
//
// Implementations: codec/precomputed/shard.h (neuroglancer_uint64_sharded_v1) and
// codec/zarr3/shard.h (sharding_indexed, nested to any depth).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "codec/core/byte_range.h"
#include "codec/core/bytes.h"
#include "codec/core/error.h"
#include "codec/shard/assembly.h"

namespace unshard {

// Where the entry of one inner chunk stands. `page` numbers the index pages of a shard (minishard;
// Zarr: the position of the nested shard, 0 without nesting), `slot` the entries of a page (chunk
// id; Zarr: position in the innermost index, in C order).
struct ShardSlot {
  std::uint64_t shard = 0;
  std::uint64_t page = 0;
  std::uint64_t slot = 0;
  friend bool operator==(const ShardSlot&, const ShardSlot&) = default;
};

// Stands in place of a range that cannot be: an entry that reaches beyond the object. Only the
// inner chunk of that entry is damaged, not its shard. No object has a byte there.
inline constexpr ByteRange kDamagedRange{~std::uint64_t{0}, 0};

// One row of an index page: the stored bytes of an inner chunk. The range is relative to the start
// of the shard object and lies within it, or is kDamagedRange.
struct IndexEntry {
  std::uint64_t slot = 0;
  ByteRange range;
  // True where the inner chunk is there, but cannot be read (kDataLoss on just that chunk).
  [[nodiscard]] bool damaged() const { return range == kDamagedRange; }
  friend bool operator==(const IndexEntry&, const IndexEntry&) = default;
};

// The decoded entries of one index page, checked against the object's size. Immutable; thread-safe.
class IndexPage {
 public:
  IndexPage() = default;
  // Takes entries in any order. Where a slot stands more than once the first one wins. `left_out`
  // rows of the stored page are no entries, because their slots belong to other pages.
  explicit IndexPage(std::vector<IndexEntry> entries, std::uint64_t left_out = 0);

  // The entry of `slot`, or nothing where the inner chunk is empty; kDamagedRange where the entry
  // is damaged. O(log n).
  [[nodiscard]] std::optional<ByteRange> Find(std::uint64_t slot) const;
  // The entries in ascending order of slot.
  [[nodiscard]] const std::vector<IndexEntry>& entries() const { return entries_; }
  // Rows of the stored page that no reader can find, since their slots belong to other pages. A
  // shard that is written from the entries alone would lose them.
  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }
  // The position in entries() of the first entry whose slot is `slot` or above.
  [[nodiscard]] std::size_t LowerBound(std::uint64_t slot) const;
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  std::vector<IndexEntry> entries_;
  std::uint64_t left_out_ = 0;
};

// A range of an object that the caller is asked to fetch: `size` bytes from `begin`, or, for a
// suffix, the last `size` bytes (an object that is shorter gives all it has).
struct RangeRequest {
  std::uint64_t begin = 0;
  std::uint64_t size = 0;
  bool suffix = false;

  static RangeRequest At(std::uint64_t begin, std::uint64_t size) { return {begin, size, false}; }
  static RangeRequest Suffix(std::uint64_t size) { return {0, size, true}; }
  friend bool operator==(const RangeRequest&, const RangeRequest&) = default;
};

// No opening range is larger: an index of 4096 rows of 16 bytes, and what checksums add to it.
inline constexpr std::uint64_t kMaxOpeningBytes = (std::uint64_t{64} << 10) + 1024;

// What a walk wants next: bytes, or nothing more because the page is there.
using IndexStep = std::variant<RangeRequest, IndexPage>;

// One walk from nothing to one index page. Used by one thread.
class IndexWalk {
 public:
  virtual ~IndexWalk() = default;
  // The first request. Never a page.
  virtual RangeRequest Start() = 0;
  // Takes the bytes that were asked for last and the size of the whole object, both of one
  // generation. `bytes` is shorter than asked for only where the object ends; that is kDataLoss.
  // Every range in the resulting page lies within the object or is kDamagedRange.
  virtual Result<IndexStep> Feed(ByteSpan bytes, std::uint64_t object_size) = 0;
};

// One shard format with its parameters. Immutable; thread-safe.
class ShardFormat {
 public:
  virtual ~ShardFormat() = default;

  // A walk to page `page` of shard number `shard`. `max_index_bytes` bounds one page's index as
  // stored, without compression (Zarr: 16 bytes a slot); above it the walk: kResourceExhausted.
  [[nodiscard]] virtual std::unique_ptr<IndexWalk> Walk(std::uint64_t shard, std::uint64_t page,
                                                        std::uint64_t max_index_bytes) const = 0;

  // What to read of a shard when it is opened: its own index (of nested shards the outermost),
  // where all walks begin; as much of it as is useful within kMaxOpeningBytes, which may be
  // nothing. Of a wrapped shard its beginning, which may be all of it.
  [[nodiscard]] virtual RangeRequest opening_range() const = 0;

  // The number of index pages of a shard, 0 where it is 2^64.
  [[nodiscard]] virtual std::uint64_t page_count() const = 0;

  // True where stored bytes are plain bytes, so that DecodeEntry is the identity.
  [[nodiscard]] virtual bool stored_is_plain() const = 0;

  // Undoes what the shard format itself did to an entry (data_encoding). Fails with kDataLoss on
  // damage and kResourceExhausted where the result would exceed `max_bytes`.
  [[nodiscard]] virtual Result<Bytes> DecodeEntry(Bytes stored, std::uint64_t max_bytes) const = 0;

  // True where the whole stored object must first be decoded by DecodeShard (bytes-to-bytes
  // compression after sharding); all ranges then refer to the decoded object.
  [[nodiscard]] virtual bool is_wrapped() const { return false; }
  [[nodiscard]] virtual Result<Bytes> DecodeShard(Bytes stored, std::uint64_t max_bytes) const {
    (void)max_bytes;
    return stored;
  }

  // Whether shards can be written: succeeds, or fails with kNotSupported and names the codec or
  // parameter that is in the way. Known without any shard; ask before anything is accepted.
  [[nodiscard]] virtual Status CanWrite() const = 0;

  // The bytes of a shard that are index however few chunks it has (nested shards: of one at each
  // level). Zarr: an assembly encodes indexes whole, so that this much memory is needed.
  [[nodiscard]] virtual std::uint64_t fixed_index_bytes() const = 0;

  // Puts a whole shard together, in a layout that depends on nothing but the content. `chunks` come
  // in any order, each (page, slot) once, none of them kept. A shard without chunks is legal and
  // has an index of empty entries. For a wrapped shard this is its body, which EncodeShard encodes.
  [[nodiscard]] virtual std::unique_ptr<ShardAssembly> Assemble(
      std::uint64_t shard, std::vector<AssembledChunk> chunks) const = 0;

  // Makes a new version out of a byte copy of the old one, whose size is `base_size`. `chunks` are
  // all chunks of the new version, in any order; those of pages that do not change may be left out.
  // `changed_pages` are the pages of which an entry is put, replaced or removed, each once.
  // A null pointer where the format cannot append and has to assemble anew: wrapped and nested
  // shards, checksums around a shard, an index at the start whose size is guessed, a base that is
  // shorter than its index.
  [[nodiscard]] virtual std::unique_ptr<ShardAssembly> Append(
      std::uint64_t shard, std::vector<AssembledChunk> chunks,
      std::vector<std::uint64_t> changed_pages, std::uint64_t base_size) const = 0;

  // The inverse of DecodeEntry; the same for the same bytes.
  [[nodiscard]] virtual Result<Bytes> EncodeEntry(Bytes plain) const = 0;

  // The inverse of DecodeShard: the identity where the shard is not wrapped. Fails with
  // kResourceExhausted where a result would exceed `max_bytes`.
  [[nodiscard]] virtual Result<Bytes> EncodeShard(Bytes body, std::uint64_t max_bytes) const = 0;
};

}  // namespace unshard
