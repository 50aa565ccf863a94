#include "codec/zarr3/chunk_codec.h"

#include <string>
#include <string_view>
#include <utility>

#include "codec/chain/codec_spec.h"
#include "codec/chain/definition.h"
#include "codec/codecs/transpose.h"
#include "codec/json/writer.h"
#include "codec/voxel/item_codec.h"
#include "codec/zarr3/n5_default.h"

namespace unshard {
namespace {

tl::unexpected<Error> NotSupported(const CodecSpec& codec, std::string_view why) {
  return Fail(ErrorCode::kNotSupported,
              codec.json_path + ": the codec \"" + codec.name + "\" " + std::string(why));
}

// A codec where arrays are encoded, before "bytes".
tl::unexpected<Error> NotAnArrayCodec(const CodecSpec& codec) {
  const auto made = MakeBytesCodec(codec.name, codec.configuration(), codec.configuration_path());
  if (!made || *made) return NotSupported(codec, "encodes bytes, so it needs \"bytes\" before it");
  return NotSupported(codec, "is not supported, so voxels cannot be decoded");
}

JsonValue ConfigurationOf(const CodecSpec& codec) {
  const JsonValue* const configuration = codec.configuration();
  return configuration != nullptr ? *configuration : JsonValue();
}

// Builds the chain one codec after the other.
class ChainBuilder {
 public:
  ChainBuilder(const DataType& type, std::size_t rank) { chain_.decoded = {type, rank}; }

  Status Take(const CodecSpec& codec) {
    if (has_bytes_) return TakeBytesCodec(codec);
    if (codec.name == "bytes") return TakeBytes(codec);
    if (codec.name == "packbits") return TakePackBits(codec);
    if (codec.name == "transpose") return TakeTranspose(codec);
    return TakeArrayCodec(codec);
  }

  Result<ChunkCodecPtr> Finish(const std::string& path) && {
    if (has_bytes_) return MakeItemCodec(std::move(chain_));
    return Fail(ErrorCode::kDataLoss, path + ": expected a chain with the codec \"bytes\"");
  }

 private:
  Status TakeTranspose(const CodecSpec& codec) {
    const ArrayRepresentation& items = chain_.encoded();
    UNSHARD_ASSIGN_OR_RETURN(auto order, TransposeOrder(codec, items.rank));
    chain_.array_steps.push_back({MakeTransposeCodec(std::move(order), items)});
    return {};
  }

  Status TakeArrayCodec(const CodecSpec& codec) {
    UNSHARD_ASSIGN_OR_RETURN(ArrayCodecPtr bound, BindArrayCodec(codec, chain_.encoded()));
    if (!bound) return NotAnArrayCodec(codec);
    if (needs_exact_items_ && !bound->is_lossless()) {
      return NotSupported(codec, "is lossy and would change packed bits");
    }
    needs_exact_items_ |= bound->needs_exact_items();
    std::string key = codec.name;
    const JsonValue* const configuration = codec.configuration();
    if (configuration != nullptr) key += " " + WriteJson(*configuration, 0);
    chain_.array_steps.push_back({std::move(bound), std::move(key)});
    return {};
  }

  Status TakeBytes(const CodecSpec& codec) {
    has_bytes_ = true;
    UNSHARD_ASSIGN_OR_RETURN(chain_.big_endian, IsBigEndian(codec));
    return {};
  }

  Status TakePackBits(const CodecSpec& codec) {
    has_bytes_ = true;
    const CodecOptions options(codec.configuration(), codec.configuration_path());
    UNSHARD_ASSIGN_OR_RETURN(chain_.packing,
                             BitPacking::Parse(chain_.encoded().type, options, codec.json_path));
    chain_.packing_configuration = ConfigurationOf(codec);
    return {};
  }

  Status TakeBytesCodec(const CodecSpec& codec) {
    const JsonValue* configuration = codec.configuration();
    // `typesize` may be absent without a shuffle: TensorStore then encodes with the size of the
    // items.
    JsonValue sized;
    if (codec.name == "blosc" && chain_.bytes_steps.empty() && configuration != nullptr &&
        configuration->Find("typesize") == nullptr) {
      sized = *configuration;
      sized.Set("typesize", JsonValue::Number(std::uint64_t{chain_.encoded().type.size}));
      configuration = &sized;
    }
    UNSHARD_ASSIGN_OR_RETURN(auto made,
                             MakeBytesCodec(codec.name, configuration, codec.configuration_path()));
    if (!made) return NotSupported(codec, "is not supported, so voxels cannot be decoded");
    chain_.bytes_steps.push_back({std::move(made), ConfigurationOf(codec)});
    return {};
  }

  ItemChain chain_;
  bool needs_exact_items_ = false;
  bool has_bytes_ = false;
};

}  // namespace

Result<ChunkCodecPtr> MakeZarr3ChunkCodec(const JsonCursor& codecs, const DataType& type,
                                          std::size_t rank) {
  UNSHARD_ASSIGN_OR_RETURN(const ChainSpec chain, ParseChainSpec(codecs, rank));
  return MakeZarr3ChunkCodec(chain, codecs.path(), type, rank);
}

Result<ChunkCodecPtr> MakeZarr3ChunkCodec(const ChainSpec& chain, const std::string& path,
                                          const DataType& type, std::size_t rank) {
  if (chain.size() == 1 && chain[0].name == "n5_default") {
    return MakeN5DefaultCodec(chain[0], type, rank);
  }
  ChainBuilder builder(type, rank);
  for (const CodecSpec& codec : chain) UNSHARD_RETURN_IF_ERROR(builder.Take(codec));
  return std::move(builder).Finish(path);
}

Result<ArrayCodecPtr> BindArrayCodec(const CodecSpec& codec, const ArrayRepresentation& decoded) {
  const ArrayCodecDefinition* const definition = FindArrayCodec(codec.name);
  if (definition == nullptr) return nullptr;
  const std::string path = codec.configuration_path();
  return definition->bind({codec.name, codec.json_path + ": the codec \"" + codec.name + "\"",
                           CodecOptions(codec.configuration(), path), path},
                          decoded);
}

}  // namespace unshard
