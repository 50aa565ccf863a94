// `unshard sample`: a synthetic data set of neural tissue, to try unshard on and to test with.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "codec/core/error.h"

namespace unshard {

struct SampleOptions {
  std::uint64_t megabytes = 200;  // about what is written, in 10^6 bytes; 1..1000000
  unsigned threads = 0;           // 0: as many as there are processors, at most 4
  // Told after each shard file how many of how many are written. Calls do not overlap, but come
  // from several threads. May be empty.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;
};

// Writes into `directory`, which is made where it is missing:
//   segmentation/  a Neuroglancer precomputed volume of uint64 labels: two scales,
//                  compressed_segmentation, sharded (identity hash, gzip)
//   image/         an OME-Zarr 0.5 group with the matching uint8 image: arrays "0" and "1",
//                  sharding_indexed
// Every byte follows from `megabytes` alone. Memory stays under 100 MB a thread. Each file is
// written under a temporary name and renamed; the metadata come last, and a failure removes again
// what was written.
// Fails with kInvalidArgument where the directory is not empty or `megabytes` is out of bounds, and
// naming the file where the system refuses to write it.
Status WriteSample(const std::string& directory, const SampleOptions& options);

}  // namespace unshard
