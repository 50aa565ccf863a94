#include "codec/pyramid/block_plan.h"

#include <algorithm>
#include <string>
#include <utility>

#include "codec/chain/codec_spelling.h"
#include "codec/chain/transpose.h"
#include "codec/codecs/codecs.h"
#include "codec/codecs/n5_block.h"
#include "codec/json/number.h"
#include "codec/precomputed/scale.h"
#include "codec/pyramid/chunk_mapping.h"
#include "codec/zarr2/array.h"

namespace unshard {
namespace {

// The chain behind the header of an N5 block; the whole chain of other arrays.
const CodecChain& ItemsOf(const Array& array) {
  return array.dialect == Dialect::kN5 ? array.codec->items() : *array.codec;
}

// Whether metadata of the format can express the order of the items.
bool CanExpressOrder(Dialect to, const std::vector<std::size_t>& order, const AxisMap& axes) {
  if (!KeepsOrder(axes)) return false;
  if (IsIdentity(order)) return true;
  const bool same_axes = axes.size() == order.size() &&
                         std::all_of(axes.begin(), axes.end(), [](auto axis) { return !!axis; });
  if (!same_axes) return false;
  if (to == Dialect::kZarr3) return true;
  return to == Dialect::kZarr2 && order == ReversedOrder(order.size());
}

// The same of their byte order: that of N5 is big-endian, that of volumes little-endian, and so is
// that of bfloat16 in Zarr v2.
bool CanExpressBytes(const Array& array, bool big_endian) {
  if (array.data_type.ordered_size() == 1) return true;
  if (array.dialect == Dialect::kN5) return big_endian;
  const bool is_little =
      array.dialect == Dialect::kPrecomputed ||
      (array.dialect == Dialect::kZarr2 && array.data_type.kind == DataType::Kind::kBrainFloat);
  return !is_little || !big_endian;
}

tl::unexpected<Error> CannotEncode(Dialect dialect, const CodecSpec& codec) {
  return Fail(ErrorCode::kNotSupported, "encoding chunks of ", DialectName(dialect),
              " with the codec ", codec.name, " is not supported");
}

// As documents of the format list them; all formats but Zarr v3 have one compressor.
Result<ChainSpec> SpellAll(const ChainSpec& compression, const Array& array) {
  ChainSpec spelled;
  for (const CodecSpec& codec : compression) {
    auto one = SpellCodec(codec, array.dialect, array.data_type.size);
    const bool is_second = !spelled.empty() && array.dialect != Dialect::kZarr3;
    if (!one || is_second) return CannotEncode(array.dialect, codec);
    one->json_path = array.dialect == Dialect::kN5 ? "compression" : "compressor";
    spelled.push_back(*std::move(one));
  }
  return spelled;
}

CodecSpec BytesOf(const DataType& type, bool big_endian) {
  if (type.size == 1) return CodecOfZarr3("bytes");
  return CodecOfZarr3(
      "bytes", JsonValue::Object({{"endian", JsonValue::String(big_endian ? "big" : "little")}}));
}

// Gives `array` the codec of these items. Requires: its format can express them, and SpellAll has
// returned their compression.
Status SetCodec(PlainItems items, Array& array) {
  ChainSpec& compression = items.compression;
  if (array.dialect == Dialect::kPrecomputed) {
    array.codec_json = JsonValue::Object({{"encoding", JsonValue::String("raw")}});
    UNSHARD_ASSIGN_OR_RETURN(
        array.codec, MakePrecomputedChunkCodec(JsonCursor(array.codec_json, ""), array.data_type,
                                               array.shape.front()));
    return {};
  }
  ChainSpec chain;
  if (array.dialect == Dialect::kN5) {
    array.codec_json = compression.empty() ? JsonValue::Object({{"type", JsonValue::String("raw")}})
                                           : NamedCodecJson(compression.front());
    chain = N5ChainSpec(std::move(compression), "compression", array.chunk_shape);
  } else {
    if (!IsIdentity(items.order)) {
      chain.push_back(
          CodecOfZarr3("transpose", JsonValue::Object({{"order", ExtentsJson(items.order)}})));
    }
    chain.push_back(BytesOf(array.data_type, items.big_endian));
    for (CodecSpec& codec : compression) {
      if (array.dialect == Dialect::kZarr3) codec.json_path = ItemPath("codecs", chain.size());
      chain.push_back(std::move(codec));
    }
    array.codec_json = array.dialect == Dialect::kZarr2 ? Zarr2CodecMembers(array.data_type, chain)
                                                        : CodecsJson(chain);
  }
  UNSHARD_ASSIGN_OR_RETURN(array.codec,
                           CodecChain::Bind(chain, "", {array.data_type, array.rank()}));
  return {};
}

// Whether chunks of a view can have the items of stored ones. The header of an N5 block has its
// shape.
bool CanHaveItems(const Array& stored, const Array& presented, const AxisMap& axes) {
  return presented.dialect == Dialect::kN5 || HasSameChunks(stored, presented, axes);
}

// The stored items, for SetCodec of the presented array; nothing where its format cannot express
// them.
std::optional<PlainItems> KeptItems(const Array& stored, const AxisMap& axes,
                                    const Array& presented) {
  auto items = PlainItemsOf(ItemsOf(stored));
  const bool is_kept = items && CanHaveItems(stored, presented, axes) &&
                       CanExpressOrder(presented.dialect, items->order, axes) &&
                       CanExpressBytes(presented, items->big_endian);
  if (!is_kept) return std::nullopt;
  auto spelled = SpellAll(items->compression, presented);
  if (!spelled) return std::nullopt;
  items->compression = *std::move(spelled);
  return items;
}

// --- The compression of copies

bool IsCompressor(const CodecSpec& codec) { return codec.definition->describes_itself; }

// The bytes-to-bytes codecs of a chain, also of those of N5 blocks.
ChainSpec CompressionOf(const CodecChain& chain) {
  ChainSpec compression;
  for (const CodecSpec& codec : chain.items().codecs()) {
    if (codec.definition->IsBytesToBytes()) compression.push_back(codec);
  }
  return compression;
}

// Whether the items are encoded by a codec that compresses them itself: an image, or labels.
bool IsCompressedItself(const CodecChain& chain) {
  return std::any_of(chain.codecs().begin(), chain.codecs().end(), [](const CodecSpec& codec) {
    return codec.dialect == Dialect::kPrecomputed && codec.definition != &BytesCodec();
  });
}

// `codec`, of other options than numbers that every format takes, as new arrays have it.
std::optional<CodecSpec> KeptIn(Dialect to, CodecSpec codec, std::uint32_t item_size) {
  if (!IsCompressor(codec)) return std::nullopt;
  const bool is_new = codec.configuration() == nullptr;  // no document has it
  JsonValue options = codec.own_options();
  for (const CodecOption& option : codec.definition->options) {
    if (option.max == 0) continue;
    const JsonValue* const given = options.Find(option.name);
    const auto number = given != nullptr ? FiniteNumberOf(*given) : std::nullopt;
    if (number && *number >= 0 && !is_new) continue;
    const auto usual = option.In(codec.definition->names.front().dialect).created;
    options.Set(option.name, JsonValue::Number(std::to_string(*usual)));
  }
  codec.dialect = Dialect::kZarr3;  // whose options have their own names
  codec.json.Set("configuration", std::move(options));
  auto kept = SpellCodec(codec, to, item_size);
  if (kept || codec.definition->similar == nullptr) return kept;
  codec.definition = &codec.definition->similar();
  return SpellCodec(codec, to, item_size);
}

// How chunks are made that can have the items of those of `from`.
BlockForm FormOf(const Array& from, const Array& to, const AxisMap& axes) {
  const CodecChain& stored = ItemsOf(from);
  if (!SameEncoding(stored, ItemsOf(to))) return BlockForm::kTranscode;
  const bool same_axes = axes == SameAxes(from.rank());
  const auto plain = PlainItemsOf(stored);
  const bool same_items = same_axes || (plain && plain->order.empty() && KeepsOrder(axes));
  if (!same_items) return BlockForm::kTranscode;
  const bool has_header = from.dialect == Dialect::kN5;
  if (has_header == (to.dialect == Dialect::kN5)) {
    // The header of an N5 block lists the extents in the order of the axes.
    return has_header && !same_axes ? BlockForm::kTranscode : BlockForm::kCopy;
  }
  return has_header ? BlockForm::kStripHeader : BlockForm::kAddHeader;
}

}  // namespace

std::optional<PlainItems> PlainItemsOf(const CodecChain& chain) {
  PlainItems items;
  for (const CodecSpec& codec : chain.codecs()) {
    if (codec.definition == &TransposeCodec()) {
      const auto order =
          TransposeOrder(codec, codec.configuration()->Find("order")->items().size());
      items.order = items.order.empty() ? *order : Transposed(items.order, *order);
    } else if (codec.definition == &BytesCodec()) {
      items.big_endian = *IsBigEndian(codec);
    } else if (codec.definition->IsBytesToBytes()) {
      items.compression.push_back(codec);
    } else {
      return std::nullopt;
    }
  }
  if (IsIdentity(items.order)) items.order.clear();
  return items;
}

RepackChunk RepackingOf(const Array& from, const Array& to) {
  const ChainSpec& a = from.codec->codecs();
  const ChainSpec& b = to.codec->codecs();
  if (a.size() != 1 || b.size() != 1) return nullptr;
  return FindRepacking(*a.front().definition, *b.front().definition);
}

BlockForm FormOfCopy(const Array& from, const Array& to, const AxisMap& axes) {
  if (!HasSameChunks(from, to, axes)) return BlockForm::kTranscode;
  const BlockForm form = FormOf(from, to, axes);
  const bool repacks = form == BlockForm::kTranscode && axes == SameAxes(from.rank()) &&
                       RepackingOf(from, to) != nullptr;
  return repacks ? BlockForm::kRepack : form;
}

BlockForm FormOfView(const Array& from, const Array& to, const AxisMap& axes) {
  return CanHaveItems(from, to, axes) ? FormOf(from, to, axes) : BlockForm::kTranscode;
}

ChainSpec CompressionOfCopy(const Array& stored, Dialect to) {
  if (to == Dialect::kPrecomputed) return {};
  const CodecChain& chain = *stored.codec;
  const ChainSpec compression = CompressionOf(chain);
  const bool shard_compresses = TextOf(stored.sharding, "data_encoding") == "gzip";
  const bool is_itself = IsCompressedItself(chain);
  if (!is_itself && !shard_compresses &&
      std::none_of(compression.begin(), compression.end(), IsCompressor)) {
    return {};
  }
  const std::uint32_t item_size = stored.data_type.size;
  for (const CodecSpec& codec : compression) {
    if (auto kept = KeptIn(to, codec, item_size)) return {*std::move(kept)};
  }
  const bool is_gzip = to == Dialect::kN5 || (compression.empty() && !is_itself);
  return {*KeptIn(to, CodecOfZarr3(is_gzip ? "gzip" : "zstd"), item_size)};
}

Status PlanBlocks(const Array& stored, const AxisMap& axes, const ChainSpec& compression,
                  Array& presented) {
  auto items = KeptItems(stored, axes, presented);
  if (!items) {
    items.emplace();
    UNSHARD_ASSIGN_OR_RETURN(items->compression, SpellAll(compression, presented));
  }
  return SetCodec(*std::move(items), presented);
}

Status PlanRawBlocks(const Array& stored, Array& presented) {
  PlainItems items = PlainItemsOf(ItemsOf(stored)).value_or(PlainItems());
  items.compression.clear();
  return SetCodec(std::move(items), presented);
}

}  // namespace unshard
