// libFuzzer's entry to the one target that UNSHARD_FUZZ_TARGET names.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/fuzz_targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const unshard::FuzzTarget& target : unshard::kFuzzTargets) {
    if (target.name == UNSHARD_FUZZ_TARGET) target.run(unshard::ByteSpan(data, size));
  }
  return 0;
}
