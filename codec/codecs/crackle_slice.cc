#include "codec/codecs/crackle_slice.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "codec/codecs/number_sets.h"

namespace unshard {
namespace {

constexpr unsigned kNoMove = 4;
constexpr const char* kCrackCode = "crackle chunk: a crack code";

tl::unexpected<Error> DamagedCode(const char* why) {
  return Fail(ErrorCode::kDataLoss, kCrackCode, why);
}

struct Corner {
  std::uint64_t x = 0, y = 0;
};

// The corners where chains begin. `index` is the one of a crack code.
Result<std::vector<Corner>> ParseStarts(const CrackleForm& form, ByteSpan index) {
  const std::uint64_t x_size = CrackleWidth(form.sx + 1), y_size = CrackleWidth(form.sy + 1);
  bool fits = true;
  const auto take = [&](std::uint64_t size) -> std::uint64_t {
    if (index.size() < size) fits = false;
    if (!fits) return 0;
    const std::uint64_t number = LoadLe(index.data(), size);
    index = index.subspan(size);
    return number;
  };
  std::vector<Corner> starts;
  std::uint64_t y = 0;
  for (std::uint64_t rows = index.empty() ? 0 : take(y_size); rows > 0 && fits; --rows) {
    y += take(y_size);
    std::uint64_t x = 0;
    for (std::uint64_t count = take(x_size); count > 0 && fits; --count) {
      x += take(x_size);
      if (x > form.sx || y > form.sy) fits = false;
      starts.push_back({x, y});
    }
  }
  if (!fits) return DamagedCode(" has an index that ends early or names corners outside the slice");
  return starts;
}

// The moves of one slice.
class MoveReader {
 public:
  MoveReader(const CrackleModel& model, ByteSpan bytes) : model_(model), bytes_(bytes) {}

  // 0 up, 1 right, 2 down, 3 left; nothing at the end.
  std::optional<unsigned> Next() {
    const bool is_plain = model_.order() == 0 || !std::exchange(begun_, true);
    const auto difference = is_plain ? Bits(2) : Coded();
    if (!difference) return std::nullopt;
    if (model_.order() > 0) {
      row_ = row_ >> 2 | std::uint64_t{*difference} << (2 * (model_.order() - 1));
    }
    last_ = (last_ + *difference) % 4;
    return last_;
  }

 private:
  std::optional<unsigned> Bits(unsigned count) {
    if (at_ + count > 8 * bytes_.size()) return std::nullopt;
    unsigned bits = 0;
    for (unsigned i = 0; i < count; ++i, ++at_) {
      bits |= (bytes_[at_ / 8] >> (at_ % 8) & 1u) << i;
    }
    return bits;
  }

  // 0, 10, 110 and 111, the first bit first.
  std::optional<unsigned> Coded() {
    unsigned rank = 0;
    for (; rank < 3; ++rank) {
      const auto bit = Bits(1);
      if (!bit) return std::nullopt;
      if (*bit == 0) break;
    }
    return model_.Move(row_, rank);
  }

  const CrackleModel& model_;
  const ByteSpan bytes_;
  std::uint64_t at_ = 0;   // bit
  std::uint64_t row_ = 0;  // the last differences, the oldest lowest
  unsigned last_ = 0;
  bool begun_ = false;
};

// The edges of a slice that its crack code draws.
class DrawnEdges {
 public:
  explicit DrawnEdges(const CrackleForm& form)
      : form_(form), left_(form.sx * form.sy), up_(form.sx * form.sy) {}

  // Steps 1 to 3.
  Status Draw(ByteSpan code) {
    if (code.empty()) return {};
    if (code.size() < 4 || LoadLe(code.data(), 4) > code.size() - 4) {
      return DamagedCode(" is shorter than its index");
    }
    const std::uint64_t index_size = LoadLe(code.data(), 4);
    UNSHARD_ASSIGN_OR_RETURN(const auto starts, ParseStarts(form_, code.subspan(4, index_size)));
    MoveReader moves(form_.model, code.subspan(4 + index_size));
    for (const Corner& start : starts) UNSHARD_RETURN_IF_ERROR(DrawChain(start, moves));
    return {};
  }

  // Whether an edge is drawn between the voxel and the one to its left, or above it.
  [[nodiscard]] bool left(std::uint64_t voxel) const { return left_[voxel] != 0; }
  [[nodiscard]] bool up(std::uint64_t voxel) const { return up_[voxel] != 0; }

 private:
  Status DrawChain(const Corner& start, MoveReader& moves) {
    Corner at = start;
    std::vector<Corner> branches;
    unsigned last = kNoMove;  // not drawn yet
    for (std::uint64_t open = 1; open > 0;) {
      const auto move = moves.Next();
      if (!move) return DamagedCode(" ends within a chain");
      if (last == kNoMove || (*move ^ last) != 2) {
        if (last != kNoMove) UNSHARD_RETURN_IF_ERROR(DrawEdge(last, at));
        last = *move;
        continue;
      }
      last = kNoMove;
      if (*move == 1 || *move == 2) {
        branches.push_back(at);
        ++open;
        continue;
      }
      --open;
      if (branches.empty()) continue;
      at = branches.back();
      branches.pop_back();
    }
    return {};
  }

  // Moves `at`, and draws the edge. An edge at the border of the slice separates nothing.
  Status DrawEdge(unsigned move, Corner& at) {
    const bool leads_out = (move == 0 && at.y == 0) || (move == 1 && at.x == form_.sx) ||
                           (move == 2 && at.y == form_.sy) || (move == 3 && at.x == 0);
    if (leads_out) return DamagedCode(" leads out of its slice");
    if (move == 0) --at.y;
    if (move == 3) --at.x;
    if (move % 2 == 0 && at.x > 0 && at.x < form_.sx) left_[at.x + form_.sx * at.y] = 1;
    if (move % 2 == 1 && at.y > 0 && at.y < form_.sy) up_[at.x + form_.sx * at.y] = 1;
    if (move == 1) ++at.x;
    if (move == 2) ++at.y;
    return {};
  }

  const CrackleForm& form_;
  std::vector<std::uint8_t> left_, up_;  // for each voxel
};

// Steps 4 and 5.
CrackleComponents Components(const CrackleForm& form, const DrawnEdges& edges) {
  CrackleComponents components;
  components.numbers.resize(form.sx * form.sy);
  NumberSets sets;
  std::uint64_t voxel = 0;
  for (std::uint64_t y = 0; y < form.sy; ++y) {
    for (std::uint64_t x = 0; x < form.sx; ++x, ++voxel) {
      const bool joins_left = x > 0 && edges.left(voxel) == form.is_permissible;
      const bool joins_up = y > 0 && edges.up(voxel) == form.is_permissible;
      std::uint32_t number = joins_left ? components.numbers[voxel - 1] : 0;
      if (joins_up) {
        const std::uint32_t above = components.numbers[voxel - form.sx];
        number = number == 0 ? above : number == above ? number : sets.Join(number, above);
      }
      components.numbers[voxel] = number != 0 ? number : sets.Add();
    }
  }
  auto [positions, count] = std::move(sets).Positions();
  for (std::uint32_t& number : components.numbers) number = positions[number] - 1;
  components.count = count;
  return components;
}

// The permutations of 0123 in lexicographic order.
std::vector<std::array<std::uint8_t, 4>> AllPermutations() {
  std::vector<std::array<std::uint8_t, 4>> all;
  std::array<std::uint8_t, 4> each = {0, 1, 2, 3};
  do {
    all.push_back(each);
  } while (std::next_permutation(each.begin(), each.end()));
  return all;
}

}  // namespace

CrackleModel::CrackleModel(unsigned order, ByteSpan rows)
    : order_(order), permutations_(std::size_t{1} << (2 * order)) {
  for (std::size_t row = 0; row < permutations_.size(); ++row) {
    unsigned rank = 0;
    for (std::size_t i = 0; i < 5; ++i) {
      const std::size_t bit = 5 * row + i;
      rank |= (rows[bit / 8] >> (bit % 8) & 1u) << i;
    }
    permutations_[row] = static_cast<std::uint8_t>(rank % 24);
  }
}

unsigned CrackleModel::Move(std::uint64_t row, unsigned rank) const {
  static const std::vector<std::array<std::uint8_t, 4>> permutations = AllPermutations();
  return permutations[permutations_[row]][rank];
}

Result<CrackleComponents> DecodeCrackleSlice(const CrackleForm& form, ByteSpan code) {
  DrawnEdges edges(form);
  UNSHARD_RETURN_IF_ERROR(edges.Draw(code));
  return Components(form, edges);
}

}  // namespace unshard
