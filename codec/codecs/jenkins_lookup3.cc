// numcodecs' jenkins_lookup3: Bob Jenkins' hash lookup3, the checksum of HDF5's metadata, follows
// the bytes that it protects. It begins with their number, so that it cannot be computed in pieces.
#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <string>
#include <utility>

#include "codec/chain/codec_spec.h"
#include "codec/codecs/codecs.h"
#include "codec/codecs/compressor.h"
#include "codec/core/text.h"

namespace unshard {
namespace {

constexpr std::uint64_t kHashSize = 4;
using Lookup3State = std::array<std::uint32_t, 3>;

void Mix(Lookup3State& state) {
  auto& [a, b, c] = state;
  const auto step = [](std::uint32_t& changed, std::uint32_t& by, std::uint32_t& moved, int bits) {
    changed = (changed - by) ^ std::rotl(by, bits);
    by += moved;
  };
  step(a, c, b, 4);
  step(b, a, c, 6);
  step(c, b, a, 8);
  step(a, c, b, 16);
  step(b, a, c, 19);
  step(c, b, a, 4);
}

void FinalMix(Lookup3State& state) {
  auto& [a, b, c] = state;
  const auto step = [](std::uint32_t& changed, std::uint32_t by, int bits) {
    changed = (changed ^ by) - std::rotl(by, bits);
  };
  step(c, b, 14);
  step(a, c, 11);
  step(b, a, 25);
  step(c, b, 16);
  step(a, c, 4);
  step(b, a, 14);
  step(c, b, 24);
}

// Adds up to 12 bytes.
void AddBlock(Lookup3State& state, ByteSpan block) {
  for (std::size_t i = 0; i < block.size(); ++i) {
    state[i / 4] += std::uint32_t{block[i]} << (8 * (i % 4));
  }
}

std::uint32_t Lookup3(ByteSpan bytes, std::uint32_t initial) {
  constexpr std::size_t kBlock = 12;
  Lookup3State state;
  state.fill(0xdeadbeef + static_cast<std::uint32_t>(bytes.size()) + initial);
  if (bytes.empty()) return state[2];
  for (; bytes.size() > kBlock; bytes = bytes.subspan(kBlock)) {
    AddBlock(state, bytes.first(kBlock));
    Mix(state);
  }
  AddBlock(state, bytes);
  FinalMix(state);
  return state[2];
}

class JenkinsLookup3 final : public BytesToBytesCodec {
 public:
  JenkinsLookup3(std::string name, std::uint32_t initial)
      : name_(std::move(name)), initial_(initial) {}

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] Result<ByteVector> Decode(ByteSpan stored, std::uint64_t max_bytes) const override {
    if (stored.size() < kHashSize) {
      return Damaged(name_.c_str(), "too short for a checksum of 4 bytes: ", stored.size(),
                     " bytes in all");
    }
    const ByteSpan plain = stored.first(stored.size() - kHashSize);
    if (plain.size() > max_bytes) return DecodesToMore(name_.c_str(), max_bytes);
    const ByteSpan found = stored.subspan(plain.size());
    if (LoadLe(found.data(), kHashSize) != Lookup3(plain, initial_)) {
      return Damaged(name_.c_str(), "the stored checksum ", HexText(found),
                     " is not that of the data");
    }
    return ByteVector(plain.begin(), plain.end());
  }
  [[nodiscard]] Result<ByteVector> Encode(ByteSpan plain) const override {
    ByteVector stored(plain.begin(), plain.end());
    AppendU32Le(stored, Lookup3(plain, initial_));
    return stored;
  }

 private:
  const std::string name_;
  const std::uint32_t initial_;
};

Result<BytesCodecPtr> BindJenkinsLookup3(const CodecSpec& spec, std::uint32_t /*item_size*/) {
  std::uint32_t initial = 0;
  UNSHARD_ASSIGN_OR_RETURN(const auto initval, spec.options().Find("initval"));
  if (initval) {
    UNSHARD_ASSIGN_OR_RETURN(const std::uint64_t value, initval->Unsigned(0, ~std::uint32_t{0}));
    initial = static_cast<std::uint32_t>(value);
  }
  UNSHARD_ASSIGN_OR_RETURN(const auto prefix, spec.options().Find("prefix"));
  if (prefix) {
    return Fail(ErrorCode::kNotSupported, prefix->path(), ": a prefix is not supported");
  }
  return std::make_shared<JenkinsLookup3>(spec.name, initial);
}

}  // namespace

const CodecDefinition& JenkinsLookup3Codec() {
  static constexpr CodecDefinition::Name kNames[] = {{Dialect::kZarr2, "jenkins_lookup3"}};
  static constexpr CodecDefinition kDefinition{kNames, &BindJenkinsLookup3};
  return kDefinition;
}

}  // namespace unshard
