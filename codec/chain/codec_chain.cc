#include "codec/chain/codec_chain.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>

#include "codec/chain/transpose.h"
#include "codec/core/byte_range.h"
#include "codec/grid/chunk_check.h"
#include "codec/json/meaning.h"
#include "codec/json/number.h"

namespace unshard {
namespace {

// Compressors add headers: the bytes between two of them may exceed those of the items by this
// factor, and this many bytes.
constexpr std::uint64_t kMaxGrowth = 16;
constexpr std::uint64_t kSlack = std::uint64_t{64} << 10;

constexpr const char* kChunk = "chunk";
constexpr const char* kUnknown = " is not supported, so voxels cannot be decoded";
constexpr const char* kUntyped =
    " works on numbers, but the codec before it produces untyped bytes";
constexpr const char* kOfAnyLength = " does not take items that differ in length";
constexpr const char* kOfOneLength = " takes only items that differ in length";

tl::unexpected<Error> NotSupported(const CodecSpec& codec, std::string_view why) {
  return Fail(ErrorCode::kNotSupported, codec.at(), why);
}

Status ExpectSize(std::uint64_t found, std::uint64_t expected) {
  if (found == expected) return {};
  return Fail(ErrorCode::kDataLoss, "expected a chunk that decodes to ", expected, " bytes, found ",
              found);
}

// Stands for the codecs at the beginning of a chain that are not known: only those at its end are.
class UnknownCodecs final : public ArrayToBytesCodec {
 public:
  [[nodiscard]] Status CanDecode() const override {
    return Fail(ErrorCode::kNotSupported, "unknown codec");
  }
  [[nodiscard]] Result<ByteVector> Encode(Voxels /*decoded*/) const override {
    return tl::unexpected<Error>(CanDecode().error());
  }
  [[nodiscard]] Result<Voxels> Decode(ByteSpan /*encoded*/, ShapeSpan /*shape*/) const override {
    return tl::unexpected<Error>(CanDecode().error());
  }
  [[nodiscard]] JsonValue DecodingKey() const override { return {}; }
};

}  // namespace

// Binds one codec after the other.
class ChainBinder {
 public:
  explicit ChainBinder(const ArrayRepresentation& decoded) : chain_(new CodecChain(decoded)) {}

  Status Take(const CodecSpec& codec) {
    if (codec.definition == nullptr || !codec.definition->CanBind()) {
      return NotSupported(codec, kUnknown);
    }
    return std::visit([&](const auto& bind) { return TakeCodec(codec, bind); },
                      codec.definition->bind);
  }

  Result<ChunkCodecPtr> Finish(const ChainSpec& codecs, const std::string& path) && {
    if (!chain_->to_bytes_) {
      return Fail(ErrorCode::kDataLoss, path, ": expected a chain with the codec \"bytes\"");
    }
    chain_->codecs_ = codecs;
    return std::move(chain_);
  }

 private:
  Status TakeCodec(const CodecSpec& codec, CodecDefinition::BindArrayToArray bind) {
    const bool is_zarr2 = codec.dialect == Dialect::kZarr2;
    if (chain_->to_bytes_) return NotSupported(codec, is_zarr2 ? kUntyped : kUnknown);
    ArrayRepresentation decoded = chain_->encoded();
    if (decoded.type.size == 0 && codec.definition->dependence != Dependence::kMovedItem) {
      return NotSupported(codec, kOfAnyLength);
    }
    // As in numcodecs, a filter of Zarr v2 may take the bytes of items for items of another size.
    decoded.may_change_size = is_zarr2 && !needs_exact_items_;
    UNSHARD_ASSIGN_OR_RETURN(ArrayCodecPtr bound, bind(codec, decoded));
    if (needs_exact_items_ && !bound->is_lossless()) {
      return NotSupported(codec, is_zarr2 ? kUntyped : " is lossy and would change packed bits");
    }
    needs_exact_items_ |= bound->needs_exact_items();
    if (is_zarr2) UNSHARD_RETURN_IF_ERROR(LimitGrowth(codec, *bound, decoded));
    chain_->array_codecs_.push_back(std::move(bound));
    return {};
  }

  Status TakeCodec(const CodecSpec& codec, CodecDefinition::BindArrayToBytes bind) {
    if (chain_->to_bytes_) return NotSupported(codec, kUnknown);
    const bool any_length = chain_->encoded().type.size == 0;
    if (any_length != codec.definition->takes_any_length) {
      return NotSupported(codec, any_length ? kOfAnyLength : kOfOneLength);
    }
    UNSHARD_ASSIGN_OR_RETURN(chain_->to_bytes_, bind(codec, chain_->encoded()));
    return {};
  }

  Status TakeCodec(const CodecSpec& codec, CodecDefinition::BindBytesToBytes bind) {
    if (!chain_->to_bytes_) {
      return NotSupported(codec, " encodes bytes, so it needs \"bytes\" before it");
    }
    const bool is_first = chain_->bytes_codecs_.empty();
    UNSHARD_ASSIGN_OR_RETURN(BytesCodecPtr bound,
                             bind(codec, is_first ? chain_->to_bytes_->item_size() : 0));
    chain_->bytes_codecs_.push_back(std::move(bound));
    return {};
  }

  // Of filters that make more bytes few are taken, as what is decoded is bounded only by the size
  // of the chunk.
  Status LimitGrowth(const CodecSpec& codec, const ArrayToArrayCodec& bound,
                     const ArrayRepresentation& decoded) {
    constexpr std::uint64_t kSome = 4096;
    const auto shape = bound.EncodedShape(Shape{kSome});
    if (shape && shape->size() == 1) {
      growth_ *= static_cast<double>(shape->front() * bound.encoded().type.size) /
                 static_cast<double>(kSome * decoded.type.size);
    }
    if (growth_ <= 8) return {};
    return NotSupported(codec, " and those before it make the chunk more than 8 times as large");
  }

  std::shared_ptr<CodecChain> chain_;
  bool needs_exact_items_ = false;
  double growth_ = 1;  // of the bytes of a chunk by the filters so far
};

Result<ChunkCodecPtr> CodecChain::Bind(const ChainSpec& codecs, const std::string& path,
                                       const ArrayRepresentation& decoded) {
  ChainBinder binder(decoded);
  for (const CodecSpec& codec : codecs) UNSHARD_RETURN_IF_ERROR(binder.Take(codec));
  return std::move(binder).Finish(codecs, path);
}

ChunkCodecPtr CodecChain::BindToCheck(const ChainSpec& codecs,
                                      const std::optional<ArrayRepresentation>& decoded) {
  if (decoded) {
    if (auto bound = Bind(codecs, "", *decoded)) return *std::move(bound);
  }
  std::shared_ptr<CodecChain> chain(new CodecChain({}));
  chain->to_bytes_ = std::make_shared<UnknownCodecs>();
  auto& known = chain->bytes_codecs_;
  for (std::size_t i = codecs.size(); i-- > 0;) {
    auto bound = BindBytesToBytes(codecs[i]);
    if (!bound || *bound == nullptr) break;
    known.insert(known.begin(), *std::move(bound));
  }
  return chain;
}

const ArrayRepresentation& CodecChain::encoded() const {
  return array_codecs_.empty() ? decoded_ : array_codecs_.back()->encoded();
}

Status CodecChain::CanDecode() const {
  UNSHARD_RETURN_IF_ERROR(to_bytes_->CanDecode());
  for (const auto& codec : bytes_codecs_) UNSHARD_RETURN_IF_ERROR(codec->CanDecode());
  return {};
}

Status CodecChain::CanEncode() const {
  for (const auto& codec : array_codecs_) UNSHARD_RETURN_IF_ERROR(codec->CanEncode());
  UNSHARD_RETURN_IF_ERROR(to_bytes_->CanEncode());
  for (const auto& codec : bytes_codecs_) UNSHARD_RETURN_IF_ERROR(codec->CanEncode());
  return {};
}

bool CodecChain::is_lossy() const {
  return !to_bytes_->is_lossless() ||
         std::any_of(array_codecs_.begin(), array_codecs_.end(),
                     [](const ArrayCodecPtr& codec) { return !codec->is_lossless(); });
}

std::string CodecChain::text() const {
  std::string text;
  for (const CodecSpec& codec : items().codecs_) {
    const std::string words = codec.text();
    if (!words.empty()) text += (text.empty() ? "" : ", ") + words;
  }
  return text.empty() ? "raw" : text;
}

// Transposes one after the other are one.
JsonValue CodecChain::DecodingKey() const {
  JsonValue key = JsonValue::Array();
  std::vector<JsonValue>& parts = key.mutable_items();
  if (decoded_.big_endian) parts.push_back(JsonValue::String("big-endian"));
  std::vector<std::size_t> order;
  const auto add_order = [&] {
    if (!IsIdentity(order)) parts.push_back(ExtentsJson(order));
    order.clear();
  };
  auto codec = codecs_.begin();
  for (const ArrayCodecPtr& bound : array_codecs_) {
    if (codec->definition->dependence == Dependence::kMovedItem) {
      order = order.empty() ? bound->order() : Transposed(order, bound->order());
    } else {
      add_order();
      parts.push_back(codec->DecodingKey());
    }
    ++codec;
  }
  add_order();
  parts.push_back(to_bytes_->DecodingKey());
  for (++codec; codec != codecs_.end(); ++codec) parts.push_back(codec->DecodingKey());
  return key;
}

bool SameEncoding(const CodecChain& a, const CodecChain& b) {
  return SameMeaning(a.DecodingKey(), b.DecodingKey());
}

// The shape of a chunk before each array codec, and after the last one.
Result<std::vector<Shape>> CodecChain::ShapesOf(ShapeSpan shape) const {
  std::vector<Shape> shapes;
  shapes.reserve(array_codecs_.size() + 1);
  shapes.emplace_back(shape.begin(), shape.end());
  for (const ArrayCodecPtr& codec : array_codecs_) {
    UNSHARD_ASSIGN_OR_RETURN(Shape next, codec->EncodedShape(shapes.back()));
    shapes.push_back(std::move(next));
  }
  return shapes;
}

std::optional<std::uint64_t> CodecChain::EncodedSize(ShapeSpan shape) const {
  const auto shapes = ShapesOf(shape);
  return shapes ? WithOverheads(to_bytes_->EncodedSize(shapes->back())) : std::nullopt;
}

std::optional<std::uint64_t> CodecChain::WithOverheads(std::optional<std::uint64_t> items) const {
  for (const auto& codec : bytes_codecs_) {
    const auto overhead = codec->fixed_overhead();
    items = items && overhead ? CheckedAdd(*items, *overhead) : std::nullopt;
  }
  return items;
}

Result<Voxels> CodecChain::Decode(ByteSpan encoded, ShapeSpan shape) const {
  UNSHARD_RETURN_IF_ERROR(VoxelBytes(type(), shape));
  UNSHARD_ASSIGN_OR_RETURN(const std::vector<Shape> shapes, ShapesOf(shape));
  UNSHARD_ASSIGN_OR_RETURN(Voxels voxels, DecodeBytes(encoded, shapes.back()));
  for (std::size_t i = array_codecs_.size(); i-- > 0;) {
    UNSHARD_ASSIGN_OR_RETURN(voxels, array_codecs_[i]->Decode(std::move(voxels), shapes[i]));
    UNSHARD_RETURN_IF_ERROR(ExpectDeclared(voxels, i, shapes[i]));
  }
  return voxels;
}

// The array-to-bytes codec makes voxels of the bytes that the bytes-to-bytes codecs decode.
Result<Voxels> CodecChain::DecodeBytes(ByteSpan encoded, const Shape& shape) const {
  UNSHARD_ASSIGN_OR_RETURN(const std::uint64_t items, VoxelBytes(this->encoded().type, shape));
  const auto fixed = to_bytes_->has_fixed_size() ? to_bytes_->EncodedSize(shape) : std::nullopt;
  if (bytes_codecs_.empty()) {
    if (fixed) UNSHARD_RETURN_IF_ERROR(ExpectSize(encoded.size(), *fixed));
    return to_bytes_->Decode(encoded, shape);
  }
  const std::uint64_t most = kMaxGrowth * fixed.value_or(items) + kSlack;
  ByteVector bytes;
  for (std::size_t i = bytes_codecs_.size(); i-- > 0;) {
    const std::uint64_t max_bytes = i == 0 ? fixed.value_or(most) : most;
    UNSHARD_ASSIGN_OR_RETURN(ByteVector next, bytes_codecs_[i]->Decode(encoded, max_bytes));
    bytes = std::move(next);
    encoded = bytes;
  }
  if (fixed) UNSHARD_RETURN_IF_ERROR(ExpectSize(bytes.size(), *fixed));
  return to_bytes_->DecodeInPlace(std::move(bytes), shape);
}

Result<ByteVector> CodecChain::Encode(Voxels voxels) const {
  if (voxels.type() != type()) {
    return Fail(ErrorCode::kInvalidArgument, "expected voxels of ", DataTypeName(type()),
                ", found ", DataTypeName(voxels.type()));
  }
  UNSHARD_RETURN_IF_ERROR(CanEncode());
  UNSHARD_ASSIGN_OR_RETURN(const std::vector<Shape> shapes, ShapesOf(voxels.shape()));
  bool needs_proof = false;
  for (std::size_t i = 0; i < array_codecs_.size(); ++i) {
    UNSHARD_ASSIGN_OR_RETURN(voxels, array_codecs_[i]->Encode(std::move(voxels)));
    UNSHARD_RETURN_IF_ERROR(ExpectDeclared(voxels, i + 1, shapes[i + 1]));
    needs_proof |= array_codecs_[i]->may_refuse_encoded();
  }
  UNSHARD_ASSIGN_OR_RETURN(ByteVector bytes, to_bytes_->Encode(std::move(voxels)));
  for (const auto& codec : bytes_codecs_) {
    UNSHARD_ASSIGN_OR_RETURN(bytes, codec->Encode(bytes));
  }
  if (needs_proof) UNSHARD_RETURN_IF_ERROR(ProveDecoding(bytes, shapes.front()));
  return bytes;
}

std::optional<std::uint64_t> CodecChain::FixedItems(ShapeSpan shape) const {
  if (!to_bytes_->has_fixed_size()) return std::nullopt;
  if (array_codecs_.empty()) return to_bytes_->EncodedSize(shape);  // without memory for shapes
  const auto shapes = ShapesOf(shape);
  return shapes ? to_bytes_->EncodedSize(shapes->back()) : std::nullopt;
}

std::optional<std::uint64_t> CodecChain::FixedSize(ShapeSpan shape) const {
  return WithOverheads(FixedItems(shape));
}

// Decoding takes the whole chunk. A chunk that is too large is not decoded.
std::uint64_t CodecChain::NeededBytes(std::uint64_t size, ShapeSpan shape) const {
  if (bytes_codecs_.empty()) return to_bytes_->NeededBytes(size);
  const bool decodes = bytes_codecs_.back()->CanDecode() && size <= kMaxCheckedBytes &&
                       FixedItems(shape).value_or(0) <= kMaxCheckedBytes;
  return decodes ? size : 0;
}

Status CodecChain::Check(ByteSpan start, std::uint64_t size, ShapeSpan shape) const {
  const bool is_plain = bytes_codecs_.empty();
  const auto fixed = FixedSize(shape);
  if (fixed && size != *fixed) {
    return RefuseChunkSize(is_plain ? to_bytes_->subject() : kChunk, *fixed, size);
  }
  if (is_plain) {
    UNSHARD_ASSIGN_OR_RETURN(const std::vector<Shape> shapes, ShapesOf(shape));
    return to_bytes_->CheckStart(start, size, shapes.back());
  }
  const std::uint64_t needed = NeededBytes(size, shape);
  if (needed == 0) return {};
  if (start.size() < needed) {
    return RefuseChunk(kChunk, "expected all of its ", needed, " bytes, found ", start.size());
  }
  return CheckDecoding(start.first(needed), FixedItems(shape), shape);
}

Status CodecChain::CheckDecoding(ByteSpan stored, std::optional<std::uint64_t> items,
                                 ShapeSpan shape) const {
  ByteVector decoded;
  for (std::size_t i = bytes_codecs_.size(); i-- > 0;) {
    if (!bytes_codecs_[i]->CanDecode()) return {};
    // The codec that is decoded last gives the items; what lies between two codecs may be larger.
    const std::uint64_t max_bytes =
        i == 0 ? items.value_or(kMaxCheckedBytes) : 2 * kMaxCheckedBytes;
    auto next = bytes_codecs_[i]->Decode(stored, max_bytes);
    if (!next && next.error().code == ErrorCode::kResourceExhausted && !items) return {};
    if (!next) return RefuseChunk(kChunk, next.error().message);
    decoded = *std::move(next);
    stored = decoded;
  }
  if (items && stored.size() != *items) {
    return RefuseChunk(kChunk, "expected it to decode to exactly ", *items, " bytes, found ",
                       stored.size());
  }
  UNSHARD_ASSIGN_OR_RETURN(const std::vector<Shape> shapes, ShapesOf(shape));
  return to_bytes_->CheckStart(stored, stored.size(), shapes.back());
}

// That the first `count` array codecs give, or take, voxels of the type and the shape that they
// have declared.
Status CodecChain::ExpectDeclared(const Voxels& voxels, std::size_t count,
                                  const Shape& shape) const {
  const DataType& declared = count == 0 ? type() : array_codecs_[count - 1]->encoded().type;
  if (voxels.type() == declared && voxels.shape() == shape) return {};
  return Fail(ErrorCode::kInternal, "expected items of ", DataTypeName(declared), " after ", count,
              " codecs, found ", DataTypeName(voxels.type()), " or another shape");
}

Status CodecChain::ProveDecoding(ByteSpan encoded, ShapeSpan shape) const {
  const auto decoded = Decode(encoded, shape);
  if (decoded) return {};
  return Fail(ErrorCode::kInvalidArgument,
              "the codecs would store these voxels in a form that cannot be read back: ",
              decoded.error().message);
}

}  // namespace unshard
