// Arbitrary bytes as gzip: bounded output, the same by every library of the build, and back.
#include <optional>

#include "codec/codecs/deflate.h"
#include "codec/codecs/gzip.h"
#include "tests/fuzz/fuzz_targets.h"

namespace unshard {
namespace {

constexpr std::uint64_t kMaxBytes = 1 << 20;

// Libraries differ in what they accept: reserved flags of a header, for example.
void InflateWithAll(DeflateContainer container, ByteSpan input) {
  std::optional<ByteVector> first;
  for (const DeflateFunctions* table : DeflateTables()) {
    if (table->inflate == nullptr) continue;
    auto plain = Inflate(container, input, kMaxBytes, input.empty() ? 0 : input[0], *table);
    if (!plain) continue;
    Require(plain->size() <= kMaxBytes, "output is bounded");
    Require(!first || *first == *plain, "all libraries find the same data");
    first = *std::move(plain);
  }
}

}  // namespace

void FuzzGzip(ByteSpan input) {
  InflateWithAll(DeflateContainer::kGzip, input);
  InflateWithAll(DeflateContainer::kZlib, input);
  if (input.size() >= 4) PlausibleGzipSize(input.last(4), input.size());
  if (input.size() > 4096) return;
  const ByteVector copy(input.begin(), input.end());
  for (const DeflateFunctions* table : DeflateTables()) {
    if (table->deflate == nullptr) continue;
    for (const int level : {1, 6, 9}) {
      const ByteVector stored = table->deflate(DeflateContainer::kGzip, input, level);
      for (const DeflateFunctions* reader : DeflateTables()) {
        if (reader->inflate == nullptr) continue;
        Require(Inflate(DeflateContainer::kGzip, stored, input.size(), 0, *reader) == copy,
                "all libraries decode what is encoded");
      }
      Require(PlausibleGzipSize(ByteSpan(stored).last(4), stored.size()) == input.size(),
              "our own trailers announce the size");
    }
  }
}

}  // namespace unshard
