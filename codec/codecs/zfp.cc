// zfp of Zarr v3, numcodecs.zfpy, and the encoding zfpc of precomputed volumes (reading only), by
// libzfp.
//
// Zarr: a stream, with zfp's header in numcodecs.zfpy. The last dimension of the chunk is zfp's x.
// Integers of 1 and 2 bytes are stored as the highest bits but one of integers of 4 bytes, unsigned
// ones less their middle.
//
// zfpc: "zfpc", version 0; a byte with the type (bits 0 to 2, as zfp numbers them); the extents x,
// y, z and channels, 4 bytes each, 0: no such dimension; a byte with a bit for each dimension that
// zfp compresses; the offset of the first stream and the size of each stream, 8 bytes each; the
// streams, with zfp's headers. There is a stream for each position of the other dimensions, x
// fastest. It has the dimensions that are compressed in the order x, y, z, channel, the last one
// being zfp's x.
#ifdef UNSHARD_ZFP
#include <zfp.h>
#endif

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codec/codecs/codecs.h"
#include "codec/codecs/compressor.h"
#include "codec/codecs/item_values.h"
#include "codec/codecs/volume_encoding.h"
#include "codec/core/byte_range.h"
#include "codec/core/library.h"
#include "codec/grid/chunk_check.h"
#include "codec/json/number.h"

namespace unshard {
namespace {

using Kind = DataType::Kind;

// What zfp compresses: items in C order, zfp's x last.
struct ZfpArray {
  DataType type;
  Shape shape;  // 1 to 4 extents of at least 1
};

// The parameters of a stream that has no header.
struct ZfpMode {
  enum class Kind : std::uint8_t { kReversible, kRate, kPrecision, kAccuracy, kExpert } kind{};
  double number = 0;  // the rate, or the tolerance
  unsigned precision = 0;
  std::array<unsigned, 3> expert{};  // minbits, maxbits, maxprec
  int min_exponent = 0;
};

#ifdef UNSHARD_ZFP

zfp_type ZfpTypeOf(const DataType& type) {
  if (type.kind == Kind::kFloat) return type.size == 4 ? zfp_type_float : zfp_type_double;
  return type.size == 8 ? zfp_type_int64 : zfp_type_int32;
}

struct FreeZfp {
  void operator()(zfp_field* field) const { zfp_field_free(field); }
  void operator()(zfp_stream* stream) const { zfp_stream_close(stream); }
  void operator()(bitstream* bits) const { stream_close(bits); }
};

// One stream, to be read or written.
class ZfpStream {
 public:
  explicit ZfpStream(const ZfpArray& array)
      : stream_(zfp_stream_open(nullptr)), field_(zfp_field_alloc()), array_(array) {}

  [[nodiscard]] bool is_made() const { return stream_ && field_; }

  Status SetMode(const ZfpMode& mode) {
    SetField(nullptr);
    const auto dimensions = static_cast<unsigned>(array_.shape.size());
    switch (mode.kind) {
      case ZfpMode::Kind::kReversible:
        zfp_stream_set_reversible(stream_.get());
        break;
      case ZfpMode::Kind::kRate:
        zfp_stream_set_rate(stream_.get(), mode.number, field_->type, dimensions, zfp_false);
        break;
      case ZfpMode::Kind::kPrecision:
        zfp_stream_set_precision(stream_.get(), mode.precision);
        break;
      case ZfpMode::Kind::kAccuracy:
        zfp_stream_set_accuracy(stream_.get(), mode.number);
        break;
      case ZfpMode::Kind::kExpert:
        if (zfp_stream_set_params(stream_.get(), mode.expert[0], mode.expert[1], mode.expert[2],
                                  mode.min_exponent) == zfp_true) {
          break;
        }
        return Fail(ErrorCode::kInvalidArgument, "zfp: it refuses these parameters");
    }
    return {};
  }

  // zfp does not know where a stream ends: zeros follow it.
  Result<ByteVector> Read(ByteSpan encoded, bool has_header) {
    Open(encoded, kHeaderBytes);
    if (has_header) UNSHARD_RETURN_IF_ERROR(ReadHeader());
    SetField(nullptr);
    const std::uint64_t most = zfp_stream_maximum_size(stream_.get(), field_.get());
    if (most == 0 || most > MostBytes()) return Damaged("zfp", "expected other parameters");
    Open(encoded, most + kHeaderBytes);
    if (has_header) UNSHARD_RETURN_IF_ERROR(ReadHeader());
    ByteVector decoded(*VoxelBytes(array_.type, array_.shape));
    SetField(decoded.data());
    const std::size_t read = zfp_decompress(stream_.get(), field_.get());
    if (read == 0 || read > encoded.size()) return Damaged("zfp", "the stream is cut short");
    return decoded;
  }

  Result<ByteVector> Write(ByteVector plain, bool has_header) {
    SetField(plain.data());
    Open({}, zfp_stream_maximum_size(stream_.get(), field_.get()) + kHeaderBytes);
    if (has_header && zfp_write_header(stream_.get(), field_.get(), ZFP_HEADER_FULL) == 0) {
      return Fail(ErrorCode::kInvalidArgument, "zfp: it cannot write a header");
    }
    const std::size_t written = zfp_compress(stream_.get(), field_.get());
    if (written == 0) return Fail(ErrorCode::kInvalidArgument, "zfp: it cannot encode the chunk");
    // Streams have whole words of 8 bytes, also where the library writes single bytes.
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(words_.data());
    return ByteVector(bytes, bytes + (written + 7) / 8 * 8);
  }

 private:
  static constexpr std::uint64_t kHeaderBytes = 64;

  // What blocks of 4 items in each dimension take in any mode that is of use.
  [[nodiscard]] std::uint64_t MostBytes() const {
    std::uint64_t items = 1;
    for (const std::uint64_t extent : array_.shape) items *= (extent + 3) / 4 * 4;
    return items * array_.type.size * 4 + 4096;
  }

  void Open(ByteSpan encoded, std::uint64_t more) {
    words_.assign((encoded.size() + more) / sizeof(std::uint64_t) + 1, 0);
    std::copy(encoded.begin(), encoded.end(), reinterpret_cast<std::uint8_t*>(words_.data()));
    bits_.reset(stream_open(words_.data(), words_.size() * sizeof(std::uint64_t)));
    zfp_stream_set_bit_stream(stream_.get(), bits_.get());
    zfp_stream_rewind(stream_.get());
  }

  void SetField(void* items) {
    field_->type = ZfpTypeOf(array_.type);
    std::size_t* const extents[] = {&field_->nx, &field_->ny, &field_->nz, &field_->nw};
    for (std::size_t d = 0; d < 4; ++d) {
      const std::size_t rank = array_.shape.size();
      *extents[d] = d < rank ? array_.shape[rank - 1 - d] : 0;
    }
    field_->data = items;
  }

  Status ReadHeader() {
    const std::unique_ptr<zfp_field, FreeZfp> found(zfp_field_alloc());
    if (!found || zfp_read_header(stream_.get(), found.get(), ZFP_HEADER_FULL) == 0) {
      return Damaged("zfp", "expected a header");
    }
    SetField(nullptr);
    const bool is_alike = found->type == field_->type && found->nx == field_->nx &&
                          found->ny == field_->ny && found->nz == field_->nz &&
                          found->nw == field_->nw;
    return is_alike ? Status() : Damaged("zfp", "a stream has another type or shape");
  }

  const std::unique_ptr<zfp_stream, FreeZfp> stream_;
  const std::unique_ptr<zfp_field, FreeZfp> field_;
  std::unique_ptr<bitstream, FreeZfp> bits_;
  std::vector<std::uint64_t> words_;
  const ZfpArray array_;
};

Result<ByteVector> ReadZfp(ByteSpan encoded, const ZfpArray& array,
                           const std::optional<ZfpMode>& mode) {
  ZfpStream stream(array);
  if (!stream.is_made()) return NoMemory("zfp");
  if (mode) UNSHARD_RETURN_IF_ERROR(stream.SetMode(*mode));
  return stream.Read(encoded, !mode.has_value());
}

Result<ByteVector> WriteZfp(ByteVector plain, const ZfpArray& array, const ZfpMode& mode,
                            bool has_header) {
  ZfpStream stream(array);
  if (!stream.is_made()) return NoMemory("zfp");
  UNSHARD_RETURN_IF_ERROR(stream.SetMode(mode));
  return stream.Write(std::move(plain), has_header);
}

std::string ZfpVersion() {
  const unsigned version = zfp_library_version;
  return std::to_string(version >> 12) + "." + std::to_string(version >> 8 & 15) + "." +
         std::to_string(version >> 4 & 15);
}

constexpr Library kLibzfp = {"zfp", "libzfp", ZfpVersion};

#else
constexpr Library kLibzfp = {"zfp", "libzfp"};

Result<ByteVector> ReadZfp(ByteSpan, const ZfpArray&, const std::optional<ZfpMode>&) {
  return NotInBuild(kLibzfp, "zfp");
}
Result<ByteVector> WriteZfp(ByteVector, const ZfpArray&, const ZfpMode&, bool) {
  return NotInBuild(kLibzfp, "zfp");
}
#endif

// --- Zarr

bool IsZfpType(const DataType& type) {
  if (type.kind == Kind::kFloat || type.kind == Kind::kSigned) {
    return type.size >= 4 || type.kind == Kind::kSigned;
  }
  return type.kind == Kind::kUnsigned && type.size <= 2;
}

class Zfp final : public ArrayToBytesCodec {
 public:
  // `has_header`: of zfp, which tells how to read the stream.
  Zfp(const CodecSpec& spec, const DataType& type, const ZfpMode& mode, bool has_header)
      : subject_(spec.at()),
        key_(spec.DecodingKey()),
        type_(type),
        mode_(mode),
        has_header_(has_header) {}

  [[nodiscard]] Status CanDecode() const override {
    return kLibzfp.in_build() ? Status() : NotInBuild(kLibzfp, subject_);
  }
  [[nodiscard]] bool is_lossless() const override {
    return mode_.kind == ZfpMode::Kind::kReversible;
  }
  [[nodiscard]] JsonValue DecodingKey() const override { return key_; }

  [[nodiscard]] Result<ByteVector> Encode(Voxels decoded) const override {
    const ZfpArray array = ArrayOf(decoded.shape());
    if (decoded.bytes().empty()) return ByteVector();
    ByteVector items = std::move(decoded).TakeBytes();
    if (type_.size < 4) items = Promoted(items);
    return WriteZfp(std::move(items), array, mode_, has_header_);
  }
  [[nodiscard]] Result<Voxels> Decode(ByteSpan encoded, ShapeSpan shape) const override {
    UNSHARD_ASSIGN_OR_RETURN(const std::uint64_t size, VoxelBytes(type_, shape));
    Shape voxels(shape.begin(), shape.end());
    if (size == 0) return Voxels::Make(type_, std::move(voxels), {});
    const auto mode = has_header_ ? std::nullopt : std::optional(mode_);
    UNSHARD_ASSIGN_OR_RETURN(ByteVector items, ReadZfp(encoded, ArrayOf(shape), mode));
    if (type_.size < 4) items = Demoted(items);
    return Voxels::Make(type_, std::move(voxels), std::move(items));
  }

 private:
  [[nodiscard]] ZfpArray ArrayOf(ShapeSpan shape) const {
    ZfpArray array{type_, {shape.begin(), shape.end()}};
    if (array.shape.empty()) array.shape = {1};
    if (type_.size < 4) array.type = {Kind::kSigned, 4};
    return array;
  }

  // Integers of 1 and 2 bytes, as the upper bits of 31.
  [[nodiscard]] int unused_bits() const { return 31 - 8 * static_cast<int>(type_.size); }
  [[nodiscard]] std::int32_t middle() const {
    return type_.kind == Kind::kUnsigned ? 1 << (8 * type_.size - 1) : 0;
  }
  [[nodiscard]] ByteVector Promoted(ByteSpan items) const {
    ByteVector promoted;
    for (std::size_t at = 0; at < items.size(); at += type_.size) {
      const std::uint64_t bits = LoadLe(&items[at], type_.size);
      const unsigned above = 64 - 8 * type_.size;
      const auto value =
          type_.kind == Kind::kSigned
              ? static_cast<std::int32_t>(static_cast<std::int64_t>(bits << above) >> above)
              : static_cast<std::int32_t>(bits);
      AppendU32Le(promoted, static_cast<std::uint32_t>(value - middle()) << unused_bits());
    }
    return promoted;
  }
  [[nodiscard]] ByteVector Demoted(ByteSpan items) const {
    const std::int32_t half = 1 << (8 * type_.size - 1);
    ByteVector demoted;
    for (std::size_t at = 0; at < items.size(); at += 4) {
      const auto value = static_cast<std::int32_t>(LoadLe(&items[at], 4)) >> unused_bits();
      AppendLe(demoted, static_cast<std::uint32_t>(std::clamp(value, -half, half - 1) + middle()),
               type_.size);
    }
    return demoted;
  }

  const std::string subject_;
  const JsonValue key_;
  const DataType type_;
  const ZfpMode mode_;
  const bool has_header_;
};

Result<unsigned> ParseUnsignedOption(const CodecSpec& spec, const char* key, std::uint64_t most) {
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor member, spec.options().Member(key));
  UNSHARD_ASSIGN_OR_RETURN(const std::uint64_t value, member.Unsigned(0, most));
  return static_cast<unsigned>(value);
}

Result<ZfpMode> ParseZfpMode(const CodecSpec& spec) {
  constexpr std::uint64_t kMostBits = 1 << 15;
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor member, spec.options().Member("mode"));
  UNSHARD_ASSIGN_OR_RETURN(const std::string name, member.String());
  ZfpMode mode;
  if (name == "reversible") return mode;
  if (name == "fixed_rate" || name == "fixed_accuracy") {
    const bool is_rate = name == "fixed_rate";
    mode.kind = is_rate ? ZfpMode::Kind::kRate : ZfpMode::Kind::kAccuracy;
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor number,
                             spec.options().Member(is_rate ? "rate" : "tolerance"));
    UNSHARD_ASSIGN_OR_RETURN(mode.number, FiniteNumberAt(number));
    if (mode.number <= 0 || (is_rate && mode.number > 64)) {
      return number.Expected(is_rate ? "a rate above 0, at most 64" : "a number above 0");
    }
    return mode;
  }
  if (name == "fixed_precision") {
    mode.kind = ZfpMode::Kind::kPrecision;
    UNSHARD_ASSIGN_OR_RETURN(mode.precision, ParseUnsignedOption(spec, "precision", 64));
    return mode;
  }
  if (name != "expert") {
    return member.Expected(
        "\"reversible\", \"fixed_rate\", \"fixed_precision\", \"fixed_accuracy\" or \"expert\"");
  }
  mode.kind = ZfpMode::Kind::kExpert;
  UNSHARD_ASSIGN_OR_RETURN(mode.expert[0], ParseUnsignedOption(spec, "minbits", kMostBits));
  UNSHARD_ASSIGN_OR_RETURN(mode.expert[1], ParseUnsignedOption(spec, "maxbits", kMostBits));
  UNSHARD_ASSIGN_OR_RETURN(mode.expert[2], ParseUnsignedOption(spec, "maxprec", 64));
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor exponent, spec.options().Member("minexp"));
  UNSHARD_ASSIGN_OR_RETURN(const std::int64_t value, exponent.Integer(-16384, 16384));
  mode.min_exponent = static_cast<int>(value);
  return mode;
}

Result<ArrayToBytesCodecPtr> BindZfp(const CodecSpec& spec, const ArrayRepresentation& decoded) {
  if (!IsZfpType(decoded.type) || decoded.rank > 4) {
    return Fail(ErrorCode::kNotSupported, spec.at(),
                " takes up to 4 dimensions of int8 to int64, uint8, uint16, float32 or float64");
  }
  UNSHARD_ASSIGN_OR_RETURN(const ZfpMode mode, ParseZfpMode(spec));
  return std::make_shared<Zfp>(spec, decoded.type, mode, false);
}

// numcodecs numbers the modes as zfp does. Without a tolerance an accurate stream is reversible.
Result<ZfpMode> ParseZfpyMode(const CodecSpec& spec) {
  ZfpMode mode;
  UNSHARD_ASSIGN_OR_RETURN(const auto member, spec.options().Find("mode"));
  std::uint64_t number = 4;
  if (member) {
    UNSHARD_ASSIGN_OR_RETURN(number, member->Unsigned(2, 5));
  }
  if (number == 5) return mode;
  const char* const names[] = {"rate", "precision", "tolerance"};
  UNSHARD_ASSIGN_OR_RETURN(const auto option, spec.options().Find(names[number - 2]));
  double value = -1;
  if (option) {
    UNSHARD_ASSIGN_OR_RETURN(value, FiniteNumberAt(*option));
  }
  if (value < 0) return mode;
  if (value == 0 || (number < 4 && value > 64)) {
    return option->Expected("-1 or a number above 0, for a rate or precision at most 64");
  }
  constexpr ZfpMode::Kind kKinds[] = {ZfpMode::Kind::kRate, ZfpMode::Kind::kPrecision,
                                      ZfpMode::Kind::kAccuracy};
  mode.kind = kKinds[number - 2];
  mode.number = value;
  mode.precision = static_cast<unsigned>(std::min(value, 64.0));
  return mode;
}

Result<ArrayToBytesCodecPtr> BindZfpy(const CodecSpec& spec, const ArrayRepresentation& decoded) {
  const bool is_taken = IsZfpType(decoded.type) && decoded.type.size >= 4 && decoded.rank <= 4;
  if (!is_taken || decoded.big_endian) {
    return Fail(ErrorCode::kNotSupported, spec.at(),
                " takes up to 4 dimensions of little-endian int32, int64, float32 or float64");
  }
  UNSHARD_ASSIGN_OR_RETURN(const ZfpMode mode, ParseZfpyMode(spec));
  return std::make_shared<Zfp>(spec, decoded.type, mode, true);
}

// --- Precomputed volumes

constexpr const char* kZfpcChunk = "zfpc chunk";
constexpr std::uint64_t kZfpcHeader = 23;

class Zfpc final : public VolumeEncoding {
 public:
  explicit Zfpc(EncodedVolume volume) : VolumeEncoding(std::move(volume), &kLibzfp) {}

  [[nodiscard]] bool is_lossless() const override { return false; }
  [[nodiscard]] Status CanEncode() const override { return OnlyRead(); }
  [[nodiscard]] std::uint64_t NeededBytes(std::uint64_t size) const override {
    return std::min(size, kZfpcHeader);
  }

 protected:
  [[nodiscard]] Result<ByteVector> DecodeChunk(ByteSpan encoded,
                                               const VolumeExtent& extent) const override {
    UNSHARD_RETURN_IF_ERROR(CheckChunk(encoded, encoded.size(), extent));
    const unsigned compressed = encoded[22];
    const Shape whole = {extent[0], extent[1], extent[2], volume().channels};
    // The positions that have a stream, and the extents of each stream.
    Shape streams = whole, inner;
    for (std::size_t d = 0; d < whole.size(); ++d) {
      if ((compressed >> d & 1) == 0 || (d == 3 && LoadLe(encoded.data() + 18, 4) == 0)) continue;
      streams[d] = 1;
      inner.push_back(whole[d]);
    }
    const std::uint64_t count = streams[0] * streams[1] * streams[2] * streams[3];
    const std::uint64_t index_end = kZfpcHeader + 8 + 8 * count;
    if (inner.empty() || count > encoded.size() / 8 || index_end > encoded.size() ||
        LoadLe(encoded.data() + kZfpcHeader, 8) != index_end) {
      return Damaged(kZfpcChunk, "expected dimensions that are compressed, and an index of ", count,
                     " streams");
    }
    ByteVector decoded(*VoxelBytes(volume().type, whole));
    ByteSpan rest = encoded.subspan(index_end);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t size = LoadLe(encoded.data() + kZfpcHeader + 8 + 8 * i, 8);
      if (size > rest.size()) return Damaged(kZfpcChunk, "its streams do not fit");
      UNSHARD_ASSIGN_OR_RETURN(const ByteVector items,
                               ReadZfp(rest.first(size), {volume().type, inner}, std::nullopt));
      Place(items, whole, streams, i, decoded);
      rest = rest.subspan(size);
    }
    return decoded;
  }

  // The header.
  [[nodiscard]] Status CheckChunk(ByteSpan start, std::uint64_t /*size*/,
                                  const VolumeExtent& extent) const override {
    if (start.size() < kZfpcHeader || !AsText(start).starts_with("zfpc") || start[4] != 0) {
      return RefuseChunk(kZfpcChunk, "expected a header that begins with \"zfpc\" and version 0");
    }
    const bool is_float = volume().type.kind == Kind::kFloat;
    const unsigned type = (is_float ? 3u : 1u) + (volume().type.size == 8 ? 1u : 0u);
    std::array<std::uint64_t, 4> found{};
    for (std::size_t d = 0; d < 4; ++d) {
      found[d] = std::max<std::uint64_t>(LoadLe(start.data() + 6 + 4 * d, 4), 1);
    }
    const std::array<std::uint64_t, 4> expected = {extent[0], extent[1], extent[2],
                                                   volume().channels};
    if ((start[5] & 7u) == type && found == expected) return {};
    return RefuseChunk(kZfpcChunk, "expected ", ExtentText(extent), " voxels of ",
                       DataTypeName(volume().type), " and ", volume().channels,
                       " channels, found another header");
  }

 private:
  // Puts the items of stream number `i` at their places, x fastest.
  void Place(ByteSpan items, const Shape& whole, const Shape& streams, std::uint64_t i,
             ByteVector& decoded) const {
    Shape at(4), extents(4);
    for (std::size_t d = 0; d < 4; ++d) {
      at[d] = i % streams[d];
      i /= streams[d];
      extents[d] = streams[d] == 1 ? whole[d] : 1;
    }
    const std::uint32_t size = volume().type.size;
    const std::uint8_t* next = items.data();
    for (std::uint64_t x = 0; x < extents[0]; ++x) {
      for (std::uint64_t y = 0; y < extents[1]; ++y) {
        for (std::uint64_t z = 0; z < extents[2]; ++z) {
          for (std::uint64_t c = 0; c < extents[3]; ++c, next += size) {
            const std::uint64_t voxel =
                at[0] + x +
                whole[0] * (at[1] + y + whole[1] * (at[2] + z + whole[2] * (at[3] + c)));
            std::copy(next, next + size, decoded.data() + voxel * size);
          }
        }
      }
    }
  }
};

Result<ArrayToBytesCodecPtr> BindZfpc(const CodecSpec& spec, const ArrayRepresentation& decoded) {
  UNSHARD_ASSIGN_OR_RETURN(EncodedVolume volume, EncodedVolumeOf(spec, decoded));
  const bool is_taken = (volume.type.kind == Kind::kFloat || volume.type.kind == Kind::kSigned) &&
                        volume.type.size >= 4;
  if (!is_taken) return RefuseVolume(volume, "int32, int64, float32 or float64");
  return std::make_shared<Zfpc>(std::move(volume));
}

}  // namespace

const Library& Libzfp() { return kLibzfp; }

const CodecDefinition& ZfpCodec() {
  static constexpr CodecDefinition::Name kNames[] = {{Dialect::kZarr3, "zfp"}};
  static constexpr CodecDefinition kDefinition{.names = kNames, .bind = &BindZfp};
  return kDefinition;
}

const CodecDefinition& ZfpyCodec() {
  static constexpr CodecDefinition::Name kNames[] = {{Dialect::kZarr2, "zfpy"}};
  static constexpr CodecDefinition kDefinition{
      .names = kNames, .bind = &BindZfpy, .describes_itself = true};
  return kDefinition;
}

const CodecDefinition& ZfpcCodec() {
  static constexpr CodecDefinition::Name kNames[] = {{Dialect::kPrecomputed, "zfpc"}};
  static constexpr CodecDefinition kDefinition{kNames, &BindZfpc};
  return kDefinition;
}

}  // namespace unshard
