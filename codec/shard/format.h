// The interface of shard formats: locating the entry of an inner chunk, walking the index,
// assembling new versions of a shard. Sans-I/O: a walk names the next byte range that it needs, the
// caller fetches it; an assembly names the next bytes, the caller writes them.
//
// Implementations: codec/precomputed/shard.h (neuroglancer_uint64_sharded_v1), codec/zarr3/shard.h
// (sharding_indexed, nested to any depth), and codec/shard/single_chunk.h (unsharded chunk files).
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

// The position of the entry of one inner chunk. `page` is the number of an index page of the shard
// (precomputed: the minishard; Zarr: the position of the nested shard, 0 without nesting), `slot`
// that of an entry of the page (the chunk id; Zarr: the position in the innermost index, in C
// order).
struct ShardSlot {
  std::uint64_t shard = 0;
  std::uint64_t page = 0;
  std::uint64_t slot = 0;
  friend bool operator==(const ShardSlot&, const ShardSlot&) = default;
};

// The range of a damaged entry, which reaches beyond its shard, or into the index of a Zarr shard.
// Only the inner chunk of that entry is damaged, not its shard.
inline constexpr ByteRange kDamagedRange{~std::uint64_t{0}, 0};

// One row of an index page: the stored bytes of an inner chunk. The range is relative to the start
// of the shard object and lies within it, or is kDamagedRange.
struct IndexEntry {
  std::uint64_t slot = 0;
  ByteRange range;
  // True where the inner chunk exists and cannot be read (kDataLoss on just that chunk).
  [[nodiscard]] bool damaged() const { return range == kDamagedRange; }
  friend bool operator==(const IndexEntry&, const IndexEntry&) = default;
};

// The decoded entries of one index page, checked against the object's size. Immutable; thread-safe.
class IndexPage {
 public:
  IndexPage() = default;
  // Takes entries in any order. The first entry of a slot wins. `left_out` rows of the stored page
  // have no entry, because their slots belong to other pages.
  explicit IndexPage(std::vector<IndexEntry> entries, std::uint64_t left_out = 0);

  // The entry of `slot`, or nothing where the inner chunk is empty; kDamagedRange where the entry
  // is damaged. O(log n).
  [[nodiscard]] std::optional<ByteRange> Find(std::uint64_t slot) const;
  // The entries in ascending order of slot.
  [[nodiscard]] const std::vector<IndexEntry>& entries() const { return entries_; }
  // Rows of the stored page that no reader can find, because their slots belong to other pages. A
  // shard that is assembled from the entries alone loses them.
  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }
  // The position in entries() of the first entry whose slot is `slot` or above.
  [[nodiscard]] std::size_t LowerBound(std::uint64_t slot) const;
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  std::vector<IndexEntry> entries_;
  std::uint64_t left_out_ = 0;
};

// A range of an object that the caller has to fetch: `size` bytes from `begin`, or, for a suffix,
// the last `size` bytes (all bytes of a shorter object).
struct RangeRequest {
  std::uint64_t begin = 0;
  std::uint64_t size = 0;
  bool suffix = false;

  static RangeRequest At(std::uint64_t begin, std::uint64_t size) { return {begin, size, false}; }
  static RangeRequest Suffix(std::uint64_t size) { return {0, size, true}; }
  friend bool operator==(const RangeRequest&, const RangeRequest&) = default;
};

// The largest opening range where a walk needs only a part of the index: 4096 entries of 16 bytes
// and checksums. Where every walk needs the whole index (Zarr) the opening range may be longer.
inline constexpr std::uint64_t kMaxOpeningBytes = (std::uint64_t{64} << 10) + 1024;

// The next step of a walk: a range to fetch, or the page, which ends it.
using IndexStep = std::variant<RangeRequest, IndexPage>;

// One walk to one index page. Used by one thread.
class IndexWalk {
 public:
  virtual ~IndexWalk() = default;
  // The first request. Never a page.
  virtual RangeRequest Start() = 0;
  // Takes the bytes of the last request and the size of the whole object, both of one generation.
  // Fails with kDataLoss on a damaged index, and where the object ends before the requested range.
  // Every range in the resulting page lies within the object or is kDamagedRange.
  virtual Result<IndexStep> Feed(ByteSpan bytes, std::uint64_t object_size) = 0;
};

// One shard format with its parameters. Immutable; thread-safe.
class ShardFormat {
 public:
  virtual ~ShardFormat() = default;

  // A walk to page `page` of shard number `shard`. It fails with kResourceExhausted where the index
  // of the page, before compression, exceeds `max_index_bytes` (Zarr: 16 bytes a slot).
  [[nodiscard]] virtual std::unique_ptr<IndexWalk> Walk(std::uint64_t shard, std::uint64_t page,
                                                        std::uint64_t max_index_bytes) const = 0;

  // The range to read when a shard is opened: its index (of nested shards the outermost one), with
  // which every walk begins, or a part of it, which may be empty where the index is long. Of a
  // shard with outer codecs its first bytes, which may be all of it.
  [[nodiscard]] virtual RangeRequest opening_range() const = 0;

  // The size of all index pages together where they are the end of the object, one after the other
  // without gaps, as some writers put them. 0 where they are not, or where `opening`, the bytes of
  // the opening range, does not show it.
  [[nodiscard]] virtual std::uint64_t TrailingPageBytes(ByteSpan opening,
                                                        std::uint64_t object_size) const {
    (void)opening, (void)object_size;
    return 0;
  }

  // The number of index pages of a shard; 0 means 2^64.
  [[nodiscard]] virtual std::uint64_t page_count() const = 0;

  // True where stored bytes are plain bytes, so that DecodeEntry is the identity.
  [[nodiscard]] virtual bool stored_is_plain() const = 0;

  // Decodes an entry by the encoding of the shard format itself (data_encoding). Fails with
  // kDataLoss on damage and kResourceExhausted where the result would exceed `max_bytes`.
  [[nodiscard]] virtual Result<Bytes> DecodeEntry(Bytes stored, std::uint64_t max_bytes) const = 0;

  // Whether the shard as a whole is encoded by outer codecs: compressors after sharding_indexed.
  // The caller then first decodes the whole stored object by DecodeShard, and all ranges refer to
  // the decoded object. (Checksums after sharding_indexed are skipped by the walk instead.)
  [[nodiscard]] virtual bool has_outer_codecs() const { return false; }
  [[nodiscard]] virtual Result<Bytes> DecodeShard(Bytes stored, std::uint64_t max_bytes) const {
    (void)max_bytes;
    return stored;
  }

  // Whether shards can be written; else kNotSupported, naming the codec or parameter that prevents
  // it. Depends on the metadata alone, so that a chunk can be refused before it is accepted.
  [[nodiscard]] virtual Status CanWrite() const = 0;

  // The size of the shard index, which does not depend on the number of chunks (nested shards: of
  // one index at each level). An assembly of a Zarr shard needs this much memory.
  [[nodiscard]] virtual std::uint64_t fixed_index_bytes() const = 0;

  // Assembles a whole shard, in a layout that depends only on the content. `chunks` are in any
  // order, each (page, slot) once, none of them kept. A shard without chunks is legal and has an
  // index of empty entries. With outer codecs the result is the input of EncodeShard.
  [[nodiscard]] virtual std::unique_ptr<ShardAssembly> Assemble(
      std::uint64_t shard, std::vector<AssembledChunk> chunks) const = 0;

  // Extends a copy of the base, which has `base_size` bytes, to a new version. `chunks` are all
  // chunks of the new version, in any order; those of pages that do not change may be omitted.
  // `changed_pages` are the pages in which an entry is added, replaced or removed, each once.
  // A null pointer where only Assemble is possible: outer codecs, checksums of the whole shard,
  // nested shards, an index at the start of unknown size, a base that is shorter than its index.
  [[nodiscard]] virtual std::unique_ptr<ShardAssembly> Append(
      std::uint64_t shard, std::vector<AssembledChunk> chunks,
      std::vector<std::uint64_t> changed_pages, std::uint64_t base_size) const = 0;

  // The inverse of DecodeEntry; the same for the same bytes.
  [[nodiscard]] virtual Result<Bytes> EncodeEntry(Bytes plain) const = 0;

  // The inverse of DecodeShard: the identity without outer codecs. Fails with kResourceExhausted
  // where a result would exceed `max_bytes`.
  [[nodiscard]] virtual Result<Bytes> EncodeShard(Bytes body, std::uint64_t max_bytes) const = 0;
};

}  // namespace unshard
