// Arbitrary bytes as names in a spool: whatever is accepted is written back exactly.
#include "store/spool/sealed_name.h"

#include "store/object/object_store.h"
#include "store/spool/spool.h"
#include "tests/fuzz/fuzz_targets.h"

namespace unshard {

void FuzzSealedName(ByteSpan input) {
  const std::string_view name = AsText(input);
  if (const auto chunk = ParseSealedName(name)) {
    Require(SealedName(*chunk) == name, "sealed names are strict");
    Require(CheckKey(chunk->chunk).has_value() && !chunk->chunk.empty(), "chunks are keys");
    Require(!chunk->removed || (chunk->size == 0 && chunk->crc32c == 0), "removals are empty");
  }
  if (const auto text = UnescapeName(name)) {
    Require(EscapeName(*text) == name, "escapes are strict");
  }
  Require(UnescapeName(EscapeName(name)) == name, "any text can be escaped");
  Require(DatasetDirectory(name).size() <= kMaxFileName, "directories have names");
  Require(DatasetDirectory(name).find('/') == std::string::npos, "directories are one level");
}

}  // namespace unshard
