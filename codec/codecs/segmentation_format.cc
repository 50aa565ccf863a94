#include "codec/codecs/segmentation_format.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codec/core/byte_range.h"
#include "codec/grid/chunk_check.h"

namespace unshard {
namespace {

using Extent = std::array<std::uint64_t, 3>;

// --- The layout

constexpr std::string_view kSegmentationFormat = "compressed_segmentation chunk";
constexpr std::uint64_t kSegmentationHeaderWords = 2;  // of a block
// Offsets of tables have 24 bits, and readers use no more of the other ones.
constexpr std::uint64_t kMaxSegmentationOffset = (std::uint64_t{1} << 24) - 1;

// The number of blocks along x, y and z. Requires: block extents of at least 1.
Extent SegmentationGrid(const SegmentationForm& form) {
  Extent grid;
  for (std::size_t d = 0; d < 3; ++d) {
    grid[d] = form.shape[d] / form.block_shape[d] + (form.shape[d] % form.block_shape[d] != 0);
  }
  return grid;
}

// One block. Offsets count words from the start of the chunk.
struct SegmentationBlock {
  unsigned bits = 0;         // of an index: 0, 1, 2, 4, 8, 16 or 32; 0: all labels are the first
  std::uint64_t table = 0;   // at least one label lies within the chunk
  std::uint64_t values = 0;  // where bits is not 0: all indexes of voxels lie within the chunk
};

// The rules of one chunk of `size` bytes. All failures are kInvalidArgument. Immutable;
// thread-safe; pure.
class SegmentationLayout {
 public:
  // Fails unless the chunk is of whole words and has room for its channels.
  static Result<SegmentationLayout> Make(std::uint64_t size, const SegmentationForm& form);

  [[nodiscard]] const SegmentationForm& form() const { return form_; }
  [[nodiscard]] std::uint64_t words() const { return words_; }
  [[nodiscard]] const Extent& grid() const { return grid_; }

  // Fails unless the block headers of a channel, whose data begin at `base`, lie within the chunk.
  [[nodiscard]] Status CheckChannel(std::uint64_t channel, std::uint64_t base) const;
  // The block at `position` in the grid, from the two words of its header. Fails unless what they
  // refer to lies within the chunk. Requires: CheckChannel succeeded.
  [[nodiscard]] Result<SegmentationBlock> ReadBlock(std::uint64_t base, std::uint32_t word0,
                                                    std::uint32_t word1,
                                                    const Extent& position) const;

 private:
  SegmentationLayout(std::uint64_t words, const SegmentationForm& form)
      : words_(words), form_(form) {}
  [[nodiscard]] tl::unexpected<Error> Refuse(const std::string& what, std::uint64_t at) const;
  [[nodiscard]] std::optional<std::uint64_t> PackedWords(const Extent& position,
                                                         unsigned bits) const;

  std::uint64_t words_;
  SegmentationForm form_;
  Extent grid_{};
  std::uint64_t header_words_ = 0;  // of all blocks of a channel
};

Result<SegmentationLayout> SegmentationLayout::Make(std::uint64_t size,
                                                    const SegmentationForm& form) {
  if (size % 4 != 0) {
    return RefuseChunk(kSegmentationFormat, "expected words of 4 bytes, found ", size, " bytes");
  }
  SegmentationLayout layout(size / 4, form);
  layout.grid_ = SegmentationGrid(form);
  const auto blocks = CheckedProduct(layout.grid_);
  const auto headers = blocks ? CheckedMultiply(*blocks, kSegmentationHeaderWords) : std::nullopt;
  if (!headers || form.channels > layout.words_) {
    return layout.Refuse("offsets of all channels", layout.words_);
  }
  layout.header_words_ = *headers;
  return layout;
}

Status SegmentationLayout::CheckChannel(std::uint64_t channel, std::uint64_t base) const {
  const std::string number = std::to_string(channel);
  if (base < form_.channels) {
    return RefuseChunk(kSegmentationFormat, "expected the data of channel ", number,
                       " after the offsets of all channels, found it at word ", base);
  }
  if (!MakeByteRange(base, header_words_, words_)) {
    return Refuse("block headers of channel " + number, base);
  }
  return {};
}

Result<SegmentationBlock> SegmentationLayout::ReadBlock(std::uint64_t base, std::uint32_t word0,
                                                        std::uint32_t word1,
                                                        const Extent& position) const {
  const SegmentationBlock block = {word0 >> 24, base + (word0 & kMaxSegmentationOffset),
                                   base + word1};
  if (block.bits > 32 || (block.bits != 0 && !std::has_single_bit(block.bits))) {
    return RefuseChunk(kSegmentationFormat, "expected 0, 1, 2, 4, 8, 16 or 32 bits a voxel, found ",
                       block.bits);
  }
  if (!MakeByteRange(block.table, form_.label_words, words_)) {
    return Refuse("a table of labels", block.table);
  }
  const auto packed = PackedWords(position, block.bits);
  if (block.bits != 0 && (!packed || !MakeByteRange(block.values, *packed, words_))) {
    return Refuse("packed voxels", block.values);
  }
  return block;
}

tl::unexpected<Error> SegmentationLayout::Refuse(const std::string& what, std::uint64_t at) const {
  return RefuseChunk(kSegmentationFormat, "expected ", what, " within its ", words_,
                     " words, found them at word ", at);
}

// The words up to the last voxel of the block that lies in the chunk; readers need only these.
std::optional<std::uint64_t> SegmentationLayout::PackedWords(const Extent& position,
                                                             unsigned bits) const {
  Extent last{};
  for (std::size_t d = 0; d < 3; ++d) {
    const std::uint64_t begin = position[d] * form_.block_shape[d];
    last[d] = std::min(form_.block_shape[d], form_.shape[d] - begin) - 1;
  }
  const auto plane = CheckedMultiply(form_.block_shape[1], last[2]);
  const auto rows = plane ? CheckedAdd(*plane, last[1]) : std::nullopt;
  const auto before = rows ? CheckedMultiply(*rows, form_.block_shape[0]) : std::nullopt;
  const auto index = before ? CheckedAdd(*before, last[0]) : std::nullopt;
  const auto end = index ? CheckedAdd(*index, 1) : std::nullopt;
  const auto packed_bits = end ? CheckedMultiply(*end, bits) : std::nullopt;
  if (!packed_bits) return std::nullopt;
  return *packed_bits / 32 + (*packed_bits % 32 != 0);
}

// --- Labels

// Calls visit(first voxel, its position in the full block, number of voxels) for each row of the
// block at `begin`, as far as it lies within the chunk. Returns false as soon as `visit` does.
template <class Visit>
bool ForEachRow(const SegmentationForm& form, const Extent& begin, const Visit& visit) {
  const Extent& shape = form.shape;
  const Extent& block = form.block_shape;
  Extent size;
  for (std::size_t d = 0; d < 3; ++d) size[d] = std::min(block[d], shape[d] - begin[d]);
  for (std::uint64_t z = 0; z < size[2]; ++z) {
    for (std::uint64_t y = 0; y < size[1]; ++y) {
      const std::uint64_t voxel = begin[0] + shape[0] * (begin[1] + y + shape[1] * (begin[2] + z));
      if (!visit(voxel, block[0] * (y + block[1] * z), size[0])) return false;
    }
  }
  return true;
}

// Calls visit(position in the grid of blocks, voxel at which the block begins) in the order of the
// block headers, until it fails.
template <class Visit>
Status ForEachBlock(const SegmentationForm& form, const Visit& visit) {
  const Extent& block = form.block_shape;
  const Extent grid = SegmentationGrid(form);
  for (std::uint64_t z = 0; z < grid[2]; ++z) {
    for (std::uint64_t y = 0; y < grid[1]; ++y) {
      for (std::uint64_t x = 0; x < grid[0]; ++x) {
        UNSHARD_RETURN_IF_ERROR(
            visit(Extent{x, y, z}, Extent{x * block[0], y * block[1], z * block[2]}));
      }
    }
  }
  return {};
}

// The distinct labels of a block, and the position among them of each voxel's label. One object
// reads many blocks.
template <class Label>
class BlockLabels {
 public:
  // `labels` of the channel. Both must outlive the object.
  BlockLabels(const std::uint8_t* labels, const SegmentationForm& form)
      : labels_(labels), form_(form) {
    std::uint64_t voxels = 1;
    for (std::size_t d = 0; d < 3; ++d) voxels *= std::min(form.block_shape[d], form.shape[d]);
    const std::uint64_t slots = std::bit_ceil(2 * voxels);
    shift_ = 64 - static_cast<unsigned>(std::countr_zero(slots));
    slots_.resize(slots);
  }

  // Reads the block at `begin`.
  void Read(const Extent& begin) {
    found_.clear();
    numbers_.clear();
    ForEachRow(form_, begin, [&](std::uint64_t voxel, std::uint64_t, std::uint64_t count) {
      const std::uint8_t* at = labels_ + voxel * sizeof(Label);
      for (std::uint64_t i = 0; i < count; ++i, at += sizeof(Label)) {
        const Label label = LoadLe<Label>(at);
        // Most neighbours are equal.
        const bool is_same = !numbers_.empty() && found_[numbers_.back()] == label;
        numbers_.push_back(is_same ? numbers_.back() : NumberOf(label));
      }
      return true;
    });
    Sort();
    // Leaves the slots empty for the next block.
    for (const std::uint64_t slot : used_slots_) slots_[slot] = 0;
    used_slots_.clear();
    colliding_.clear();
  }

  // In ascending order.
  [[nodiscard]] const std::vector<Label>& sorted() const { return sorted_; }
  // The position among them of each voxel within the chunk, x fastest.
  [[nodiscard]] std::uint32_t Index(std::uint64_t voxel) const {
    return positions_[numbers_[voxel]];
  }

 private:
  // Of one label in the hash table. Labels may be chosen so that all of them have one slot.
  static constexpr int kMaxProbes = 64;

  // The number of a label, in the order in which labels are met.
  std::uint32_t NumberOf(Label label) {
    constexpr std::uint64_t kMultiplier = 0x9e3779b97f4a7c15;
    std::uint64_t slot = slots_.size() == 1 ? 0 : label * kMultiplier >> shift_;
    for (int probes = 0; probes < kMaxProbes; ++probes) {
      if (slots_[slot] == 0) {
        found_.push_back(label);
        slots_[slot] = static_cast<std::uint32_t>(found_.size());
        used_slots_.push_back(slot);
      }
      if (found_[slots_[slot] - 1] == label) return slots_[slot] - 1;
      slot = (slot + 1) % slots_.size();
    }
    const auto [other, is_new] =
        colliding_.try_emplace(label, static_cast<std::uint32_t>(found_.size()));
    if (is_new) found_.push_back(label);
    return other->second;
  }

  void Sort() {
    order_.resize(found_.size());
    std::iota(order_.begin(), order_.end(), 0u);
    std::sort(order_.begin(), order_.end(),
              [this](std::uint32_t a, std::uint32_t b) { return found_[a] < found_[b]; });
    sorted_.resize(found_.size());
    positions_.resize(found_.size());
    for (std::uint32_t i = 0; i < order_.size(); ++i) {
      sorted_[i] = found_[order_[i]];
      positions_[order_[i]] = i;
    }
  }

  const std::uint8_t* const labels_;
  const SegmentationForm& form_;
  unsigned shift_ = 0;
  std::vector<std::uint32_t> slots_;  // a hash table: numbers from 1 on; 0: empty
  std::vector<std::uint64_t> used_slots_;
  std::map<Label, std::uint32_t> colliding_;  // numbers of labels that found no slot
  std::vector<Label> found_;                  // by number
  std::vector<std::uint32_t> numbers_;        // of voxels
  std::vector<std::uint32_t> order_;          // numbers, by label
  std::vector<std::uint32_t> positions_;
  std::vector<Label> sorted_;
};

// Appends a channel to the words of the chunk: block headers, then for each block its packed
// indexes, and its table unless the channel has an equal one already.
template <class Label>
class ChannelEncoder {
 public:
  // `labels` of the channel. All must outlive the encoder.
  ChannelEncoder(const std::uint8_t* labels, const SegmentationForm& form,
                 std::vector<std::uint32_t>& words)
      : block_(labels, form), form_(form), words_(words), base_(words.size()) {}

  Status Encode(std::uint64_t block_count) {
    const std::uint64_t header_words = kSegmentationHeaderWords * block_count;
    if (base_ + header_words > kMaxSegmentationOffset) return TooLarge();
    words_.resize(base_ + header_words, 0);
    std::uint64_t header = base_;
    return ForEachBlock(form_, [&](const Extent&, const Extent& begin) {
      header += kSegmentationHeaderWords;
      return EncodeBlock(begin, header - kSegmentationHeaderWords);
    });
  }

 private:
  static tl::unexpected<Error> TooLarge() {
    return Fail(ErrorCode::kResourceExhausted,
                "compressed_segmentation: the chunk needs more than 2^24 words (64 MiB), which is "
                "as far as offsets of 24 bits reach");
  }

  Status EncodeBlock(const Extent& begin, std::uint64_t header) {
    block_.Read(begin);
    const std::size_t count = block_.sorted().size();
    unsigned bits = 0;
    if (count > 1) bits = 1;
    while (bits != 0 && (std::uint64_t{1} << bits) < count) bits *= 2;
    const std::uint64_t values_at = words_.size();
    if (bits != 0) AppendPackedIndexes(begin, bits);
    const std::uint64_t table_at = AppendTable();
    if (values_at > kMaxSegmentationOffset || table_at > kMaxSegmentationOffset) return TooLarge();
    words_[header] = static_cast<std::uint32_t>(table_at - base_) | bits << 24;
    words_[header + 1] = static_cast<std::uint32_t>(values_at - base_);
    return {};
  }

  void AppendPackedIndexes(const Extent& begin, unsigned bits) {
    const Extent& shape = form_.block_shape;
    const std::uint64_t first = words_.size();
    // Positions beyond a clipped edge have index 0.
    words_.resize(first + (bits * shape[0] * shape[1] * shape[2] + 31) / 32, 0);
    std::uint64_t voxel = 0;
    ForEachRow(form_, begin, [&](std::uint64_t, std::uint64_t at, std::uint64_t count) {
      for (std::uint64_t bit = at * bits; count > 0; --count, bit += bits) {
        words_[first + bit / 32] |= block_.Index(voxel++) << (bit % 32);
      }
      return true;
    });
  }

  // The offset of the table, which is appended unless an equal one was written before.
  std::uint64_t AppendTable() {
    const auto [entry, is_new] = tables_.try_emplace(block_.sorted(), words_.size());
    if (is_new) {
      for (const std::uint64_t label : entry->first) {
        words_.push_back(static_cast<std::uint32_t>(label));
        if (sizeof(Label) == 8) words_.push_back(static_cast<std::uint32_t>(label >> 32));
      }
    }
    return entry->second;
  }

  BlockLabels<Label> block_;  // the block that is encoded
  const SegmentationForm& form_;
  std::vector<std::uint32_t>& words_;                   // of the whole chunk
  const std::uint64_t base_;                            // where the channel's begin
  std::map<std::vector<Label>, std::uint64_t> tables_;  // to their offsets
};

template <class Label>
Result<ByteVector> Encode(ByteSpan labels, const SegmentationForm& form) {
  const Extent grid = SegmentationGrid(form);
  const std::uint64_t channel_size = form.channels == 0 ? 0 : labels.size() / form.channels;
  std::vector<std::uint32_t> words(form.channels);
  for (std::uint64_t channel = 0; channel < form.channels; ++channel) {
    words[channel] = static_cast<std::uint32_t>(words.size());
    ChannelEncoder<Label> encoder(labels.data() + channel * channel_size, form, words);
    UNSHARD_RETURN_IF_ERROR(encoder.Encode(grid[0] * grid[1] * grid[2]));
  }
  ByteVector encoded(words.size() * 4);
  for (std::size_t i = 0; i < words.size(); ++i) StoreU32Le(encoded.data() + 4 * i, words[i]);
  return encoded;
}

// The packed indexes and the table of one block with at least one bit an index.
template <class Label>
struct PackedBlock {
  const std::uint8_t* values;
  const std::uint8_t* table;
  std::uint64_t entries;  // labels between `table` and the end of the chunk

  // Stores the labels of `count` positions from `first` on; false where an index has no entry.
  template <unsigned kBits>
  bool DecodeRow(std::uint64_t first, std::uint64_t count, std::uint8_t* to) const {
    constexpr std::uint32_t kMask = ~std::uint32_t{0} >> (32 - kBits);
    constexpr std::uint64_t kIndexes = 32 / kBits;  // in a word
    const std::uint8_t* word_at = values + 4 * (first / kIndexes);
    std::uint64_t offset = first % kIndexes;  // in the word
    while (count > 0) {
      std::uint32_t word = LoadU32Le(word_at) >> (offset * kBits);
      const std::uint64_t end = std::min(kIndexes - offset, count);
      for (std::uint64_t i = 0; i < end; ++i) {
        const std::uint32_t index = word & kMask;
        if (index >= entries) return false;
        StoreLe(to, LoadLe<Label>(table + index * sizeof(Label)));
        to += sizeof(Label);
        if constexpr (kBits < 32) word >>= kBits;
      }
      count -= end;
      offset = 0;
      word_at += 4;
    }
    return true;
  }

  bool DecodeRow(unsigned bits, std::uint64_t first, std::uint64_t count, std::uint8_t* to) const {
    switch (bits) {
      case 1:
        return DecodeRow<1>(first, count, to);
      case 2:
        return DecodeRow<2>(first, count, to);
      case 4:
        return DecodeRow<4>(first, count, to);
      case 8:
        return DecodeRow<8>(first, count, to);
      case 16:
        return DecodeRow<16>(first, count, to);
      default:
        return DecodeRow<32>(first, count, to);
    }
  }
};

// Decodes one channel into `to`.
template <class Label>
Status DecodeChannel(ByteSpan encoded, const SegmentationLayout& layout, std::uint64_t base,
                     std::uint8_t* to) {
  std::uint64_t header = base;
  return ForEachBlock(layout.form(), [&](const Extent& at, const Extent& begin) -> Status {
    UNSHARD_ASSIGN_OR_RETURN(const SegmentationBlock block,
                             layout.ReadBlock(base, LoadU32Le(encoded.data() + 4 * header),
                                              LoadU32Le(encoded.data() + 4 * (header + 1)), at));
    header += kSegmentationHeaderWords;
    const std::uint8_t* const table = encoded.data() + 4 * block.table;
    if (block.bits == 0) {
      const Label label = LoadLe<Label>(table);
      ForEachRow(layout.form(), begin,
                 [&](std::uint64_t voxel, std::uint64_t, std::uint64_t count) {
                   for (std::uint64_t i = 0; i < count; ++i) {
                     StoreLe(to + (voxel + i) * sizeof(Label), label);
                   }
                   return true;
                 });
      return {};
    }
    const PackedBlock<Label> packed = {encoded.data() + 4 * block.values, table,
                                       (encoded.size() - 4 * block.table) / sizeof(Label)};
    const bool has_labels = ForEachRow(
        layout.form(), begin, [&](std::uint64_t voxel, std::uint64_t first, std::uint64_t count) {
          return packed.DecodeRow(block.bits, first, count, to + voxel * sizeof(Label));
        });
    if (has_labels) return {};
    return Fail(ErrorCode::kDataLoss, kSegmentationFormat,
                ": an index has no label in the table at word ", block.table);
  });
}

template <class Label>
Status Decode(ByteSpan encoded, const SegmentationForm& form, ByteVector& labels) {
  UNSHARD_ASSIGN_OR_RETURN(const SegmentationLayout layout,
                           SegmentationLayout::Make(encoded.size(), form));
  const std::uint64_t channel_size = form.shape[0] * form.shape[1] * form.shape[2] * sizeof(Label);
  labels.resize(channel_size * form.channels);
  for (std::uint64_t channel = 0; channel < form.channels; ++channel) {
    const std::uint64_t base = LoadU32Le(encoded.data() + 4 * channel);
    UNSHARD_RETURN_IF_ERROR(layout.CheckChannel(channel, base));
    UNSHARD_RETURN_IF_ERROR(
        DecodeChannel<Label>(encoded, layout, base, labels.data() + channel * channel_size));
  }
  return {};
}

class SegmentationChecker {
 public:
  SegmentationChecker(ByteSpan start, const SegmentationLayout& layout)
      : start_(start), layout_(layout), budget_(layout.words()) {}

  Status Check() {
    const std::uint64_t channels = layout_.form().channels;
    for (std::uint64_t channel = 0; channel < channels && IsSeen(channel, 1); ++channel) {
      const std::uint64_t base = Word(channel);
      UNSHARD_RETURN_IF_ERROR(layout_.CheckChannel(channel, base));
      UNSHARD_RETURN_IF_ERROR(CheckBlocks(base));
    }
    return {};
  }

 private:
  [[nodiscard]] std::uint32_t Word(std::uint64_t at) const {
    return LoadU32Le(start_.data() + 4 * at);
  }
  // Requires: the words lie within the chunk.
  [[nodiscard]] bool IsSeen(std::uint64_t at, std::uint64_t count) const {
    return 4 * (at + count) <= start_.size();
  }

  Status CheckBlocks(std::uint64_t base) {
    const auto& grid = layout_.grid();
    std::uint64_t at = base;
    for (std::uint64_t z = 0; z < grid[2]; ++z) {
      for (std::uint64_t y = 0; y < grid[1]; ++y) {
        for (std::uint64_t x = 0; x < grid[0]; ++x, at += kSegmentationHeaderWords) {
          if (!IsSeen(at, kSegmentationHeaderWords) || budget_ == 0) return {};
          --budget_;
          UNSHARD_RETURN_IF_ERROR(layout_.ReadBlock(base, Word(at), Word(at + 1), {x, y, z}));
        }
      }
    }
    return {};
  }

  const ByteSpan start_;
  const SegmentationLayout& layout_;
  // The number of blocks that may still be checked. This bounds the time for a small chunk in which
  // all channels refer to the same headers.
  std::uint64_t budget_;
};

}  // namespace

Result<ByteVector> EncodeCompressedSegmentation(ByteSpan labels, const SegmentationForm& form) {
  const auto voxels = CheckedProduct(form.shape);
  const std::uint64_t words = form.label_words * form.channels;
  const auto size = voxels ? CheckedMultiply(*voxels, 4 * words) : std::nullopt;
  if (size != labels.size()) {
    return Fail(ErrorCode::kInvalidArgument,
                "compressed_segmentation: expected one label for each voxel, found ", labels.size(),
                " bytes");
  }
  // One packed block has to lie within reach of an offset; this also bounds every product below.
  const auto block_voxels = CheckedProduct(form.block_shape);
  if (!block_voxels || *block_voxels == 0 || *block_voxels > kMaxSegmentationOffset) {
    return Fail(ErrorCode::kInvalidArgument,
                "compressed_segmentation: expected block extents of at least 1 and a block of at "
                "most 16777215 voxels");
  }
  return form.label_words == 2 ? Encode<std::uint64_t>(labels, form)
                               : Encode<std::uint32_t>(labels, form);
}

Result<ByteVector> DecodeCompressedSegmentation(ByteSpan encoded, const SegmentationForm& form) {
  ByteVector labels;
  Status status = form.label_words == 2 ? Decode<std::uint64_t>(encoded, form, labels)
                                        : Decode<std::uint32_t>(encoded, form, labels);
  if (!status) return Fail(ErrorCode::kDataLoss, std::move(status).error().message);
  return labels;
}

Status CheckCompressedSegmentation(ByteSpan start, std::uint64_t size,
                                   const SegmentationForm& form) {
  UNSHARD_ASSIGN_OR_RETURN(const SegmentationLayout layout, SegmentationLayout::Make(size, form));
  return SegmentationChecker(start, layout).Check();
}

}  // namespace unshard
