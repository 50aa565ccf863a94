#include "codec/precomputed/shard.h"

#include <algorithm>
#include <array>
#include <utility>

#include "codec/codecs/gzip.h"
#include "codec/core/lower_case.h"
#include "codec/core/text.h"
#include "codec/precomputed/assembly.h"
#include "codec/precomputed/murmurhash3.h"

namespace unshard {
namespace {

constexpr std::uint64_t kShardIndexEntrySize = 16;  // start, end
constexpr std::uint64_t kMinishardRowSize = 24;     // id, start, size
constexpr std::string_view kShardSuffix = ".shard";
constexpr std::string_view kObsoleteIndexSuffix = ".index";
constexpr std::string_view kObsoleteDataSuffix = ".data";

// value >> bits and value mod 2^bits, for 0..64 bits.
std::uint64_t ShiftRight(std::uint64_t value, unsigned bits) {
  return bits < 64 ? value >> bits : 0;
}
std::uint64_t LowBits(std::uint64_t value, unsigned bits) {
  return bits < 64 ? value & ((std::uint64_t{1} << bits) - 1) : value;
}

// The enumerator with this name, in any case.
template <class T, std::size_t N>
Result<T> ParseEnumerator(const JsonCursor& cursor,
                          const std::array<std::pair<std::string_view, T>, N>& names) {
  UNSHARD_ASSIGN_OR_RETURN(const std::string text, cursor.String());
  std::string expected;
  for (const auto& [name, value] : names) {
    if (LowerCase(text) == name) return value;
    expected += (expected.empty() ? "\"" : " or \"") + std::string(name) + "\"";
  }
  return cursor.Expected(expected);
}

constexpr std::string_view kShardingType = "neuroglancer_uint64_sharded_v1";
constexpr std::array<std::pair<std::string_view, ShardEncoding>, 2> kEncodings{
    {{"raw", ShardEncoding::kRaw}, {"gzip", ShardEncoding::kGzip}}};
constexpr std::array<std::pair<std::string_view, ChunkIdHash>, 2> kHashes{
    {{"identity", ChunkIdHash::kIdentity},
     {"murmurhash3_x86_128", ChunkIdHash::kMurmurHash3X86_128}}};

// The inverse.
template <class T, std::size_t N>
std::string_view NameOf(T value, const std::array<std::pair<std::string_view, T>, N>& names) {
  return std::ranges::find(names, value, &std::pair<std::string_view, T>::second)->first;
}

Result<ShardEncoding> ParseEncoding(const JsonCursor& sharding, std::string_view key) {
  UNSHARD_ASSIGN_OR_RETURN(const auto member, sharding.OptionalMember(key));
  if (!member) return ShardEncoding::kRaw;
  return ParseEnumerator(*member, kEncodings);
}

Result<ChunkIdHash> ParseHash(const JsonCursor& sharding) {
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor hash, sharding.Member("hash"));
  return ParseEnumerator(hash, kHashes);
}

Result<unsigned> ParseBits(const JsonCursor& sharding, std::string_view key, unsigned max) {
  UNSHARD_ASSIGN_OR_RETURN(const std::uint64_t bits, sharding.UnsignedMember(key, 0, max));
  return static_cast<unsigned>(bits);
}

std::string ShardNumberHex(const ShardingSpec& spec, std::uint64_t shard) {
  return HexText(shard, std::max(1U, (spec.shard_bits + 3) / 4));
}

// The shard number in "<hex><suffix>", with exactly the digits of ShardNumberHex.
std::optional<std::uint64_t> ParseHexName(const ShardingSpec& spec, std::string_view name,
                                          std::string_view suffix) {
  if (!name.ends_with(suffix)) return std::nullopt;
  name.remove_suffix(suffix.size());
  const auto shard = ParseNumber<std::uint64_t>(name, 16);
  if (!shard || LowBits(*shard, spec.shard_bits) != *shard) return std::nullopt;
  return ShardNumberHex(spec, *shard) == name ? shard : std::nullopt;
}

tl::unexpected<Error> FailIndex(const std::string& what) {
  return Fail(ErrorCode::kDataLoss, what);
}

// Shard index entry, then minishard index.
class MinishardWalk : public IndexWalk {
 public:
  MinishardWalk(const ShardingSpec& spec, std::uint64_t shard, std::uint64_t minishard,
                std::uint64_t max_index_bytes)
      : spec_(spec), shard_(shard), minishard_(minishard), max_index_bytes_(max_index_bytes) {}

  RangeRequest Start() override {
    // Where no object can have an index of that size, Feed fails: any range will do.
    const std::uint64_t position = ShardIndexSize(spec_) ? minishard_ * kShardIndexEntrySize : 0;
    return RangeRequest::At(position, kShardIndexEntrySize);
  }

  Result<IndexStep> Feed(ByteSpan bytes, std::uint64_t object_size) override {
    if (object_size == 0) return IndexPage();
    return minishard_index_ ? FeedMinishardIndex(bytes, object_size)
                            : FeedShardIndexEntry(bytes, object_size);
  }

 private:
  [[nodiscard]] std::string Name() const { return "minishard " + std::to_string(minishard_); }

  Result<IndexStep> FeedShardIndexEntry(ByteSpan bytes, std::uint64_t object_size) {
    const auto index_size = ShardIndexSize(spec_);
    if (!index_size || object_size < *index_size || minishard_ >> spec_.minishard_bits != 0) {
      return FailIndex("shard index: no room for the entry of " + Name() + " of 2^" +
                       std::to_string(spec_.minishard_bits) + " in an object of " +
                       std::to_string(object_size) + " bytes");
    }
    if (bytes.size() != kShardIndexEntrySize) {
      return FailIndex("shard index entry of " + Name() + ": expected 16 bytes, found " +
                       std::to_string(bytes.size()));
    }
    const std::uint64_t start = LoadU64Le(bytes.data());
    const std::uint64_t end = LoadU64Le(bytes.data() + 8);
    if (start == end) return IndexPage();
    const auto begin = CheckedAdd(*index_size, start);
    const auto range =
        begin && start < end ? MakeByteRange(*begin, end - start, object_size) : std::nullopt;
    if (!range) {
      return FailIndex("shard index entry of " + Name() +
                       ": expected a range within the object, found " + std::to_string(start) +
                       " to " + std::to_string(end));
    }
    UNSHARD_RETURN_IF_ERROR(CheckStoredSize(range->size));
    minishard_index_ = range;
    return RangeRequest::At(range->begin, range->size);
  }

  // Fails before the index is fetched where it exceeds the limit once it is decoded.
  [[nodiscard]] Status CheckStoredSize(std::uint64_t stored_size) const {
    constexpr std::uint64_t kHeader = 1024;  // of a gzip member with a name and a comment
    const bool gzip = spec_.minishard_index_encoding == ShardEncoding::kGzip;
    const std::uint64_t overhead =
        gzip ? MaxGzipSize(max_index_bytes_) - max_index_bytes_ + kHeader : 0;
    if (stored_size <= max_index_bytes_ || stored_size - max_index_bytes_ <= overhead) return {};
    return Fail(ErrorCode::kResourceExhausted, "index of ", Name(), ": expected at most ",
                max_index_bytes_, " bytes, found ", stored_size);
  }

  Result<IndexStep> FeedMinishardIndex(ByteSpan bytes, std::uint64_t object_size) {
    if (bytes.size() != minishard_index_->size) {
      return FailIndex("index of " + Name() + ": expected " +
                       std::to_string(minishard_index_->size) + " bytes, found " +
                       std::to_string(bytes.size()));
    }
    if (spec_.minishard_index_encoding == ShardEncoding::kRaw)
      return DecodePage(bytes, object_size);
    auto plain = GzipDecode(bytes, max_index_bytes_);
    if (!plain) return Forward(std::move(plain).error(), "index of " + Name());
    return DecodePage(*plain, object_size);
  }

  Result<IndexStep> DecodePage(ByteSpan rows, std::uint64_t object_size) const {
    if (rows.size() % kMinishardRowSize != 0) {
      return FailIndex("index of " + Name() + ": expected a multiple of 24 bytes, found " +
                       std::to_string(rows.size()));
    }
    const std::size_t count = rows.size() / kMinishardRowSize;
    const std::uint8_t* const ids = rows.data();
    const std::uint8_t* const starts = ids + 8 * count;
    const std::uint8_t* const sizes = starts + 8 * count;
    std::vector<IndexEntry> entries;
    entries.reserve(count);
    std::uint64_t id = 0;
    std::uint64_t start = 0;  // both are sums modulo 2^64: a negative difference is a huge one
    for (std::size_t i = 0; i < count; ++i) {
      id += LoadU64Le(ids + 8 * i);
      start += LoadU64Le(starts + 8 * i);
      const std::uint64_t size = LoadU64Le(sizes + 8 * i);
      const auto begin = CheckedAdd(*ShardIndexSize(spec_), start);
      const auto range = begin ? MakeByteRange(*begin, size, object_size) : std::nullopt;
      start += size;
      if (LocateChunkId(spec_, id) == ShardSlot{shard_, minishard_, id}) {
        entries.push_back({id, range.value_or(kDamagedRange)});
      }
    }
    const std::uint64_t left_out = count - entries.size();
    return IndexPage(std::move(entries), left_out);
  }

  ShardingSpec spec_;
  std::uint64_t shard_;
  std::uint64_t minishard_;
  std::uint64_t max_index_bytes_;
  std::optional<ByteRange> minishard_index_;  // once the shard index entry is read
};

class NeuroglancerShardFormat : public ShardFormat {
 public:
  explicit NeuroglancerShardFormat(const ShardingSpec& spec) : spec_(spec) {}

  [[nodiscard]] std::unique_ptr<IndexWalk> Walk(std::uint64_t shard, std::uint64_t page,
                                                std::uint64_t max_index_bytes) const override {
    return std::make_unique<MinishardWalk>(spec_, shard, page, max_index_bytes);
  }

  [[nodiscard]] RangeRequest opening_range() const override {
    return RangeRequest::At(0, std::min(fixed_index_bytes(), kMaxOpeningBytes));
  }

  [[nodiscard]] std::uint64_t TrailingPageBytes(ByteSpan opening,
                                                std::uint64_t object_size) const override {
    const std::uint64_t index_size = fixed_index_bytes();
    if (opening.size() != index_size) return 0;
    std::uint64_t begin = object_size;
    std::uint64_t end = 0;
    std::uint64_t bytes = 0;  // modulo 2^64
    for (std::size_t at = 0; at < opening.size(); at += kShardIndexEntrySize) {
      const std::uint64_t from = LoadU64Le(opening.data() + at);
      const std::uint64_t to = LoadU64Le(opening.data() + at + 8);
      if (from == to) continue;
      if (from > to || to > object_size - std::min(object_size, index_size)) return 0;
      begin = std::min(begin, index_size + from);
      end = std::max(end, index_size + to);
      bytes += to - from;
    }
    return end == object_size && bytes == end - begin ? bytes : 0;
  }

  [[nodiscard]] std::uint64_t page_count() const override {
    return spec_.minishard_bits < 64 ? std::uint64_t{1} << spec_.minishard_bits : 0;
  }

  [[nodiscard]] bool stored_is_plain() const override {
    return spec_.data_encoding == ShardEncoding::kRaw;
  }

  [[nodiscard]] Result<Bytes> DecodeEntry(Bytes stored, std::uint64_t max_bytes) const override {
    if (stored_is_plain() && stored.size() > max_bytes) {
      return Fail(ErrorCode::kResourceExhausted, "chunk: expected at most ", max_bytes,
                  " bytes, found ", stored.size());
    }
    // An entry of length 0 is an empty chunk in either encoding.
    if (stored_is_plain() || stored.empty()) return stored;
    const ByteSpan bytes = stored.span();
    const auto trailer = bytes.last(std::min<std::size_t>(4, bytes.size()));
    const auto expected = PlausibleGzipSize(trailer, bytes.size());
    UNSHARD_ASSIGN_OR_RETURN(ByteVector plain, GzipDecode(bytes, max_bytes, expected.value_or(0)));
    return Bytes(std::move(plain));
  }

  [[nodiscard]] Status CanWrite() const override {
    if (ShardIndexSize(spec_)) return {};
    return Fail(ErrorCode::kNotSupported, "minishard_bits: ", spec_.minishard_bits,
                " is too many: no file can hold such a shard index");
  }

  [[nodiscard]] std::uint64_t fixed_index_bytes() const override {
    return ShardIndexSize(spec_).value_or(~std::uint64_t{0});
  }

  [[nodiscard]] std::unique_ptr<ShardAssembly> Assemble(
      std::uint64_t shard, std::vector<AssembledChunk> chunks) const override {
    return ShardIndexSize(spec_) ? AssembleNeuroglancerShard(spec_, shard, chunks) : nullptr;
  }

  [[nodiscard]] std::unique_ptr<ShardAssembly> Append(std::uint64_t shard,
                                                      std::vector<AssembledChunk> chunks,
                                                      std::vector<std::uint64_t> changed_pages,
                                                      std::uint64_t base_size) const override {
    const auto index_size = ShardIndexSize(spec_);
    if (!index_size || base_size < *index_size) return nullptr;
    return AppendToNeuroglancerShard(spec_, shard, chunks, std::move(changed_pages), base_size);
  }

  [[nodiscard]] Result<Bytes> EncodeEntry(Bytes plain) const override {
    if (stored_is_plain()) return plain;
    return Bytes(GzipEncode(plain.span(), kShardGzipLevel));
  }

  [[nodiscard]] Result<Bytes> EncodeShard(Bytes body, std::uint64_t max_bytes) const override {
    if (body.size() <= max_bytes) return body;
    return Fail(ErrorCode::kResourceExhausted, "the shard takes more than ", max_bytes, " bytes");
  }

 private:
  ShardingSpec spec_;
};

}  // namespace

Result<ShardingSpec> ParseShardingSpec(const JsonCursor& sharding) {
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor type, sharding.Member("@type"));
  UNSHARD_ASSIGN_OR_RETURN(const std::string type_name, type.String());
  if (type_name != kShardingType) return type.Expected("\"" + std::string(kShardingType) + "\"");
  ShardingSpec spec;
  UNSHARD_ASSIGN_OR_RETURN(spec.preshift_bits, ParseBits(sharding, "preshift_bits", 64));
  UNSHARD_ASSIGN_OR_RETURN(spec.hash, ParseHash(sharding));
  UNSHARD_ASSIGN_OR_RETURN(spec.minishard_bits, ParseBits(sharding, "minishard_bits", 64));
  UNSHARD_ASSIGN_OR_RETURN(spec.shard_bits,
                           ParseBits(sharding, "shard_bits", 64 - spec.minishard_bits));
  UNSHARD_ASSIGN_OR_RETURN(spec.minishard_index_encoding,
                           ParseEncoding(sharding, "minishard_index_encoding"));
  UNSHARD_ASSIGN_OR_RETURN(spec.data_encoding, ParseEncoding(sharding, "data_encoding"));
  return spec;
}

std::string_view ShardEncodingName(ShardEncoding encoding) { return NameOf(encoding, kEncodings); }

JsonValue ShardingJson(const ShardingSpec& spec) {
  const auto text = [](std::string_view name) { return JsonValue::String(std::string(name)); };
  const auto bits = [](unsigned number) { return JsonValue::Number(std::uint64_t{number}); };
  return JsonValue::Object(
      {{"@type", text(kShardingType)},
       {"preshift_bits", bits(spec.preshift_bits)},
       {"hash", text(NameOf(spec.hash, kHashes))},
       {"minishard_bits", bits(spec.minishard_bits)},
       {"shard_bits", bits(spec.shard_bits)},
       {"minishard_index_encoding", text(ShardEncodingName(spec.minishard_index_encoding))},
       {"data_encoding", text(ShardEncodingName(spec.data_encoding))}});
}

ShardSlot LocateChunkId(const ShardingSpec& spec, std::uint64_t chunk_id) {
  const std::uint64_t shifted = ShiftRight(chunk_id, spec.preshift_bits);
  const std::uint64_t hashed =
      spec.hash == ChunkIdHash::kIdentity ? shifted : MurmurHash3X86_128Of64(shifted);
  return ShardSlot{LowBits(ShiftRight(hashed, spec.minishard_bits), spec.shard_bits),
                   LowBits(hashed, spec.minishard_bits), chunk_id};
}

// Without a hash an id is rest : shard : minishard : low bits, and its number is
// shard : minishard : rest : low bits.
StorageOrder::StorageOrder(const ShardingSpec& spec, unsigned id_bits, unsigned max_bits)
    : spec_(spec), id_bits_(id_bits) {
  const unsigned place_bits = spec.minishard_bits + spec.shard_bits;
  if (spec.hash != ChunkIdHash::kIdentity) {
    if (place_bits + id_bits <= std::min(max_bits, 63U)) kind_ = Kind::kShardAndIds;
  } else if (spec.preshift_bits + place_bits < id_bits && id_bits < 64) {
    kind_ = Kind::kMovedBits;  // else the number is the id
    rest_bits_ = id_bits - spec.preshift_bits - place_bits;
  }
}

std::uint64_t StorageOrder::NumberOf(std::uint64_t id) const {
  if (kind_ == Kind::kIds) return id;
  const ShardSlot slot = LocateChunkId(spec_, id);
  const std::uint64_t place = slot.shard << spec_.minishard_bits | slot.page;
  if (kind_ == Kind::kShardAndIds) return place << id_bits_ | id;
  const unsigned place_bits = spec_.minishard_bits + spec_.shard_bits;
  const std::uint64_t rest = id >> (spec_.preshift_bits + place_bits);
  return (place << rest_bits_ | rest) << spec_.preshift_bits | LowBits(id, spec_.preshift_bits);
}

std::uint64_t StorageOrder::IdAt(std::uint64_t number) const {
  if (kind_ == Kind::kIds) return number;
  if (kind_ == Kind::kShardAndIds) return LowBits(number, id_bits_);
  const unsigned place_bits = spec_.minishard_bits + spec_.shard_bits;
  const std::uint64_t rest = LowBits(number >> spec_.preshift_bits, rest_bits_);
  const std::uint64_t place = number >> (spec_.preshift_bits + rest_bits_);
  return (rest << place_bits | place) << spec_.preshift_bits | LowBits(number, spec_.preshift_bits);
}

std::string ShardFileName(const ShardingSpec& spec, std::uint64_t shard) {
  return ShardNumberHex(spec, shard) + std::string(kShardSuffix);
}

std::optional<std::uint64_t> ParseShardFileName(const ShardingSpec& spec, std::string_view name) {
  return ParseHexName(spec, name, kShardSuffix);
}

ShardKeys::Pair ObsoleteShardFileNames(const ShardingSpec& spec, std::uint64_t shard) {
  const std::string number = ShardNumberHex(spec, shard);
  return {number + std::string(kObsoleteIndexSuffix), number + std::string(kObsoleteDataSuffix)};
}

std::optional<std::uint64_t> ParseObsoleteShardFileName(const ShardingSpec& spec,
                                                        std::string_view name) {
  const auto shard = ParseHexName(spec, name, kObsoleteIndexSuffix);
  return shard ? shard : ParseHexName(spec, name, kObsoleteDataSuffix);
}

std::unique_ptr<ShardFormat> MakeNeuroglancerShardFormat(const ShardingSpec& spec) {
  return std::make_unique<NeuroglancerShardFormat>(spec);
}

}  // namespace unshard
