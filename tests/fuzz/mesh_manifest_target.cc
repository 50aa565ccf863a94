// Arbitrary bytes as a mesh manifest: exactly one length fits.
#include "codec/precomputed/mesh_manifest.h"

#include "tests/fuzz/fuzz_targets.h"

namespace unshard {

void FuzzMeshManifest(ByteSpan input) {
  const auto total = MeshFragmentBytes(input);
  if (!total) {
    Require(total.error().code == ErrorCode::kDataLoss, "refusals are data loss");
    return;
  }
  Require(*total <= (std::uint64_t{input.size()} / 16) << 32, "sizes of 32 bits are summed");
  ByteVector other(input.begin(), input.end());
  other.push_back(0);
  Require(!MeshFragmentBytes(other), "a longer manifest is refused");
  Require(!MeshFragmentBytes(input.first(input.size() - 1)), "a shorter manifest is refused");
}

}  // namespace unshard
