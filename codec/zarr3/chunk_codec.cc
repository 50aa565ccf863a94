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

JsonValue ConfigurationOf(const Codec& codec) {
  const JsonValue* const configuration = codec.configuration();
  return configuration != nullptr ? *configuration : JsonValue();
}

// Builds the chain one codec after the other.
class ChainBuilder {
 public:
  ChainBuilder(const DataType& type, std::size_t rank) : rank_(rank), items_(type) {
    chain_.type = type;
  }

  Status Take(const Codec& codec) {
    if (has_bytes_) return TakeBytesCodec(codec);
    if (codec.name == "bytes") return TakeBytes(codec);
    if (codec.name == "packbits") return TakePackBits(codec);
    if (codec.name == "transpose") {
      ArrayStep step;
      UNSHARD_ASSIGN_OR_RETURN(step.order, TransposeOrder(codec, rank_));
      chain_.array_steps.push_back(std::move(step));
      return {};
    }
    return TakeFilter(codec);
  }

  Result<ChunkCodecPtr> Finish(const JsonCursor& codecs) && {
    if (!has_bytes_) return codecs.Expected("a chain with the codec \"bytes\"");
    return MakeItemCodec(std::move(chain_));
  }

 private:
  Status TakeFilter(const Codec& codec) {
    constexpr std::string_view kPrefix = "numcodecs.";
    const bool is_known = codec.name.starts_with(kPrefix) || codec.name == "bitround";
    const std::string id =
        codec.name.starts_with(kPrefix) ? codec.name.substr(kPrefix.size()) : codec.name;
    std::optional<Filter> filter;
    if (is_known) {
      UNSHARD_ASSIGN_OR_RETURN(filter, MakeFilter(id, codec.name, codec.configuration(),
                                                  codec.configuration_path(), items_));
    }
    if (!filter) return NotSupported(codec, "is not known here: its voxels cannot be decoded");
    items_.reset();
    if (filter->item_size > 0) chain_.ordered_size = filter->item_size;
    chain_.is_lossy |= filter->is_lossy;
    ArrayStep step;
    step.filter = std::move(filter->codec);
    step.filter_configuration = ConfigurationOf(codec);
    chain_.array_steps.push_back(std::move(step));
    return {};
  }

  Status TakeBytes(const Codec& codec) {
    has_bytes_ = true;
    UNSHARD_ASSIGN_OR_RETURN(chain_.big_endian, IsBigEndian(codec));
    return {};
  }

  // After a filter the type of the items, and so the range of their bits, is not known here.
  Status TakePackBits(const Codec& codec) {
    if (!items_) return NotSupported(codec, "is not known here after filters");
    has_bytes_ = true;
    const CodecOptions options(codec.configuration(), codec.configuration_path());
    UNSHARD_ASSIGN_OR_RETURN(chain_.packing, BitPacking::Parse(*items_, options, codec.json_path));
    chain_.packing_configuration = ConfigurationOf(codec);
    chain_.is_lossy |= chain_.packing->is_lossy();
    return {};
  }

  Status TakeBytesCodec(const Codec& codec) {
    const JsonValue* configuration = codec.configuration();
    // `typesize` may be absent without a shuffle: TensorStore then encodes with the size of the
    // items.
    JsonValue sized;
    if (codec.name == "blosc" && items_ && chain_.bytes_steps.empty() && configuration != nullptr &&
        configuration->Find("typesize") == nullptr) {
      sized = *configuration;
      sized.Set("typesize", JsonValue::Number(std::uint64_t{items_->size}));
      configuration = &sized;
    }
    UNSHARD_ASSIGN_OR_RETURN(auto made,
                             MakeBytesCodec(codec.name, configuration, codec.configuration_path()));
    if (!made) return NotSupported(codec, "is not known here: its voxels cannot be decoded");
    chain_.bytes_steps.push_back({std::move(made), ConfigurationOf(codec)});
    return {};
  }

  const std::size_t rank_;
  std::optional<DataType> items_;  // after the codecs so far; nothing after a filter
  ItemChain chain_;
  bool has_bytes_ = false;
};

}  // namespace

Result<ChunkCodecPtr> MakeZarr3ChunkCodec(const JsonCursor& codecs, const DataType& type,
                                          std::size_t rank) {
  UNSHARD_ASSIGN_OR_RETURN(const CodecChain chain, ParseCodecChain(codecs, rank));
  if (chain.size() == 1 && chain[0].name == "n5_default") {
    return MakeN5DefaultCodec(chain[0], type, rank);
  }
  ChainBuilder builder(type, rank);
  for (const Codec& codec : chain) UNSHARD_RETURN_IF_ERROR(builder.Take(codec));
  return std::move(builder).Finish(codecs);
}

}  // namespace unshard
