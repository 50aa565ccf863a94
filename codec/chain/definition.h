// One codec in every dialect: its names, its options, and how it is bound to what reaches it.
// codec/codecs has a source for each codec, and the list of them. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "codec/chain/codec.h"
#include "codec/types/dialect.h"

namespace unshard {

struct CodecSpec;

constexpr bool kInSchemas = true;

// An option of a codec.
struct CodecOption {
  // How a dialect has it, where that differs. A number below `CodecOption::min` means
  // `CodecOption::absent`.
  struct Spelling {
    Dialect dialect;
    std::int64_t absent = 0;
    std::string_view name = {};  // "": the codec's own
    std::optional<std::int64_t> min = std::nullopt;
    // What a new array gets where the schema does not have it; nothing: `absent`.
    std::optional<std::int64_t> created = std::nullopt;
    // Without one, compressors of schemas of Zarr v2 and N5 must have the option, and a codec that
    // is chosen for items gets what they decide (is_item_size, for_items), else `created`.
    bool has_default = true;
  };

  std::string_view name;  // the codec's own
  // A whole number, unless both are 0: then the codec reads it.
  std::int64_t min = 0, max = 0;
  std::int64_t absent = 0;  // what its absence means; of words, the position of one
  std::span<const Spelling> spellings = {};

  // In schemas: TensorStore's.
  std::span<const std::string_view> words = {};
  bool is_boolean = false;
  // Where it is not `max`. With words: Zarr v2 and N5 have the position of the word.
  std::int64_t max_in_schemas = 0;
  std::optional<Dialect> only_in = std::nullopt;  // the only dialect that has it
  // What it is by default for items of this size, where that is not `absent`; null: `absent`. Of
  // words, the position of one. Size 0: the codec does not encode items.
  std::int64_t (*for_items)(std::uint32_t item_size) = nullptr;
  // By default it is the size of the items; where it is given, `for_items` of others goes by it.
  bool is_item_size = false;
  // In schemas: whether it says anything beside the options before it, for items of this size, 0
  // where that is not known; null: always.
  bool (*is_used)(const JsonValue& options, std::uint32_t item_size) = nullptr;
  bool is_level = false;          // how hard a compressor tries
  bool needed_to_decode = false;  // of a codec that else describes itself

  // A list of codecs, which encode arrays with so many more dimensions than the chunk has.
  std::optional<std::size_t> chain_dimensions = std::nullopt;

  [[nodiscard]] Spelling In(Dialect dialect) const;
};

// What an item that an array-to-array codec encodes depends on: any items of the chunk; the item at
// its position; the item at its position once the axes are rearranged. Without kChunk, encoding a
// whole shard is the same as encoding each of its inner chunks.
enum class Dependence : std::uint8_t { kChunk, kItem, kMovedItem };

struct CodecDefinition {
  struct Name {
    Dialect dialect;
    std::string_view name;
    bool in_schemas = false;  // whether schemas of this dialect have it: TensorStore's, and jxl
    // A boolean option that is true where this codec is meant, and not another codec of this name.
    std::string_view when = {};
  };
  using BindArrayToArray = Result<ArrayCodecPtr> (*)(const CodecSpec&, const ArrayRepresentation&);
  using BindArrayToBytes = Result<ArrayToBytesCodecPtr> (*)(const CodecSpec&,
                                                            const ArrayRepresentation&);
  // `item_size`: bytes of the items that are encoded; 0: the bytes are not items.
  using BindBytesToBytes = Result<BytesCodecPtr> (*)(const CodecSpec&, std::uint32_t item_size);

  // In Zarr v3 each name of Zarr v2 is one after "numcodecs.", with the options of Zarr v2.
  std::span<const Name> names;
  // Each fails with kDataLoss, naming the option, where the options make decoding impossible, and
  // with kNotSupported where the codec cannot take what reaches it. Null: the codec is known, and
  // cannot be bound.
  std::variant<BindArrayToArray, BindArrayToBytes, BindBytesToBytes> bind;
  std::span<const CodecOption> options = {};
  // Whether it decodes what it encodes with any other options, except for those that are
  // needed_to_decode.
  bool describes_itself = false;
  // The codec of the same stream with another header, and of the same options, that a copy has
  // where its dialect lacks this codec. Null: none.
  const CodecDefinition& (*similar)() = nullptr;
  // Of array-to-array codecs, where the size of items does not change.
  Dependence dependence = Dependence::kChunk;
  bool keeps_zero = false;  // encodes 0 as 0, and decodes it as 0
  // Whether its specification says that absent inner chunks of shards behind it have the fill value
  // as it encodes that.
  bool encodes_fill_value = false;
  // Of array-to-bytes codecs: whether they take items that differ in length (DataType::size 0), and
  // no others.
  bool takes_any_length = false;

  [[nodiscard]] bool CanBind() const {
    return std::visit([](const auto& function) { return function != nullptr; }, bind);
  }
  [[nodiscard]] bool IsBytesToBytes() const {
    return std::holds_alternative<BindBytesToBytes>(bind);
  }
  [[nodiscard]] bool IsArrayToBytes() const {
    return std::holds_alternative<BindArrayToBytes>(bind);
  }
  // The option of this name; null: it has none.
  [[nodiscard]] const CodecOption* FindOption(std::string_view name) const;
  // The first name in a dialect; null: it has none.
  [[nodiscard]] const Name* NameIn(Dialect dialect) const;
  // "zstd", "numcodecs.lz4", "n5.lz4", "jpeg": the name in Zarr v3, or after the dialect that has
  // it, or the encoding of precomputed volumes.
  [[nodiscard]] std::string name() const;
};

// All codecs, in the order of their list.
const std::vector<const CodecDefinition*>& CodecDefinitions();

// The codec that a dialect calls `name`. Null: none that is known here.
const CodecDefinition* FindCodec(Dialect dialect, std::string_view name);

}  // namespace unshard
