// Layout, all little-endian: f32 chunk_shape[3], f32 grid_origin[3], u32 L, f32 lod_scales[L],
// f32 vertex_offsets[L][3], u32 counts[L]; then for each level of n fragments: u32 x[n], y[n],
// z[n], size[n]. codec/FORMATS.md, "Meshes".
#include "codec/precomputed/mesh_manifest.h"

#include <string>

namespace unshard {
namespace {

constexpr std::uint64_t kLevelCountAt = 24;
constexpr std::uint64_t kHeaderSize = 28;
constexpr std::uint64_t kLevelSize = 20;     // scale, vertex offset, count
constexpr std::uint64_t kFragmentSize = 16;  // x, y, z, size

tl::unexpected<Error> FailLength(const std::string& what, std::uint64_t expected,
                                 std::size_t found) {
  return Fail(ErrorCode::kDataLoss, "mesh manifest: expected ", expected, " bytes for ", what,
              ", found ", found);
}

}  // namespace

Result<std::uint64_t> MeshFragmentBytes(ByteSpan manifest) {
  if (manifest.size() < kHeaderSize) return FailLength("the header", kHeaderSize, manifest.size());
  const std::uint64_t levels = LoadU32Le(manifest.data() + kLevelCountAt);
  const std::uint64_t levels_end = kHeaderSize + kLevelSize * levels;
  if (manifest.size() < levels_end) {
    return FailLength(std::to_string(levels) + " levels of detail", levels_end, manifest.size());
  }
  const std::uint8_t* const counts = manifest.data() + (levels_end - 4 * levels);
  std::uint64_t at = levels_end;
  std::uint64_t total = 0;
  for (std::uint64_t level = 0; level < levels; ++level) {
    const std::uint64_t count = LoadU32Le(counts + 4 * level);
    const std::uint64_t end = at + kFragmentSize * count;  // at <= size, so this stays in 64 bits
    if (manifest.size() < end) {
      return FailLength("the fragments of level " + std::to_string(level), end, manifest.size());
    }
    const std::uint8_t* const sizes = manifest.data() + (end - 4 * count);
    for (std::uint64_t i = 0; i < count; ++i) total += LoadU32Le(sizes + 4 * i);
    at = end;
  }
  if (at != manifest.size()) return FailLength("all fragments", at, manifest.size());
  return total;
}

}  // namespace unshard
