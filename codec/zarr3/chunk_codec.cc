#include "codec/zarr3/chunk_codec.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "codec/compression/codec_chain.h"
#include "codec/voxel/filter.h"
#include "codec/voxel/item_codec.h"
#include "codec/zarr3/n5_default.h"

namespace unshard {
namespace {

tl::unexpected<Error> NotSupported(const Codec& codec, std::string_view why) {
  return Fail(ErrorCode::kNotSupported,
              codec.json_path + ": the codec \"" + codec.name + "\" " + std::string(why));
}

// A codec where arrays are encoded, before "bytes".
tl::unexpected<Error> NotAnArrayCodec(const Codec& codec) {
  const auto made = MakeBytesCodec(codec.name, codec.configuration(), codec.configuration_path());
  if (!made || *made) return NotSupported(codec, "encodes bytes, so it needs \"bytes\" before it");
  return NotSupported(codec, "is not supported, so voxels cannot be decoded");
}

JsonValue ConfigurationOf(const Codec& codec) {
  const JsonValue* const configuration = codec.configuration();
  return configuration != nullptr ? *configuration : JsonValue();
}

// Builds the chain one codec after the other.
class ChainBuilder {
 public:
  ChainBuilder(const DataType& type, std::size_t rank) : rank_(rank), items_{type} {
    chain_.type = type;
  }

  Status Take(const Codec& codec) {
    if (has_bytes_) return TakeBytesCodec(codec);
    if (codec.name == "bytes") return TakeBytes(codec);
    if (codec.name == "packbits") return TakePackBits(codec);
    if (codec.name == "transpose") {
      ArrayStep step;
      UNSHARD_ASSIGN_OR_RETURN(step.order, TransposeOrder(codec, rank_));
      if (packs_bits_)
        return NotSupported(codec,
                            "needs one item for each voxel, but the codec before it packs bits");
      chain_.array_steps.push_back(std::move(step));
      return {};
    }
    return TakeFilter(codec);
  }

  Result<ChunkCodecPtr> Finish(const std::string& path) && {
    if (has_bytes_) return MakeItemCodec(std::move(chain_));
    return Fail(ErrorCode::kDataLoss, path + ": expected a chain with the codec \"bytes\"");
  }

 private:
  Status TakeFilter(const Codec& codec) {
    UNSHARD_ASSIGN_OR_RETURN(auto filter, MakeZarr3Filter(codec, items_));
    if (!filter) return NotAnArrayCodec(codec);
    if (filter->plain && filter->plain->type.size != items_.type.size) {
      return NotSupported(codec, "takes items of " + DataTypeName(filter->plain->type) +
                                     ", but the codec before it produces items of " +
                                     std::to_string(items_.type.size) + " bytes");
    }
    if (packs_bits_ && filter->is_lossy)
      return NotSupported(codec, "is lossy and would change packed bits");
    if (filter->stored) items_ = *filter->stored;
    packs_bits_ |= filter->packs_bits;
    chain_.is_lossy |= filter->is_lossy;
    chain_.may_refuse_stored |= filter->may_refuse_stored;
    chain_.array_steps.push_back({{}, std::move(filter), ConfigurationOf(codec)});
    return {};
  }

  Status TakeBytes(const Codec& codec) {
    has_bytes_ = true;
    UNSHARD_ASSIGN_OR_RETURN(chain_.big_endian, IsBigEndian(codec));
    return {};
  }

  Status TakePackBits(const Codec& codec) {
    has_bytes_ = true;
    const CodecOptions options(codec.configuration(), codec.configuration_path());
    UNSHARD_ASSIGN_OR_RETURN(chain_.packing,
                             BitPacking::Parse(items_.type, options, codec.json_path));
    chain_.packing_configuration = ConfigurationOf(codec);
    chain_.is_lossy |= chain_.packing->is_lossy();
    return {};
  }

  Status TakeBytesCodec(const Codec& codec) {
    const JsonValue* configuration = codec.configuration();
    // `typesize` may be absent without a shuffle: TensorStore then encodes with the size of the
    // items.
    JsonValue sized;
    if (codec.name == "blosc" && chain_.bytes_steps.empty() && configuration != nullptr &&
        configuration->Find("typesize") == nullptr) {
      sized = *configuration;
      sized.Set("typesize", JsonValue::Number(std::uint64_t{items_.type.size}));
      configuration = &sized;
    }
    UNSHARD_ASSIGN_OR_RETURN(auto made,
                             MakeBytesCodec(codec.name, configuration, codec.configuration_path()));
    if (!made) return NotSupported(codec, "is not supported, so voxels cannot be decoded");
    chain_.bytes_steps.push_back({std::move(made), ConfigurationOf(codec)});
    return {};
  }

  const std::size_t rank_;
  NumpyType items_;  // after the codecs so far
  ItemChain chain_;
  bool packs_bits_ = false;
  bool has_bytes_ = false;
};

}  // namespace

Result<ChunkCodecPtr> MakeZarr3ChunkCodec(const JsonCursor& codecs, const DataType& type,
                                          std::size_t rank) {
  UNSHARD_ASSIGN_OR_RETURN(const CodecChain chain, ParseCodecChain(codecs, rank));
  return MakeZarr3ChunkCodec(chain, codecs.path(), type, rank);
}

Result<ChunkCodecPtr> MakeZarr3ChunkCodec(const CodecChain& chain, const std::string& path,
                                          const DataType& type, std::size_t rank) {
  if (chain.size() == 1 && chain[0].name == "n5_default") {
    return MakeN5DefaultCodec(chain[0], type, rank);
  }
  ChainBuilder builder(type, rank);
  for (const Codec& codec : chain) UNSHARD_RETURN_IF_ERROR(builder.Take(codec));
  return std::move(builder).Finish(path);
}

Result<std::optional<Filter>> MakeZarr3Filter(const Codec& codec,
                                              const std::optional<NumpyType>& items) {
  constexpr std::string_view kPrefix = "numcodecs.";
  const bool has_prefix = codec.name.starts_with(kPrefix);
  if (!has_prefix && codec.name != "bitround") return std::optional<Filter>();
  const std::string id = has_prefix ? codec.name.substr(kPrefix.size()) : codec.name;
  return MakeFilter(id, codec.name, codec.configuration(), codec.configuration_path(), items);
}

}  // namespace unshard
