// Codec chains that are put together from the input, with voxels from the rest of it.
#include <string>

#include "tests/fuzz/fuzz_targets.h"
#include "tests/support/random_chains.h"

namespace unshard {

void FuzzCodecChain(ByteSpan input) {
  Choices choices(input);
  const bool wild = choices.Below(2) == 1;
  const DrawnChain chain = DrawChain(choices);
  const std::string broken =
      BrokenPromise(chain, DrawVoxels(choices, chain.type, chain.shape, wild));
  Require(broken.empty(), broken.c_str());
}

}  // namespace unshard
