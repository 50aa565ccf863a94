// The sample: a synthetic data set of neural tissue, to try unshard on and to test with.
#pragma once

#include <cstdint>
#include <string>

#include "codec/core/error.h"

namespace unshard {

inline constexpr std::uint64_t kMostSampleMegabytes = 1'000'000;

// Writes into `directory`, which is made where it is missing, about `megabytes` (10^6 bytes, 1 to
// kMostSampleMegabytes):
//   segmentation/  a Neuroglancer precomputed volume of uint64 labels: two scales,
//                  compressed_segmentation, sharded (identity hash, gzip)
//   image/         an OME-Zarr 0.5 group with the matching uint8 image: arrays "0" and "1",
//                  sharding_indexed
// Every byte follows from `megabytes` alone. Memory stays under 100 MB a thread. The metadata come
// last, and a failure removes again what was written.
// Fails with kInvalidArgument where the directory is not empty, and naming the file where the
// system refuses to write it.
Status WriteSample(const std::string& directory, std::uint64_t megabytes);

}  // namespace unshard
