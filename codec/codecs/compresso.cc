// The compresso encoding of precomputed volumes (reading only).
//
// All integers are little-endian and unaligned.
//    0  "cpso", version (0 or 1), bytes of a label (1, 2, 4 or 8)
//    6  the extents x, y, z of the chunk, 2 bytes each
//   12  the extents x, y, z of a window, 1 byte each
//   15  counts: labels (8 bytes), window values (4), locations (4)
//   35  connectivity: 4 or 6
//   36  labels; window values; locations (of the size of a label); windows; and in version 1 an
//       index of the slices
// A window value has 1, 2, 4 or 8 bytes, with a bit for each voxel of a window, x fastest: 1 for a
// voxel on a boundary between labels. The windows of the chunk, x fastest, are numbers of the size
// of a window value: an even number 2n is one window with window value number n, an odd number 2n +
// 1 is n windows with window value number 0.
//
// The voxels that are not on a boundary form connected components, within a slice (connectivity 4)
// or in three dimensions (6). Components are in the order of their first voxels: the n-th one has
// the n-th label. The labels of voxels on a boundary follow from these and from the locations: step
// 3 below.
//
// Decoding:
// 1. Expand the windows to a mask of the voxels on boundaries.
// 2. Number the components of the other voxels: a scan gives each voxel the number of a neighbour
//    before it, and joins the numbers of neighbours that differ. A joined set is named by its least
//    number, which the first voxel of the component was given: in ascending order, these are the
//    components in the order of their first voxels.
// 3. Voxels on a boundary take, in their order, the label of the voxel before them along x, or else
//    along y, or else (connectivity 6) along z, unless that is on a boundary as well; else the next
//    location says which: 0 to 5 a neighbour (x-1, x+1, y-1, y+1, z-1, z+1), 6 that the label
//    itself follows, more the label plus 7.
#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codec/codecs/codecs.h"
#include "codec/codecs/compressor.h"
#include "codec/codecs/number_sets.h"
#include "codec/codecs/volume_encoding.h"
#include "codec/core/byte_range.h"
#include "codec/grid/chunk_check.h"

namespace unshard {
namespace {

constexpr const char* kCompressoChunk = "compresso chunk";
constexpr std::uint64_t kCompressoHeader = 36;
// Components are counted in 32 bits.
constexpr std::uint64_t kMaxVoxels = (std::uint64_t{1} << 32) - 1;

// The parts of a chunk.
struct Parts {
  VolumeExtent shape{};
  VolumeExtent window{};
  bool joins_slices = false;     // connectivity 6
  std::uint64_t value_size = 0;  // bytes of a window value and of a window
  ByteSpan labels;
  ByteSpan values;
  ByteSpan locations;
  ByteSpan windows;
};

// The bytes of an integer that can count to `count`, in the index of slices.
std::uint64_t CounterSize(std::uint64_t count) {
  if (count < 0xff) return 1;
  if (count < 0xffff) return 2;
  return count < 0xffffffff ? 4 : 8;
}

Result<Parts> Split(ByteSpan encoded, const VolumeExtent& shape, std::uint64_t label_size) {
  if (encoded.size() < kCompressoHeader || !AsText(encoded).starts_with("cpso") || encoded[4] > 1) {
    return Damaged(kCompressoChunk,
                   "expected a header that begins with \"cpso\" and version 0 or 1");
  }
  const std::uint8_t* const header = encoded.data();
  if (header[5] != label_size) {
    return Damaged(kCompressoChunk, "expected labels of ", label_size, " bytes, found ", header[5]);
  }
  Parts parts;
  for (std::size_t d = 0; d < 3; ++d) {
    parts.shape[d] = LoadLe(header + 6 + 2 * d, 2);
    parts.window[d] = header[12 + d];
  }
  if (parts.shape != shape) {
    return Damaged(kCompressoChunk, "expected a chunk of ", ExtentText(shape), " voxels, found ",
                   ExtentText(parts.shape));
  }
  const std::uint64_t window_voxels = parts.window[0] * parts.window[1] * parts.window[2];
  if (window_voxels == 0 || window_voxels > 64) {
    return Damaged(kCompressoChunk, "expected windows of 1 to 64 voxels, found ",
                   ExtentText(parts.window));
  }
  parts.value_size = window_voxels <= 8 ? 1 : window_voxels <= 16 ? 2 : window_voxels <= 32 ? 4 : 8;
  const unsigned connectivity = header[35];
  if (connectivity != 4 && connectivity != 6) {
    return Damaged(kCompressoChunk, "expected connectivity 4 or 6, found ", connectivity);
  }
  parts.joins_slices = connectivity == 6;

  ByteSpan rest = encoded.subspan(kCompressoHeader);
  const auto take = [&rest](std::uint64_t count, std::uint64_t size) -> std::optional<ByteSpan> {
    if (count > rest.size() / size) return std::nullopt;
    const ByteSpan part = rest.first(count * size);
    rest = rest.subspan(part.size());
    return part;
  };
  const auto labels = take(LoadLe(header + 15, 8), label_size);
  const auto values = labels ? take(LoadLe(header + 23, 4), parts.value_size) : std::nullopt;
  const auto locations = values ? take(LoadLe(header + 27, 4), label_size) : std::nullopt;
  const std::uint64_t index_size =
      encoded[4] == 0 ? 0 : 2 * shape[2] * CounterSize(2 * shape[0] * shape[1]);
  if (!locations || index_size > rest.size()) {
    return Damaged(kCompressoChunk, "the parts announced in its header do not fit into ",
                   encoded.size(), " bytes");
  }
  parts.labels = *labels;
  parts.values = *values;
  parts.locations = *locations;
  parts.windows = rest.first(rest.size() - index_size);
  return parts;
}

// The windows of a chunk, each as the bits of its voxels.
Result<std::vector<std::uint64_t>> ExpandWindows(const Parts& parts, std::uint64_t count) {
  std::vector<std::uint64_t> windows;
  windows.reserve(count);
  const std::uint64_t size = parts.value_size;
  for (std::uint64_t at = 0; at + size <= parts.windows.size(); at += size) {
    const std::uint64_t code = LoadLe(parts.windows.data() + at, size);
    const bool is_run = code % 2 != 0;
    const std::uint64_t index = is_run ? 0 : code / 2;
    const std::uint64_t repeats = is_run ? code / 2 : 1;
    if (index >= parts.values.size() / size || repeats > count - windows.size()) {
      return Damaged(kCompressoChunk, "a window has no value, or there are more than ", count);
    }
    windows.insert(windows.end(), repeats, LoadLe(parts.values.data() + index * size, size));
  }
  if (windows.size() != count || parts.windows.size() % size != 0) {
    return Damaged(kCompressoChunk, "expected ", count, " windows, found ", windows.size());
  }
  return windows;
}

// For each voxel, 1 where it is on a boundary.
Result<ByteVector> MaskBoundaries(const Parts& parts) {
  const VolumeExtent& shape = parts.shape;
  const VolumeExtent& step = parts.window;
  VolumeExtent grid;
  for (std::size_t d = 0; d < 3; ++d) grid[d] = (shape[d] + step[d] - 1) / step[d];
  UNSHARD_ASSIGN_OR_RETURN(const std::vector<std::uint64_t> windows,
                           ExpandWindows(parts, grid[0] * grid[1] * grid[2]));
  ByteVector mask(shape[0] * shape[1] * shape[2]);
  std::uint8_t* voxel = mask.data();
  for (std::uint64_t z = 0; z < shape[2]; ++z) {
    for (std::uint64_t y = 0; y < shape[1]; ++y) {
      const std::uint64_t* window =
          windows.data() + grid[0] * (y / step[1] + grid[1] * (z / step[2]));
      const std::uint64_t shift = step[0] * (y % step[1] + step[1] * (z % step[2]));
      for (std::uint64_t x = 0; x < shape[0]; x += step[0]) {
        std::uint64_t bits = *window++ >> shift;
        for (std::uint64_t i = std::min(step[0], shape[0] - x); i > 0; --i, bits >>= 1) {
          *voxel++ = bits & 1;
        }
      }
    }
  }
  return mask;
}

// The components of the voxels that are not on boundaries.
struct Components {
  std::vector<std::uint32_t> numbers;    // of each voxel; 0 on boundaries
  std::vector<std::uint32_t> positions;  // of each number, the component's, from 1 on
  std::uint32_t count = 0;
};

Components FindComponents(const Parts& parts, const ByteVector& mask) {
  const VolumeExtent& shape = parts.shape;
  const std::uint64_t slice = shape[0] * shape[1];
  std::vector<std::uint32_t> numbers(mask.size());
  NumberSets sets;
  std::uint64_t at = 0;
  for (std::uint64_t z = 0; z < shape[2]; ++z) {
    for (std::uint64_t y = 0; y < shape[1]; ++y) {
      std::uint32_t left = 0;
      for (std::uint64_t x = 0; x < shape[0]; ++x, ++at) {
        if (mask[at] != 0) {
          left = 0;
          continue;
        }
        const std::uint32_t up = y > 0 ? numbers[at - shape[0]] : 0;
        const std::uint32_t before = parts.joins_slices && z > 0 ? numbers[at - slice] : 0;
        std::uint32_t number = left;
        for (const std::uint32_t neighbour : {up, before}) {
          if (neighbour == 0 || neighbour == number) continue;
          number = number == 0 ? neighbour : sets.Join(number, neighbour);
        }
        if (number == 0) number = sets.Add();
        numbers[at] = number;
        left = number;
      }
    }
  }
  auto [positions, count] = std::move(sets).Positions();
  return {std::move(numbers), std::move(positions), count};
}

// The labels, of `kSize` bytes, that the voxels on boundaries are given, in their order.
template <std::size_t kSize>
class BoundaryLabels {
 public:
  // All must outlive the object. `labels` has those of the other voxels.
  BoundaryLabels(const Parts& parts, const ByteVector& mask, std::uint8_t* labels)
      : parts_(parts), mask_(mask), labels_(labels), rest_(parts.locations) {}

  Status Store() {
    const VolumeExtent& shape = parts_.shape;
    std::uint64_t at = 0;
    for (std::uint64_t z = 0; z < shape[2]; ++z) {
      for (std::uint64_t y = 0; y < shape[1]; ++y) {
        for (std::uint64_t x = 0; x < shape[0]; ++x, ++at) {
          if (mask_[at] != 0) UNSHARD_RETURN_IF_ERROR(StoreOne({x, y, z}, at));
        }
      }
    }
    return {};
  }

 private:
  Status StoreOne(const VolumeExtent& position, std::uint64_t at) {
    const std::array<std::uint64_t, 3> steps = {1, parts_.shape[0],
                                                parts_.shape[0] * parts_.shape[1]};
    const std::size_t dimensions = parts_.joins_slices ? 3 : 2;
    for (std::size_t d = 0; d < dimensions; ++d) {
      if (position[d] > 0 && mask_[at - steps[d]] == 0) {
        Copy(at - steps[d], at);
        return {};
      }
    }
    const auto code = Next();
    if (code && *code < 6) {
      const std::size_t d = *code / 2;
      const bool is_before = *code % 2 == 0;
      if (is_before ? position[d] == 0 : position[d] + 1 == parts_.shape[d]) {
        return Damaged(kCompressoChunk, "the location of a neighbour lies outside the chunk");
      }
      Copy(is_before ? at - steps[d] : at + steps[d], at);
      return {};
    }
    const auto label = code == 6 ? Next() : code ? std::optional(*code - 7) : std::nullopt;
    if (!label) return Damaged(kCompressoChunk, "expected a location for each voxel on a boundary");
    StoreLe(labels_ + at * kSize, *label, kSize);
    return {};
  }

  void Copy(std::uint64_t from, std::uint64_t to) {
    std::memcpy(labels_ + to * kSize, labels_ + from * kSize, kSize);
  }

  std::optional<std::uint64_t> Next() {
    if (rest_.empty()) return std::nullopt;
    const std::uint64_t location = LoadLe(rest_.data(), kSize);
    rest_ = rest_.subspan(kSize);
    return location;
  }

  const Parts& parts_;
  const ByteVector& mask_;
  std::uint8_t* const labels_;
  ByteSpan rest_;  // of the locations
};

template <std::size_t kSize>
Result<ByteVector> StoreLabels(const Parts& parts, const ByteVector& mask) {
  const Components components = FindComponents(parts, mask);
  if (components.count > parts.labels.size() / kSize) {
    return Damaged(kCompressoChunk, "expected a label for each of ", components.count,
                   " components, found ", parts.labels.size() / kSize);
  }
  ByteVector labels(mask.size() * kSize);
  for (std::uint64_t voxel = 0; voxel < mask.size(); ++voxel) {
    const std::uint32_t number = components.numbers[voxel];
    if (number == 0) continue;
    const std::uint64_t label = components.positions[number] - 1;
    std::memcpy(labels.data() + voxel * kSize, parts.labels.data() + label * kSize, kSize);
  }
  UNSHARD_RETURN_IF_ERROR(BoundaryLabels<kSize>(parts, mask, labels.data()).Store());
  return labels;
}

Result<ByteVector> DecodeCompresso(ByteSpan encoded, const VolumeExtent& shape,
                                   std::uint64_t label_size) {
  const auto voxels = CheckedProduct(shape);
  if (!voxels || *voxels > kMaxVoxels) {
    return Fail(ErrorCode::kResourceExhausted, kCompressoChunk,
                ": expected fewer than 2^32 voxels, found ", ExtentText(shape));
  }
  UNSHARD_ASSIGN_OR_RETURN(const Parts parts, Split(encoded, shape, label_size));
  UNSHARD_ASSIGN_OR_RETURN(const ByteVector mask, MaskBoundaries(parts));
  switch (label_size) {
    case 1:
      return StoreLabels<1>(parts, mask);
    case 2:
      return StoreLabels<2>(parts, mask);
    case 4:
      return StoreLabels<4>(parts, mask);
    default:
      return StoreLabels<8>(parts, mask);
  }
}

class Compresso final : public VolumeEncoding {
 public:
  using VolumeEncoding::VolumeEncoding;

  [[nodiscard]] Status CanEncode() const override { return OnlyRead(); }
  [[nodiscard]] std::uint64_t NeededBytes(std::uint64_t size) const override {
    return std::min(size, kCompressoHeader);
  }

 protected:
  [[nodiscard]] Result<ByteVector> DecodeChunk(ByteSpan encoded,
                                               const VolumeExtent& extent) const override {
    return DecodeCompresso(encoded, extent, volume().type.size);
  }
  // The signature and the number of voxels.
  [[nodiscard]] Status CheckChunk(ByteSpan start, std::uint64_t /*size*/,
                                  const VolumeExtent& extent) const override {
    if (start.size() < kCompressoHeader || !AsText(start).starts_with("cpso")) {
      return RefuseChunk(kCompressoChunk, "expected a header that begins with \"cpso\"");
    }
    const std::uint64_t expected = extent[0] * extent[1] * extent[2];
    std::uint64_t voxels = 1;
    for (std::size_t d = 0; d < 3; ++d) voxels *= LoadLe(start.data() + 6 + 2 * d, 2);
    if (voxels == expected) return {};
    return RefuseChunk(kCompressoChunk, "expected ", expected, " voxels, found ", voxels);
  }
};

Result<ArrayToBytesCodecPtr> BindCompresso(const CodecSpec& spec,
                                           const ArrayRepresentation& decoded) {
  UNSHARD_ASSIGN_OR_RETURN(EncodedVolume volume, EncodedVolumeOf(spec, decoded));
  const bool is_integer =
      volume.type.kind == DataType::Kind::kUnsigned || volume.type.kind == DataType::Kind::kSigned;
  if (!is_integer || volume.channels != 1) return RefuseVolume(volume, "integers and 1 channel");
  return std::make_shared<Compresso>(std::move(volume));
}

}  // namespace

const CodecDefinition& CompressoCodec() {
  static constexpr CodecDefinition::Name kNames[] = {{Dialect::kPrecomputed, "compresso"}};
  static constexpr CodecDefinition kDefinition{kNames, &BindCompresso};
  return kDefinition;
}

}  // namespace unshard
