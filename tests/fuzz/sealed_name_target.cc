// Arbitrary bytes as names in a spool, and as records of attempts: whatever is accepted is written
// back.
#include "store/spool/sealed_name.h"

#include "store/object/object_store.h"
#include "store/spool/attempts.h"
#include "store/spool/spool.h"
#include "tests/fuzz/fuzz_targets.h"

namespace unshard {

void FuzzSealedName(ByteSpan input) {
  const std::string_view name = AsText(input);
  if (const auto chunk = ParseSealedName(name)) {
    Require(SealedName(*chunk) == name, "sealed names are strict");
    Require(CheckKey(chunk->chunk).has_value() && !chunk->chunk.empty(), "chunks are keys");
    Require(!chunk->removed || (chunk->size == 0 && chunk->checksum == 0), "removals are empty");
  }
  if (const auto text = UnescapeName(name)) {
    Require(EscapeName(*text) == name, "escapes are strict");
  }
  Require(UnescapeName(EscapeName(name)) == name, "any text can be escaped");
  if (const auto attempt = ParseAttempt(name)) {
    Require(CheckKey(attempt->key).has_value(), "attempts name keys");
    const auto again = ParseAttempt(AttemptText(*attempt));
    Require(again && again->key == attempt->key && again->id == attempt->id &&
                again->sequences == attempt->sequences,
            "attempts are written as they are read");
  }
  Require(DatasetDirectory(name).size() <= kMaxFileName, "directories have names");
  Require(DatasetDirectory(name).find('/') == std::string::npos, "directories are one level");
}

}  // namespace unshard
