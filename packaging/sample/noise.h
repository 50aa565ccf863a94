// Reproducible noise: hashes of lattice points and smooth interpolation of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace unshard::sample {

// A well-mixed 32-bit hash of a lattice point. The same on every machine.
inline std::uint32_t Hash(std::uint32_t x, std::uint32_t y, std::uint32_t z, std::uint32_t seed) {
  std::uint32_t hash = seed * 0x9e3779b1U;
  for (const std::uint32_t word : {x, y, z}) {
    hash ^= word * 0x85ebca6bU;
    hash = (hash << 13 | hash >> 19) * 0xc2b2ae35U;
  }
  hash ^= hash >> 16;
  hash *= 0x7feb352dU;
  return hash ^ hash >> 15;
}

// The same as a number in [0, 1).
inline float UnitHash(std::uint32_t x, std::uint32_t y, std::uint32_t z, std::uint32_t seed) {
  return static_cast<float>(Hash(x, y, z, seed) >> 8) * 0x1p-24F;
}

inline float Lerp(float a, float b, float t) { return a + (b - a) * t; }

// Trilinear interpolation of the corners of a unit cube, x fastest.
inline float LerpCube(const std::array<float, 8>& corners, float x, float y, float z) {
  const float near_side = Lerp(Lerp(corners[0], corners[1], x), Lerp(corners[2], corners[3], x), y);
  const float far_side = Lerp(Lerp(corners[4], corners[5], x), Lerp(corners[6], corners[7], x), y);
  return Lerp(near_side, far_side, z);
}

// Smooth noise in [0, 1) whose features are about `spacing` voxels wide. Requires: coordinates are
// not negative.
inline float Noise(float x, float y, float z, float spacing, std::uint32_t seed) {
  const std::array<float, 3> scaled{x / spacing, y / spacing, z / spacing};
  std::array<std::uint32_t, 3> cell;
  std::array<float, 3> weight;
  for (std::size_t d = 0; d < 3; ++d) {
    cell[d] = static_cast<std::uint32_t>(scaled[d]);
    const float t = scaled[d] - static_cast<float>(cell[d]);
    weight[d] = t * t * (3.0F - 2.0F * t);  // no creases at lattice planes
  }
  std::array<float, 8> corners;
  for (std::uint32_t i = 0; i < 8; ++i) {
    corners[i] = UnitHash(cell[0] + (i & 1), cell[1] + (i >> 1 & 1), cell[2] + (i >> 2), seed);
  }
  return LerpCube(corners, weight[0], weight[1], weight[2]);
}

}  // namespace unshard::sample
