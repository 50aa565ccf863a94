#include "codec/zarr3/sharding.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "codec/chain/codec_chain.h"
#include "codec/chain/definition.h"
#include "codec/chain/transpose.h"

namespace unshard {
namespace {

tl::unexpected<Error> ShardingNotSupported(const CodecSpec& codec, std::string_view why) {
  return Fail(ErrorCode::kNotSupported, codec.json_path, ": \"", codec.name, "\" ", why);
}

Result<BytesCodecPtr> KnownBytesCodec(const CodecSpec& codec, std::string_view unknown) {
  UNSHARD_ASSIGN_OR_RETURN(auto made, BindBytesToBytes(codec));
  if (!made) return ShardingNotSupported(codec, unknown);
  return made;
}

// Binds the chain of the index of a level with so many dimensions.
Result<ChunkCodecPtr> BindIndexCodecs(const ChainSpec& chain, const std::string& path,
                                      std::size_t rank) {
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
  return CodecChain::Bind(chain, path, {kUint64, rank + 1});
}

Result<bool> IndexIsAtStart(const JsonCursor& configuration) {
  UNSHARD_ASSIGN_OR_RETURN(const auto locations, configuration.OptionalMember("index_location"));
  if (locations.empty()) return false;
  UNSHARD_ASSIGN_OR_RETURN(const std::string location, locations.front().String());
  if (location != "start" && location != "end") {
    return locations.front().Expected("\"start\" or \"end\"");
  }
  return location == "start";
}

// Resolves one level after the other, from the outermost. axes_ are the array axes of the current
// dimensions, result_.chunk_shape is the shape that the next level divides.
class Resolver {
 public:
  Resolver(const std::vector<std::uint64_t>& shard_shape, std::optional<FillItem> fill_value)
      : axes_(IdentityOrder(shard_shape.size())), fill_(std::move(fill_value)) {
    result_.chunk_shape = shard_shape;
  }

  Result<ZarrSharding> Resolve(ChainSpec chain) {
    for (auto sharding = FindSharding(chain); sharding; sharding = FindSharding(chain)) {
      for (std::size_t i = 0; i < *sharding; ++i) {
        UNSHARD_RETURN_IF_ERROR(TakeArrayCodec(chain[i]));
      }
      UNSHARD_RETURN_IF_ERROR(TakeSharding(chain[*sharding]));
      UNSHARD_RETURN_IF_ERROR(TakeTail(chain, *sharding + 1));
      UNSHARD_ASSIGN_OR_RETURN(ChainSpec inner, InnerCodecs(chain[*sharding]));
      chain = std::move(inner);
    }
    for (CodecSpec& codec : chain) result_.flattened.push_back(std::move(codec));
    return std::move(result_);
  }

 private:
  static Result<JsonCursor> ConfigurationOf(const CodecSpec& codec) {
    return JsonCursor(codec.json, codec.json_path).Member("configuration");
  }

  static Result<ChainSpec> InnerCodecs(const CodecSpec& codec) {
    const ChainSpec* const chain = codec.FindChain(kInnerCodecs);
    if (chain != nullptr && !chain->empty()) return *chain;
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor configuration, ConfigurationOf(codec));
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor codecs, configuration.Member(kInnerCodecs));
    return codecs.Expected("at least one codec");
  }

  Status TakeArrayCodec(const CodecSpec& codec) {
    if (codec.name == "transpose") {
      UNSHARD_ASSIGN_OR_RETURN(const auto order, TransposeOrder(codec, axes_.size()));
      axes_ = Transposed(axes_, order);
    } else if (!IsElementwise(codec.name)) {
      return ShardingNotSupported(
          codec,
          "cannot precede sharding_indexed: it is not known to work inner chunk by inner chunk");
    } else {
      UNSHARD_RETURN_IF_ERROR(EncodeFill(codec));
    }
    result_.flattened.push_back(codec);
    return {};
  }

  // Takes the fill value through an elementwise codec. Conversions and rounding keep a 0.
  Status EncodeFill(const CodecSpec& codec) {
    constexpr std::string_view kChanges =
        "may change the fill value of absent inner chunks: choose a fill value that is read back "
        "bit by bit";
    if (!fill_) {
      if (codec.definition == nullptr) return {};
      return ShardingNotSupported(codec, kChanges);
    }
    const bool is_zero = std::all_of(fill_->item.begin(), fill_->item.end(),
                                     [](std::uint8_t byte) { return byte == 0; });
    const bool shifts = codec.name == "scale_offset" || codec.name == "numcodecs.fixedscaleoffset";
    const auto bound = BindArrayToArray(codec, {fill_->type, axes_.size(), fill_is_big_endian_});
    std::optional<ByteVector> item;
    if (is_zero && !shifts) {
      if (!bound || !*bound) return {};
      item.emplace((*bound)->encoded().type.size, std::uint8_t{0});
    } else {
      if (!bound) return tl::unexpected<Error>(bound.error());
      if (*bound) item = EncodeFillValue(**bound, fill_->type, fill_->item);
      if (*bound && !item) return ShardingNotSupported(codec, kChanges);
    }
    if (!item) {
      fill_.reset();
      return {};
    }
    fill_ = FillItem{(*bound)->encoded().type, *std::move(item)};
    fill_is_big_endian_ = (*bound)->encoded().big_endian;
    return {};
  }

  // Divides the current shape by the level's chunk shape, which is in the level's dimensions.
  Status DivideShape(const JsonCursor& chunk_shape, ZarrShardLevel& level) {
    UNSHARD_ASSIGN_OR_RETURN(const auto items, chunk_shape.Items());
    if (items.size() != axes_.size()) {
      return chunk_shape.Expected(std::to_string(axes_.size()) + " extents");
    }
    for (std::size_t d = 0; d < items.size(); ++d) {
      UNSHARD_ASSIGN_OR_RETURN(const std::uint64_t inner, items[d].Unsigned(1, ~std::uint64_t{0}));
      std::uint64_t& extent = result_.chunk_shape[axes_[d]];
      if (extent % inner != 0) {
        return Fail(ErrorCode::kNotSupported, items[d].path(),
                    ": expected a divisor of the shard's extent ", extent, ", found ", inner);
      }
      level.grid_shape.push_back(extent / inner);
      const auto count = CheckedMultiply(level.chunk_count, extent / inner);
      if (!count || *count > kMaxZarrIndexEntries) {
        return Fail(ErrorCode::kNotSupported, chunk_shape.path(),
                    ": expected at most 2^30 inner chunks in a shard, found more");
      }
      level.chunk_count = *count;
      extent = inner;
    }
    return {};
  }

  Status TakeSharding(const CodecSpec& codec) {
    ZarrShardLevel level;
    level.axes = axes_;
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor configuration, ConfigurationOf(codec));
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor chunk_shape, configuration.Member("chunk_shape"));
    UNSHARD_RETURN_IF_ERROR(DivideShape(chunk_shape, level));
    level.chunk_shape = result_.chunk_shape;
    UNSHARD_ASSIGN_OR_RETURN(level.index_at_start, IndexIsAtStart(configuration));
    const ChainSpec* const index_codecs = codec.FindChain(kIndexCodecs);
    if (index_codecs == nullptr) {
      level.index_chain = NewZarrIndexChain(axes_.size());
      level.guess_checksum = true;
    } else {
      UNSHARD_ASSIGN_OR_RETURN(
          level.index_chain,
          BindIndexCodecs(*index_codecs, MemberPath(configuration.path(), kIndexCodecs),
                          axes_.size()));
    }
    result_.levels.push_back(std::move(level));
    return {};
  }

  // Takes the bytes-to-bytes codecs after the current sharding codec.
  Status TakeTail(const ChainSpec& chain, std::size_t begin) {
    ZarrShardLevel& level = result_.levels.back();
    const bool outermost = result_.levels.size() == 1;
    std::vector<BytesCodecPtr> codecs;
    bool fixed = true;
    for (std::size_t i = begin; i < chain.size(); ++i) {
      UNSHARD_ASSIGN_OR_RETURN(
          auto codec, KnownBytesCodec(chain[i], "after sharding_indexed is not supported"));
      if (!codec->fixed_overhead()) {
        if (!outermost) {
          return ShardingNotSupported(chain[i],
                                      "after a nested sharding_indexed makes the index unreadable");
        }
        fixed = false;
      }
      codecs.push_back(std::move(codec));
    }
    if (!fixed) {
      result_.outer_codecs = std::move(codecs);
      return {};
    }
    level.outer = std::move(codecs);
    return {};
  }

  std::vector<std::size_t> axes_;
  std::optional<FillItem> fill_;     // as the codecs so far store it
  bool fill_is_big_endian_ = false;  // for filters of numcodecs
  ZarrSharding result_;
};

}  // namespace

JsonValue ShardingCodecJson(JsonValue chunk_shape, JsonValue codecs) {
  JsonValue bytes =
      ExtensionJson("bytes", JsonValue::Object({{"endian", JsonValue::String("little")}}));
  JsonValue index_codecs = JsonValue::Array({std::move(bytes), ExtensionJson("crc32c")});
  return ExtensionJson("sharding_indexed",
                       JsonValue::Object({{"chunk_shape", std::move(chunk_shape)},
                                          {"codecs", std::move(codecs)},
                                          {"index_codecs", std::move(index_codecs)}}));
}

Result<ZarrSharding> ResolveSharding(const ChainSpec& chain,
                                     const std::vector<std::uint64_t>& shard_shape,
                                     const std::optional<FillItem>& fill_value) {
  return Resolver(shard_shape, fill_value).Resolve(chain);
}

}  // namespace unshard
