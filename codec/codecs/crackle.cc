// The crackle encoding of precomputed volumes (reading only).
//
// All integers are little-endian and unaligned.
//    0  "crkl", version (0 or 1), the format's bits (2 bytes), the extents x, y, z (4 bytes each)
//   19  log2 of the grid size, 31: one grid a slice
//   20  bytes of the labels: 4 bytes; in version 1, 8 bytes and then a crc8 of the header
//       a crack index: the size of each slice's crack code, 4 bytes each; version 1: their crc32c
//       labels; a Markov model; the crack codes (codec/codecs/crackle_slice.h)
//       version 1: the crc32c of the labels, and for each slice that of its components' numbers
// Bits of the format: 0-1 log2 of the bytes of a voxel; 2-3 of a stored label; 4 permissible crack
// codes; 5-6 labels: 0 flat, 2 pins; 8 signed; 9-12 order of the Markov model. The others describe
// only the writer's array.
//
// Flat labels: their number (8 bytes); the labels; the number of components of each slice; for each
// component the number of its label.
// Pins: the background label; the number of labels (8 bytes); the labels; the number of components
// of each slice; the sizes of counts, depths and components, as two bits each; for each label: a
// count, as many voxels, and as many depths; a count, and as many components. A pin labels the
// components at its voxel and at as many slices after it as its depth. Voxels and components are
// differences to the ones before. Components are counted over all slices.
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "codec/codecs/codecs.h"
#include "codec/codecs/compressor.h"
#include "codec/codecs/crackle_slice.h"
#include "codec/codecs/volume_encoding.h"
#include "codec/core/byte_range.h"
#include "codec/core/crc32c.h"
#include "codec/grid/chunk_check.h"

namespace unshard {
namespace {

constexpr const char* kCrackleChunk = "crackle chunk";
constexpr std::uint64_t kCrackleHeader = 24;
constexpr std::uint64_t kVersion1Header = 29;
constexpr std::uint64_t kMaxCrackleVoxels = (std::uint64_t{1} << 32) - 1;

// Numbers and parts of bytes, one after the other. After the end all are 0 and empty, and `fits` is
// false.
struct CrackleBytes {
  ByteSpan rest;
  bool fits = true;

  ByteSpan Take(std::uint64_t size) {
    if (size > rest.size()) fits = false;
    if (!fits) return {};
    const ByteSpan part = rest.first(size);
    rest = rest.subspan(size);
    return part;
  }
  std::uint64_t Number(std::uint64_t size) {
    const ByteSpan part = Take(size);
    return part.empty() ? 0 : LoadLe(part.data(), size);
  }
  // `count` numbers of `size` bytes.
  ByteSpan List(std::uint64_t count, std::uint64_t size) {
    if (count > rest.size() / size) fits = false;
    return Take(fits ? count * size : 0);
  }
};

struct CrackleHeader {
  unsigned version = 0;
  std::uint64_t voxel_size = 0, label_size = 0;
  bool is_permissible = false, has_pins = false, is_signed = false;
  unsigned model_order = 0;
  VolumeExtent extent{};
  std::uint64_t labels_size = 0;

  [[nodiscard]] std::uint64_t slice_voxels() const { return extent[0] * extent[1]; }
};

std::uint8_t Crc8(ByteSpan bytes) {
  unsigned crc = 0xff;
  for (const std::uint8_t byte : bytes) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? crc >> 1 ^ 0xe7 : crc >> 1;
  }
  return static_cast<std::uint8_t>(crc);
}

Result<CrackleHeader> ParseHeader(CrackleBytes& bytes) {
  const ByteSpan whole = bytes.rest;
  if (whole.size() < kCrackleHeader || !AsText(whole).starts_with("crkl") || whole[4] > 1) {
    return Damaged(kCrackleChunk, "expected a header that begins with \"crkl\" and version 0 or 1");
  }
  CrackleHeader header;
  header.version = whole[4];
  const auto format = static_cast<unsigned>(LoadLe(whole.data() + 5, 2));
  header.voxel_size = std::uint64_t{1} << (format & 3);
  header.label_size = std::uint64_t{1} << (format >> 2 & 3);
  header.is_permissible = (format >> 4 & 1) != 0;
  const unsigned labels = format >> 5 & 3;
  header.has_pins = labels == 2;
  header.is_signed = (format >> 8 & 1) != 0;
  header.model_order = format >> 9 & 15;
  for (std::size_t d = 0; d < 3; ++d) header.extent[d] = LoadLe(whole.data() + 7 + 4 * d, 4);
  if (whole[19] != 31 || labels % 2 != 0) {
    return Damaged(kCrackleChunk, "expected one grid a slice, and flat labels or pins");
  }
  bytes.Take(20);
  header.labels_size = bytes.Number(header.version == 0 ? 4 : 8);
  if (header.version == 0) return header;
  const std::uint64_t checksum = bytes.Number(1);
  if (!bytes.fits || checksum != Crc8(whole.subspan(5, kVersion1Header - 6))) {
    return Damaged(kCrackleChunk, "the checksum of its header does not match");
  }
  return header;
}

// The parts of a chunk after its header.
struct CrackleParts {
  ByteSpan labels;
  CrackleModel model;
  std::vector<ByteSpan> codes;  // of each slice
  ByteSpan checksums;           // of the components of each slice; empty in version 0
};

Result<CrackleParts> SplitChunk(const CrackleHeader& header, CrackleBytes& bytes) {
  const std::uint64_t slices = header.extent[2];
  const ByteSpan sizes = bytes.List(slices, 4);
  const bool has_checksums = header.version == 1;
  if (has_checksums && bytes.Number(4) != Crc32c(sizes)) {
    return Damaged(kCrackleChunk, "the checksum of its index does not match");
  }
  CrackleParts parts;
  parts.labels = bytes.Take(header.labels_size);
  const ByteSpan model = bytes.Take(CrackleModel::ByteSize(header.model_order));
  for (std::uint64_t z = 0; z < slices && bytes.fits; ++z) {
    parts.codes.push_back(bytes.Take(LoadLe(sizes.data() + 4 * z, 4)));
  }
  const std::uint64_t labels_checksum = has_checksums ? bytes.Number(4) : 0;
  if (has_checksums) parts.checksums = bytes.List(slices, 4);
  if (!bytes.fits) {
    return Damaged(kCrackleChunk, "the parts that its header announces do not fit");
  }
  if (has_checksums && labels_checksum != Crc32c(parts.labels)) {
    return Damaged(kCrackleChunk, "the checksum of its labels does not match");
  }
  if (header.model_order > 0) parts.model = CrackleModel(header.model_order, model);
  return parts;
}

// The components of all slices: the number of each voxel's in its slice, and how many the slices
// before have.
struct CrackleVolume {
  std::vector<std::uint32_t> numbers;
  std::vector<std::uint64_t> before;  // one more than there are slices
};

Result<CrackleVolume> DecodeSlices(const CrackleHeader& header, const CrackleParts& parts) {
  const CrackleForm form{header.extent[0], header.extent[1], header.is_permissible, parts.model};
  CrackleVolume volume;
  volume.before = {0};
  for (std::size_t z = 0; z < parts.codes.size(); ++z) {
    UNSHARD_ASSIGN_OR_RETURN(const CrackleComponents slice,
                             DecodeCrackleSlice(form, parts.codes[z]));
    if (!parts.checksums.empty()) {
      ByteVector numbers;
      for (const std::uint32_t number : slice.numbers) AppendU32Le(numbers, number);
      if (LoadLe(parts.checksums.data() + 4 * z, 4) != Crc32c(numbers)) {
        return Damaged(kCrackleChunk, "the checksum of slice ", z, " does not match");
      }
    }
    volume.numbers.insert(volume.numbers.end(), slice.numbers.begin(), slice.numbers.end());
    volume.before.push_back(volume.before.back() + slice.count);
  }
  return volume;
}

// The label of each component, by the bytes of `labels`.
class ComponentLabels {
 public:
  ComponentLabels(const CrackleHeader& header, const CrackleVolume& volume, ByteSpan labels)
      : header_(header), volume_(volume), bytes_{labels} {}

  Result<std::vector<std::uint64_t>> Read() {
    const std::uint64_t background = header_.has_pins ? bytes_.Number(header_.label_size) : 0;
    const std::uint64_t count = bytes_.Number(8);
    labels_ = bytes_.List(count, header_.label_size);
    if (!bytes_.fits) return DamagedLabels();
    for (std::size_t z = 0; z + 1 < volume_.before.size(); ++z) {
      const std::uint64_t components = volume_.before[z + 1] - volume_.before[z];
      if (bytes_.Number(CrackleWidth(header_.slice_voxels())) == components) continue;
      return Damaged(kCrackleChunk, "slice ", z, " has another number of components: ", components);
    }
    of_components_.assign(volume_.before.back(), Widened(background));
    const bool done = header_.has_pins ? ReadPins(count) : ReadFlat(count);
    if (!done || !bytes_.fits) return DamagedLabels();
    return std::move(of_components_);
  }

 private:
  static tl::unexpected<Error> DamagedLabels() {
    return Damaged(kCrackleChunk, "its labels end early, or name what does not exist");
  }

  // A stored label, with as many bytes as a voxel.
  [[nodiscard]] std::uint64_t Widened(std::uint64_t stored) const {
    const unsigned unused = 64 - 8 * static_cast<unsigned>(header_.label_size);
    if (!header_.is_signed) return stored;
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(stored << unused) >> unused);
  }
  [[nodiscard]] std::uint64_t Label(std::uint64_t number) const {
    return Widened(LoadLe(labels_.data() + number * header_.label_size, header_.label_size));
  }

  bool ReadFlat(std::uint64_t count) {
    for (std::uint64_t& label : of_components_) {
      const std::uint64_t number = bytes_.Number(CrackleWidth(count));
      if (!bytes_.fits || number >= count) return false;
      label = Label(number);
    }
    return true;
  }

  bool ReadPins(std::uint64_t count) {
    const std::uint64_t sizes = bytes_.Number(1);
    const std::uint64_t count_size = std::uint64_t{1} << (sizes & 3);
    const std::uint64_t depth_size = std::uint64_t{1} << (sizes >> 2 & 3);
    const std::uint64_t component_size = std::uint64_t{1} << (sizes >> 4 & 3);
    const std::uint64_t voxel_size = CrackleWidth(header_.slice_voxels() * header_.extent[2]);
    struct Pins {
      ByteSpan voxels, depths;
    };
    std::vector<Pins> pins;
    for (std::uint64_t label = 0; label < count && bytes_.fits; ++label) {
      const std::uint64_t pin_count = bytes_.Number(count_size);
      pins.push_back({bytes_.List(pin_count, voxel_size), bytes_.List(pin_count, depth_size)});
      const std::uint64_t components = bytes_.Number(count_size);
      std::uint64_t component = 0;
      for (std::uint64_t i = 0; i < components && bytes_.fits; ++i) {
        component += bytes_.Number(component_size);
        if (component >= of_components_.size()) return false;
        of_components_[component] = Label(label);
      }
    }
    if (!bytes_.fits) return false;
    // Pins are set after all components that are listed.
    for (std::uint64_t label = 0; label < count; ++label) {
      const auto& [voxels, depths] = pins[label];
      std::uint64_t voxel = 0;
      for (std::uint64_t i = 0; i * voxel_size < voxels.size(); ++i) {
        voxel += LoadLe(voxels.data() + i * voxel_size, voxel_size);
        if (!SetPin(voxel, LoadLe(depths.data() + i * depth_size, depth_size), Label(label))) {
          return false;
        }
      }
    }
    return true;
  }

  bool SetPin(std::uint64_t voxel, std::uint64_t depth, std::uint64_t label) {
    const std::uint64_t slice = header_.slice_voxels();
    if (voxel >= volume_.numbers.size() || depth > header_.extent[2]) return false;
    const std::uint64_t first = voxel / slice;
    if (first + depth >= header_.extent[2]) return false;
    for (std::uint64_t z = first; z <= first + depth; ++z) {
      const std::uint64_t number = volume_.numbers[voxel % slice + z * slice];
      of_components_[volume_.before[z] + number] = label;
    }
    return true;
  }

  const CrackleHeader& header_;
  const CrackleVolume& volume_;
  CrackleBytes bytes_;
  ByteSpan labels_;
  std::vector<std::uint64_t> of_components_;
};

Result<ByteVector> DecodeCrackle(ByteSpan encoded, const VolumeExtent& extent,
                                 std::uint64_t voxel_size) {
  CrackleBytes bytes{encoded};
  UNSHARD_ASSIGN_OR_RETURN(const CrackleHeader header, ParseHeader(bytes));
  if (header.extent != extent || header.voxel_size != voxel_size) {
    return Damaged(kCrackleChunk, "expected ", ExtentText(extent), " voxels of ", voxel_size,
                   " bytes, found ", ExtentText(header.extent), " of ", header.voxel_size);
  }
  const auto voxels = CheckedProduct(extent);
  if (!voxels || *voxels > kMaxCrackleVoxels) {
    return Fail(ErrorCode::kResourceExhausted, kCrackleChunk,
                ": expected fewer than 2^32 voxels, found ", ExtentText(extent));
  }
  UNSHARD_ASSIGN_OR_RETURN(const CrackleParts parts, SplitChunk(header, bytes));
  UNSHARD_ASSIGN_OR_RETURN(const CrackleVolume volume, DecodeSlices(header, parts));
  UNSHARD_ASSIGN_OR_RETURN(const auto labels, ComponentLabels(header, volume, parts.labels).Read());
  ByteVector decoded(*voxels * voxel_size);
  const std::uint64_t slice = header.slice_voxels();
  for (std::uint64_t voxel = 0; voxel < *voxels; ++voxel) {
    const std::uint64_t component = volume.before[voxel / slice] + volume.numbers[voxel];
    StoreLe(decoded.data() + voxel * voxel_size, labels[component], voxel_size);
  }
  return decoded;
}

class Crackle final : public VolumeEncoding {
 public:
  using VolumeEncoding::VolumeEncoding;

  [[nodiscard]] Status CanEncode() const override { return OnlyRead(); }
  [[nodiscard]] std::uint64_t NeededBytes(std::uint64_t size) const override {
    return std::min(size, kVersion1Header);
  }

 protected:
  [[nodiscard]] Result<ByteVector> DecodeChunk(ByteSpan encoded,
                                               const VolumeExtent& extent) const override {
    return DecodeCrackle(encoded, extent, volume().type.size);
  }
  // The header.
  [[nodiscard]] Status CheckChunk(ByteSpan start, std::uint64_t /*size*/,
                                  const VolumeExtent& extent) const override {
    CrackleBytes bytes{start};
    const auto header = ParseHeader(bytes);
    if (!header) return Fail(ErrorCode::kInvalidArgument, header.error().message);
    if (header->extent == extent) return {};
    return RefuseChunk(kCrackleChunk, "expected ", ExtentText(extent), " voxels, found ",
                       ExtentText(header->extent));
  }
};

Result<ArrayToBytesCodecPtr> BindCrackle(const CodecSpec& spec,
                                         const ArrayRepresentation& decoded) {
  UNSHARD_ASSIGN_OR_RETURN(EncodedVolume volume, EncodedVolumeOf(spec, decoded));
  const bool is_integer =
      volume.type.kind == DataType::Kind::kUnsigned || volume.type.kind == DataType::Kind::kSigned;
  if (!is_integer || volume.channels != 1) return RefuseVolume(volume, "integers and 1 channel");
  return std::make_shared<Crackle>(std::move(volume));
}

}  // namespace

const CodecDefinition& CrackleCodec() {
  static constexpr CodecDefinition::Name kNames[] = {{Dialect::kPrecomputed, "crackle"}};
  static constexpr CodecDefinition kDefinition{kNames, &BindCrackle};
  return kDefinition;
}

}  // namespace unshard
