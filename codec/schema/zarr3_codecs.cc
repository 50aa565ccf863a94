#include "codec/schema/zarr3_codecs.h"

#include <algorithm>
#include <array>
#include <utility>

#include "codec/chain/transpose.h"
#include "codec/json/meaning.h"
#include "codec/json/writer.h"
#include "codec/schema/codec_options.h"
#include "codec/schema/json_reading.h"

namespace unshard {
namespace {

enum class CodecKind { kArrayToArray, kArrayToBytes, kBytesToBytes };

struct KnownCodec {
  std::string_view name;
  CodecKind kind;
  std::vector<ConstraintOption> options;
};

constexpr std::array<std::string_view, 2> kEndians = {"little", "big"};
constexpr std::array<std::string_view, 2> kLocations = {"start", "end"};
constexpr std::array<std::string_view, 3> kShuffles = {"noshuffle", "shuffle", "bitshuffle"};

const std::vector<KnownCodec>& KnownCodecs() {
  using Type = ConstraintOption::Type;
  static const std::vector<KnownCodec> kCodecs = {
      {"transpose", CodecKind::kArrayToArray, {}},
      {"bytes", CodecKind::kArrayToBytes, {{"endian", Type::kWord, 0, 0, kEndians, {}}}},
      {"sharding_indexed",
       CodecKind::kArrayToBytes,
       {{"index_location", Type::kWord, 0, 0, kLocations, {}}}},
      {"gzip", CodecKind::kBytesToBytes, {{"level", Type::kInteger, 0, 9, {}, "6"}}},
      {"zstd",
       CodecKind::kBytesToBytes,
       {{"level", Type::kInteger, kMinZstdLevel, kMaxZstdLevel, {}, "3"},
        {"checksum", Type::kBoolean, 0, 0, {}, "false"}}},
      {"blosc",
       CodecKind::kBytesToBytes,
       {{"cname", Type::kWord, 0, 0, BloscCompressors(), {}},
        {"clevel", Type::kInteger, 0, 9, {}, "5"},
        {"shuffle", Type::kWord, 0, 0, kShuffles, {}},
        {"typesize", Type::kInteger, 1, kMaxBloscTypeSize, {}, {}},
        {"blocksize", Type::kInteger, 0, kMaxBloscBlockSize, {}, "0"}}},
      {"crc32c", CodecKind::kBytesToBytes, {}}};
  return kCodecs;
}

const KnownCodec* FindCodec(std::string_view name) {
  const auto& known = KnownCodecs();
  const auto found = std::find_if(known.begin(), known.end(),
                                  [&](const KnownCodec& codec) { return codec.name == name; });
  return found == known.end() ? nullptr : &*found;
}

// --- Parsing

// A list of numbers, or "C" or "F" for any rank.
Result<JsonValue> ParseTransposeOrder(const JsonCursor& order) {
  if (order.value().is_string()) {
    const std::string& text = order.value().text();
    if (text != "C" && text != "F") return order.Expected("\"C\", \"F\" or a permutation");
    return order.value();
  }
  if (!order.value().is_array()) return order.Expected("\"C\", \"F\" or a permutation");
  UNSHARD_ASSIGN_OR_RETURN(const auto items, order.Items(kMaxRank));
  std::vector<std::int64_t> permutation;
  for (const JsonCursor& item : items) {
    UNSHARD_ASSIGN_OR_RETURN(const std::int64_t dimension,
                             item.Integer(0, static_cast<std::int64_t>(items.size()) - 1));
    if (std::find(permutation.begin(), permutation.end(), dimension) != permutation.end()) {
      return order.Expected("a permutation of its dimensions");
    }
    permutation.push_back(dimension);
  }
  return IntegerArray(permutation);
}

Result<JsonValue> ParseChunkShape(const JsonCursor& shape) {
  if (!shape.value().is_array()) return shape.Expected("an array with one item for each dimension");
  UNSHARD_ASSIGN_OR_RETURN(const auto items, shape.Items(kMaxRank));
  std::vector<std::int64_t> extents;
  for (const JsonCursor& item : items) {
    UNSHARD_ASSIGN_OR_RETURN(const auto extent, item.Integer(1, kInfiniteIndex - 1));
    extents.push_back(extent);
  }
  return IntegerArray(extents);
}

Status ParseSharding(const JsonCursor& configuration, Zarr3Codec& codec) {
  if (configuration.value().Find("chunk_shape") != nullptr) {
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor member, configuration.Member("chunk_shape"));
    UNSHARD_ASSIGN_OR_RETURN(JsonValue shape, ParseChunkShape(member));
    codec.options.Set("chunk_shape", std::move(shape));
  }
  if (configuration.value().Find("codecs") != nullptr) {
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor member, configuration.Member("codecs"));
    UNSHARD_ASSIGN_OR_RETURN(Zarr3CodecChain chain, ParseZarr3Codecs(member));
    codec.codecs.push_back(std::move(chain));
  }
  if (configuration.value().Find("index_codecs") != nullptr) {
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor member, configuration.Member("index_codecs"));
    UNSHARD_ASSIGN_OR_RETURN(Zarr3CodecChain chain, ParseZarr3Codecs(member));
    codec.index_codecs.push_back(std::move(chain));
  }
  return {};
}

Status ParseConfiguration(const JsonCursor& configuration, const KnownCodec& known,
                          Zarr3Codec& codec) {
  UNSHARD_RETURN_IF_ERROR(configuration.ExpectObject());
  for (const auto& [key, value] : configuration.value().members()) {
    const bool listed =
        std::any_of(known.options.begin(), known.options.end(),
                    [&key = key](const ConstraintOption& option) { return option.name == key; });
    const bool of_transpose = codec.name == "transpose" && key == "order";
    const bool of_sharding =
        codec.sharding() && (key == "chunk_shape" || key == "codecs" || key == "index_codecs");
    if (listed || of_transpose || of_sharding) continue;
    return Fail(ErrorCode::kDataLoss, MemberPath(configuration.path(), key), ": unknown option of ",
                codec.name);
  }
  for (const ConstraintOption& option : known.options) {
    UNSHARD_ASSIGN_OR_RETURN(auto value, ParseOption(configuration, option));
    if (value) codec.options.Set(option.name, *std::move(value));
  }
  if (TextOf(codec.options, "shuffle") == "noshuffle") codec.options.Erase("typesize");
  return codec.sharding() ? ParseSharding(configuration, codec) : Status();
}

Result<Zarr3Codec> ParseCodec(const JsonCursor& json) {
  Zarr3Codec codec;
  if (json.value().is_string()) {
    codec.name = json.value().text();
  } else {
    UNSHARD_RETURN_IF_ERROR(ExpectOnlyMembers(json, {"name", "configuration"}));
    UNSHARD_ASSIGN_OR_RETURN(codec.name, json.StringMember("name"));
  }
  const KnownCodec* const known = FindCodec(codec.name);
  if (known == nullptr) {
    return json.Expected("transpose, bytes, sharding_indexed, gzip, zstd, blosc or crc32c");
  }
  if (json.value().is_object() && json.value().Find("configuration") != nullptr) {
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor configuration, json.Member("configuration"));
    UNSHARD_RETURN_IF_ERROR(ParseConfiguration(configuration, *known, codec));
  }
  if (codec.name == "transpose") {
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor configuration, json.Member("configuration"));
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor member, configuration.Member("order"));
    UNSHARD_ASSIGN_OR_RETURN(JsonValue order, ParseTransposeOrder(member));
    codec.options.Set("order", std::move(order));
  }
  return codec;
}

// --- Merging

tl::unexpected<Error> Contradiction(const std::string& what) {
  return Fail(ErrorCode::kInvalidArgument, "codec.codecs: ", what);
}

Status MergeOrder(JsonValue& into, const JsonValue& other, const Zarr3Codec& codec,
                  const Zarr3Codec& other_codec) {
  const std::size_t rank = std::max(into.items().size(), other.items().size());
  const bool same = into.is_string() && other.is_string()
                        ? into == other
                        : TransposeOrder(codec, rank) == TransposeOrder(other_codec, rank);
  if (!same) return Contradiction("conflicting orders of transpose");
  if (into.is_string()) into = other;
  return {};
}

Status MergeCodec(Zarr3Codec& into, const Zarr3Codec& other) {
  if (into.name != other.name) {
    return Contradiction("conflicting codecs " + into.name + " and " + other.name);
  }
  for (const auto& [key, value] : other.options.members()) {
    JsonValue* const mine = into.options.Find(key);
    if (mine == nullptr) {
      into.options.Set(key, value);
    } else if (key == "order") {
      UNSHARD_RETURN_IF_ERROR(MergeOrder(*mine, value, into, other));
    } else if (*mine != value) {
      return Contradiction("conflicting values of " + key + " of " + into.name);
    }
  }
  const auto merge_chains = [](std::vector<Zarr3CodecChain>& mine,
                               const std::vector<Zarr3CodecChain>& theirs) -> Status {
    if (theirs.empty()) return {};
    if (!mine.empty()) return MergeZarr3Codecs(mine.front(), theirs.front());
    mine = theirs;
    return {};
  };
  UNSHARD_RETURN_IF_ERROR(merge_chains(into.index_codecs, other.index_codecs));
  return merge_chains(into.codecs, other.codecs);
}

bool EndsWithTranspose(const std::vector<Zarr3Codec>& codecs) {
  return !codecs.empty() && codecs.back().name == "transpose";
}

Status MergeCodecLists(std::vector<Zarr3Codec>& into, const std::vector<Zarr3Codec>& other) {
  if (into.size() != other.size()) {
    return Contradiction("conflicting chains of " + std::to_string(into.size()) + " and " +
                         std::to_string(other.size()) + " codecs of the same kind");
  }
  for (std::size_t i = 0; i < into.size(); ++i) {
    UNSHARD_RETURN_IF_ERROR(MergeCodec(into[i], other[i]));
  }
  return {};
}

bool NothingAround(const Zarr3CodecChain& chain) {
  return chain.array_to_array.empty() && chain.bytes_to_bytes.empty();
}

// The chain of inner chunks of a sharding chain, which is made where there is none.
Zarr3CodecChain& InnerChain(Zarr3CodecChain& chain) {
  std::vector<Zarr3CodecChain>& inner = chain.array_to_bytes.front().codecs;
  if (inner.empty()) inner.emplace_back();
  return inner.front();
}

JsonValue CodecJson(const Zarr3Codec& codec, Zarr3CodecForm form) {
  JsonValue configuration = codec.options;
  const bool in_document = form == Zarr3CodecForm::kDocument;
  if (in_document && TextOf(configuration, "index_location") == "end") {
    configuration.Erase("index_location");
  }
  if (!codec.codecs.empty())
    configuration.Set("codecs", Zarr3CodecsJson(codec.codecs.front(), form));
  if (!codec.index_codecs.empty()) {
    configuration.Set("index_codecs", Zarr3CodecsJson(codec.index_codecs.front(), form));
  }
  JsonValue json = JsonValue::Object();
  json.Set("name", JsonValue::String(codec.name));
  if (!configuration.members().empty()) json.Set("configuration", std::move(configuration));
  return json;
}

}  // namespace

void SetDefaultOptions(Zarr3Codec& codec) {
  for (const ConstraintOption& option : FindCodec(codec.name)->options) {
    if (option.fallback.empty() || codec.options.Find(option.name) != nullptr) continue;
    codec.options.Set(option.name, option.type == ConstraintOption::Type::kBoolean
                                       ? JsonValue::Boolean(option.fallback == "true")
                                       : JsonValue::Number(std::string(option.fallback)));
  }
}

std::vector<std::size_t> TransposeOrder(const Zarr3Codec& transpose, std::size_t rank) {
  const JsonValue* const order = transpose.options.Find("order");
  if (order->is_string()) return order->text() == "F" ? ReversedOrder(rank) : IdentityOrder(rank);
  std::vector<std::size_t> permutation;
  for (const JsonValue& item : order->items()) permutation.push_back(std::stoul(item.text()));
  return permutation;
}

std::size_t Zarr3CodecChain::sharding_height() const {
  if (array_to_bytes.empty() || !array_to_bytes.front().sharding()) return 0;
  const auto& inner = array_to_bytes.front().codecs;
  return 1 + (inner.empty() ? 0 : inner.front().sharding_height());
}

Result<Zarr3CodecChain> ParseZarr3Codecs(const JsonCursor& codecs) {
  if (!codecs.value().is_array()) return codecs.Expected("an array of codecs");
  constexpr std::size_t kMaxCodecs = 64;
  UNSHARD_ASSIGN_OR_RETURN(const auto items, codecs.Items(kMaxCodecs));
  Zarr3CodecChain chain;
  for (const JsonCursor& item : items) {
    UNSHARD_ASSIGN_OR_RETURN(Zarr3Codec codec, ParseCodec(item));
    const CodecKind kind = FindCodec(codec.name)->kind;
    const bool after_bytes = !chain.bytes_to_bytes.empty();
    const bool after_array = after_bytes || !chain.array_to_bytes.empty();
    if ((kind == CodecKind::kArrayToArray && after_array) ||
        (kind == CodecKind::kArrayToBytes && after_array)) {
      return item.Expected("a codec from bytes to bytes");
    }
    (kind == CodecKind::kArrayToArray   ? chain.array_to_array
     : kind == CodecKind::kArrayToBytes ? chain.array_to_bytes
                                        : chain.bytes_to_bytes)
        .push_back(std::move(codec));
  }
  return chain;
}

JsonValue Zarr3CodecsJson(const Zarr3CodecChain& chain, Zarr3CodecForm form) {
  std::vector<JsonValue> codecs;
  for (const auto* list : {&chain.array_to_array, &chain.array_to_bytes, &chain.bytes_to_bytes}) {
    for (const Zarr3Codec& codec : *list) codecs.push_back(CodecJson(codec, form));
  }
  return JsonValue::Array(std::move(codecs));
}

Status MergeZarr3Codecs(Zarr3CodecChain& into, const Zarr3CodecChain& other) {
  const std::size_t height = into.sharding_height();
  const std::size_t other_height = other.sharding_height();
  if (height > other_height && NothingAround(into))
    return MergeZarr3Codecs(InnerChain(into), other);
  if (height < other_height && NothingAround(other)) {
    Zarr3CodecChain sharded = other;
    UNSHARD_RETURN_IF_ERROR(MergeZarr3Codecs(InnerChain(sharded), into));
    into = std::move(sharded);
    return {};
  }
  std::vector<Zarr3Codec> others = other.array_to_array;
  if (others.size() == into.array_to_array.size() + 1 && EndsWithTranspose(others)) {
    into.array_to_array.push_back(others.back());
  } else if (others.size() + 1 == into.array_to_array.size() &&
             EndsWithTranspose(into.array_to_array)) {
    others.push_back(into.array_to_array.back());
  }
  UNSHARD_RETURN_IF_ERROR(MergeCodecLists(into.array_to_array, others));
  if (into.array_to_bytes.empty()) {
    into.array_to_bytes = other.array_to_bytes;
  } else if (!other.array_to_bytes.empty()) {
    UNSHARD_RETURN_IF_ERROR(MergeCodecLists(into.array_to_bytes, other.array_to_bytes));
  }
  return MergeCodecLists(into.bytes_to_bytes, other.bytes_to_bytes);
}

}  // namespace unshard
