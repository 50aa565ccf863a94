// Arbitrary bytes as a file of the cache on a disk, as they are and with a right checksum.
#include "store/cache/entry.h"

#include <algorithm>

#include "codec/core/crc32c.h"
#include "store/http/http_answer.h"
#include "tests/fuzz/fuzz_targets.h"

namespace unshard {

void FuzzCacheEntry(ByteSpan input) {
  const CacheDigest digest = DigestOf({"fuzz"});
  ByteVector file(input.begin(), input.end());
  for (const bool repaired : {false, true}) {
    if (repaired) {
      constexpr std::size_t kMagicBytes = 16;
      if (file.size() < kMagicBytes + digest.size() + 4) return;
      std::copy(digest.begin(), digest.end(), file.begin() + kMagicBytes);
      file.resize(file.size() - 4);
      AppendU32Le(file, Crc32c(file));
    }
    const auto entry = DecodeCacheEntry(digest, Bytes(file));
    if (!entry) continue;
    Require(EncodeCacheEntry(digest, *entry) == file, "entries are strict");
    if (const auto validators = StrongValidatorsOf(entry->generation, entry->object_size)) {
      Require(GenerationOf(*validators, entry->object_size, nullptr) == entry->generation,
              "generations are strict");
    }
  }
}

}  // namespace unshard
