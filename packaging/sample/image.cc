#include "packaging/sample/image.h"

#include <algorithm>
#include <array>

#include "packaging/sample/noise.h"

namespace unshard::sample {
namespace {

// Slow shading is computed on a lattice of this spacing and interpolated.
constexpr std::size_t kStep = 4;
constexpr std::size_t kPoints = kEdge / kStep + 1;  // per dimension of a tile

// Grey values.
constexpr float kCytoplasm = 158.0F;
constexpr float kMembraneDepth = 104.0F;
constexpr float kOrganelleDepth = 52.0F;
constexpr float kGrain = 0.055F;  // per unit of the sum of two bytes

constexpr float kMembraneHalfWidth = 2.6F;  // in voxels

enum Seed : std::uint32_t {
  kShadeSeed = 101,
  kOrganelleSeed = 111,
  kVesicleSeed = 121,
  kToneSeed = 131,
  kGrainSeed = 141
};

// 0 below `begin`, 1 above `end`, smooth between.
float SmoothStep(float begin, float end, float value) {
  const float t = std::clamp((value - begin) / (end - begin), 0.0F, 1.0F);
  return t * t * (3.0F - 2.0F * t);
}

float ShadeAt(const Position& at) {
  const auto x = static_cast<float>(at[0]);
  const auto y = static_cast<float>(at[1]);
  const auto z = static_cast<float>(at[2]);
  const float illumination = Noise(x, y, z, 180.0F, kShadeSeed) - 0.5F;
  const float cytoplasm = Noise(x, y, z, 11.0F, kShadeSeed + 1) - 0.5F;
  const float vesicles =
      UnitHash(static_cast<std::uint32_t>(at[0]), static_cast<std::uint32_t>(at[1]),
               static_cast<std::uint32_t>(at[2]), kVesicleSeed) -
      0.5F;
  const float organelle = Noise(x, y, z * 0.6F, 34.0F, kOrganelleSeed);
  const float inside = SmoothStep(0.70F, 0.74F, organelle);
  // A dark rim, and cristae inside.
  const float rim = inside * (1.0F - SmoothStep(0.74F, 0.79F, organelle));
  return kCytoplasm + 26.0F * illumination + 44.0F * cytoplasm + 26.0F * vesicles -
         kOrganelleDepth * (0.6F * inside + 0.4F * rim);
}

std::vector<float> ShadeLattice(const Position& origin) {
  std::vector<float> lattice(kPoints * kPoints * kPoints);
  for (std::size_t i = 0; i < lattice.size(); ++i) {
    lattice[i] =
        ShadeAt({origin[0] + kStep * (i % kPoints), origin[1] + kStep * (i / kPoints % kPoints),
                 origin[2] + kStep * (i / kPoints / kPoints)});
  }
  return lattice;
}

// The shading of the lattice along the row (y, z) of the tile.
std::array<float, kPoints> ShadeRow(const std::vector<float>& lattice, std::size_t y,
                                    std::size_t z) {
  const std::size_t base = kPoints * (y / kStep + kPoints * (z / kStep));
  const float ty = static_cast<float>(y % kStep) / kStep;
  const float tz = static_cast<float>(z % kStep) / kStep;
  std::array<float, kPoints> row;
  for (std::size_t i = 0; i < kPoints; ++i) {
    const float* at = &lattice[base + i];
    row[i] = Lerp(Lerp(at[0], at[kPoints], ty),
                  Lerp(at[kPoints * kPoints], at[kPoints * kPoints + kPoints], ty), tz);
  }
  return row;
}

// Each label is a little lighter or darker than the others.
float ToneOf(std::uint64_t label) {
  return 22.0F * (UnitHash(static_cast<std::uint32_t>(label),
                           static_cast<std::uint32_t>(label >> 32), 0, kToneSeed) -
                  0.5F);
}

// Noise of the detector: two bytes of a cheap hash, added, are close enough to a bell curve.
float GrainAt(std::uint32_t row_hash, std::size_t x) {
  std::uint32_t hash = (row_hash + static_cast<std::uint32_t>(x)) * 0x9e3779b1U;
  hash ^= hash >> 15;
  hash *= 0x85ebca6bU;
  hash ^= hash >> 13;
  const auto sum = static_cast<std::int32_t>((hash & 0xff) + (hash >> 8 & 0xff));
  return kGrain * static_cast<float>(sum - 255);
}

float MembraneAt(float boundary_distance) {
  const float t = std::min(boundary_distance / kMembraneHalfWidth, 1.0F);
  return kMembraneDepth * (1.0F - t * t);
}

}  // namespace

ByteVector MakeImage(const Position& origin, const LabelTile& labels) {
  ByteVector grey(kTileVoxels);
  const std::vector<float> lattice = ShadeLattice(origin);
  for (std::size_t row = 0; row < kEdge * kEdge; ++row) {
    const std::size_t y = row % kEdge;
    const std::size_t z = row / kEdge;
    const std::size_t at = kEdge * row;
    const auto shade = ShadeRow(lattice, y, z);
    const std::uint32_t row_hash =
        Hash(static_cast<std::uint32_t>(origin[0]), static_cast<std::uint32_t>(origin[1] + y),
             static_cast<std::uint32_t>(origin[2] + z), kGrainSeed);
    std::uint64_t label = labels.labels[at];
    float tone = ToneOf(label);
    for (std::size_t x = 0; x < kEdge; ++x) {
      if (labels.labels[at + x] != label) {
        label = labels.labels[at + x];
        tone = ToneOf(label);
      }
      const float t = static_cast<float>(x % kStep) / kStep;
      const float value = Lerp(shade[x / kStep], shade[x / kStep + 1], t) + tone -
                          MembraneAt(labels.boundary_distances[at + x]) + GrainAt(row_hash, x);
      grey[at + x] = static_cast<std::uint8_t>(std::clamp(value, 0.0F, 255.0F));
    }
  }
  return grey;
}

}  // namespace unshard::sample
