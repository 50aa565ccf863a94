#include "codec/chain/unshard.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "codec/chain/transpose.h"
#include "codec/core/byte_range.h"
#include "codec/json/number.h"
#include "codec/types/fill_value.h"

namespace unshard {
namespace {

constexpr std::string_view kChunkShape = "chunk_shape";
constexpr std::uint64_t kMaxIndexEntries = std::uint64_t{1} << 30;
constexpr std::string_view kChangesFill =
    "may change the fill value of absent inner chunks: choose a fill value that is read back bit "
    "by bit, and stored as the same number";

tl::unexpected<Error> ShardingNotSupported(const CodecSpec& codec, std::string_view why) {
  return Fail(ErrorCode::kNotSupported, codec.json_path, ": \"", codec.name, "\" ", why);
}

Status CheckIndexCodecs(const ChainSpec& chain) {
  bool has_bytes = false;
  for (const CodecSpec& codec : chain) {
    if (has_bytes) {
      UNSHARD_ASSIGN_OR_RETURN(const auto bound, BindBytesToBytes(codec));
      if (bound && bound->fixed_overhead()) continue;
      return ShardingNotSupported(
          codec, "has no known fixed output size, so the shard index cannot be located");
    }
    has_bytes = codec.name == "bytes";
    if (has_bytes || codec.name == "transpose") continue;
    return ShardingNotSupported(
        codec, "is not supported before \"bytes\" in index_codecs; expected transpose");
  }
  return {};
}

std::optional<double> NumberIn(const Voxels& voxel) {
  return FiniteNumberOf(WriteZarr3FillValue(voxel.bytes(), voxel.type()));
}

// The fill value, one voxel, as the codec encodes it; nothing unless the codec gives it back bit by
// bit, and stores the same number where a reader may take absent chunks for either. Requires: a
// codec that encodes each item by itself.
std::optional<Voxels> EncodeFill(const ArrayToArrayCodec& codec, const Voxels& fill,
                                 const CodecDefinition& definition) {
  auto encoded = codec.Encode(fill);
  if (!encoded || codec.Decode(*encoded, fill.shape()) != fill) return std::nullopt;
  const bool keeps_number = definition.keeps_zero || definition.encodes_fill_value;
  if (!keeps_number && NumberIn(*encoded) != NumberIn(fill)) return std::nullopt;
  return *std::move(encoded);
}

// Takes one level after the other, from the outermost. axes_ are the array axes of the current
// dimensions, result_.chunk_shape is the shape that the next level divides.
class Unsharder {
 public:
  Unsharder(const ChunkGrid& shards, std::optional<Voxels> fill)
      : shards_(shards), axes_(IdentityOrder(shards.rank())), fill_(std::move(fill)) {
    result_.chunk_shape = shards.chunk_shape();
  }

  Result<Unsharded> Take(const ChainSpec& codecs) {
    const ChainSpec* chain = &codecs;
    for (auto sharding = FindSharding(*chain); sharding; sharding = FindSharding(*chain)) {
      for (std::size_t i = 0; i < *sharding; ++i) {
        UNSHARD_RETURN_IF_ERROR(TakeArrayCodec((*chain)[i]));
      }
      const CodecSpec& codec = (*chain)[*sharding];
      UNSHARD_RETURN_IF_ERROR(TakeSharding(codec));
      UNSHARD_RETURN_IF_ERROR(TakeOuterCodecs(*chain, *sharding + 1));
      UNSHARD_ASSIGN_OR_RETURN(const JsonCursor inner, codec.options().Member(kInnerCodecs));
      chain = codec.FindChain(kInnerCodecs);
      if (chain->empty()) return inner.Expected("at least one codec");
    }
    result_.codecs.insert(result_.codecs.end(), chain->begin(), chain->end());
    return std::move(result_);
  }

 private:
  // The items that reach the next codec. Where their type is not known, codecs that only move items
  // take any.
  [[nodiscard]] ArrayRepresentation Items() const {
    return {fill_ ? fill_->type() : kUint8, axes_.size(), fill_is_big_endian_};
  }

  Status TakeArrayCodec(const CodecSpec& codec) {
    const auto dependence =
        codec.definition != nullptr ? codec.definition->dependence : Dependence::kChunk;
    switch (dependence) {
      case Dependence::kChunk:
        return ShardingNotSupported(
            codec,
            "cannot precede sharding_indexed: it is not known to work inner chunk by inner chunk");
      case Dependence::kItem:
        UNSHARD_RETURN_IF_ERROR(TakeFill(codec));
        break;
      case Dependence::kMovedItem: {
        UNSHARD_ASSIGN_OR_RETURN(const auto bound, BindArrayToArray(codec, Items()));
        axes_ = Transposed(axes_, bound->order());
      }
    }
    result_.codecs.push_back(codec);
    return {};
  }

  // Encodes the fill value.
  Status TakeFill(const CodecSpec& codec) {
    if (!fill_) {
      if (!codec.definition->CanBind() || codec.definition->encodes_fill_value) return {};
      return ShardingNotSupported(codec, kChangesFill);
    }
    const ByteSpan item = fill_->bytes();
    const bool stays_zero =
        codec.definition->keeps_zero &&
        std::all_of(item.begin(), item.end(), [](auto byte) { return byte == 0; });
    const auto bound = BindArrayToArray(codec, Items());
    if (!bound && codec.definition->encodes_fill_value &&
        bound.error().code == ErrorCode::kNotSupported) {
      fill_.reset();
      return {};
    }
    if (!bound && !stays_zero) return tl::unexpected<Error>(bound.error());
    const bool is_bound = bound && *bound != nullptr;
    if (!is_bound && stays_zero) return {};
    if (!is_bound) {
      fill_.reset();
      return {};
    }
    const ArrayRepresentation& encoded = (*bound)->encoded();
    if (stays_zero) {
      UNSHARD_ASSIGN_OR_RETURN(
          fill_, Voxels::Filled(encoded.type, fill_->shape(), ByteVector(encoded.type.size)));
    } else {
      fill_ = EncodeFill(**bound, *fill_, *codec.definition);
      if (!fill_) return ShardingNotSupported(codec, kChangesFill);
    }
    fill_is_big_endian_ = encoded.big_endian;
    return {};
  }

  // Divides the current shape by the level's chunk shape, which is in the level's dimensions.
  Status DivideShape(const JsonCursor& chunk_shape, ShardLevel& level) {
    UNSHARD_ASSIGN_OR_RETURN(const auto items, chunk_shape.Items());
    if (items.size() != axes_.size()) {
      return chunk_shape.Expected(std::to_string(axes_.size()) + " extents");
    }
    for (std::size_t d = 0; d < items.size(); ++d) {
      UNSHARD_ASSIGN_OR_RETURN(const std::uint64_t inner, items[d].Unsigned(1, ~std::uint64_t{0}));
      std::uint64_t& extent = result_.chunk_shape[axes_[d]];
      std::optional<std::uint64_t> undivided;
      if (extent % inner != 0) undivided = extent;
      if (result_.levels.empty()) undivided = shards_.axis(axes_[d]).CellExtentNotDividedBy(inner);
      if (undivided) {
        return Fail(ErrorCode::kNotSupported, items[d].path(),
                    ": expected a divisor of the shard's extent ", *undivided, ", found ", inner);
      }
      level.grid_shape.push_back(extent / inner);
      const auto count = CheckedMultiply(level.chunk_count, extent / inner);
      if (!count || *count > kMaxIndexEntries) {
        return Fail(ErrorCode::kNotSupported, chunk_shape.path(),
                    ": expected at most 2^30 inner chunks in a shard, found more");
      }
      level.chunk_count = *count;
      extent = inner;
    }
    return {};
  }

  Status TakeSharding(const CodecSpec& codec) {
    ShardLevel level;
    level.axes = axes_;
    const CodecOptions options = codec.options();
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor chunk_shape, options.Member(kChunkShape));
    UNSHARD_RETURN_IF_ERROR(DivideShape(chunk_shape, level));
    level.chunk_shape = result_.chunk_shape;
    UNSHARD_ASSIGN_OR_RETURN(const std::size_t location, options.Word("index_location"));
    level.index_at_start = location == 0;
    if (const ChainSpec* const index_codecs = codec.FindChain(kIndexCodecs)) {
      UNSHARD_RETURN_IF_ERROR(CheckIndexCodecs(*index_codecs));
      UNSHARD_ASSIGN_OR_RETURN(
          level.index_chain,
          CodecChain::Bind(*index_codecs, MemberPath(options.path(), kIndexCodecs),
                           {kUint64, axes_.size() + 1}));
    } else {
      level.index_chain = NewIndexChain(axes_.size());
      level.guess_checksum = true;
    }
    result_.levels.push_back(std::move(level));
    return {};
  }

  // Takes the bytes-to-bytes codecs after the current sharding_indexed.
  Status TakeOuterCodecs(const ChainSpec& chain, std::size_t begin) {
    const bool is_outermost = result_.levels.size() == 1;
    std::vector<BytesCodecPtr> codecs;
    bool is_fixed = true;
    for (std::size_t i = begin; i < chain.size(); ++i) {
      UNSHARD_ASSIGN_OR_RETURN(auto codec, BindBytesToBytes(chain[i]));
      if (!codec) {
        return ShardingNotSupported(chain[i], "after sharding_indexed is not supported");
      }
      is_fixed &= codec->fixed_overhead().has_value();
      if (!is_fixed && !is_outermost) {
        return ShardingNotSupported(chain[i],
                                    "after a nested sharding_indexed makes the index unreadable");
      }
      codecs.push_back(std::move(codec));
    }
    (is_fixed ? result_.levels.back().outer : result_.outer_codecs) = std::move(codecs);
    return {};
  }

  const ChunkGrid& shards_;
  std::vector<std::size_t> axes_;
  std::optional<Voxels> fill_;       // as the codecs so far store it
  bool fill_is_big_endian_ = false;  // for filters of numcodecs
  Unsharded result_;
};

}  // namespace

std::uint64_t ShardLevel::leading_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& codec : outer) bytes += codec->leading_overhead();
  return bytes;
}

std::uint64_t ShardLevel::trailing_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& codec : outer) bytes += codec->fixed_overhead().value_or(0);
  return bytes - leading_bytes();
}

Result<Unsharded> Unshard(const ChainSpec& codecs, const ChunkGrid& shards,
                          std::optional<Voxels> fill) {
  return Unsharder(shards, std::move(fill)).Take(codecs);
}

ChainSpec NewIndexCodecs() {
  return {CodecOfZarr3("bytes", JsonValue::Object({{"endian", JsonValue::String("little")}})),
          CodecOfZarr3("crc32c")};
}

ChunkCodecPtr NewIndexChain(std::size_t rank) {
  return *CodecChain::Bind(NewIndexCodecs(), std::string(kIndexCodecs), {kUint64, rank + 1});
}

JsonValue ShardingCodecJson(JsonValue chunk_shape, JsonValue codecs) {
  return ExtensionJson(
      kShardingIndexed,
      JsonValue::Object({{std::string(kChunkShape), std::move(chunk_shape)},
                         {std::string(kInnerCodecs), std::move(codecs)},
                         {std::string(kIndexCodecs), CodecsJson(NewIndexCodecs())}}));
}

}  // namespace unshard
