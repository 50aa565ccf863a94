// Constraints on chains of Zarr v3 codecs in a TensorStore Schema; zarr3_codec_resolution.h makes
// the chain of an array from them. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "codec/core/error.h"
#include "codec/json/cursor.h"
#include "codec/json/json.h"

namespace unshard {

struct Zarr3CodecChain;

// One codec, with the options that are constrained.
struct Zarr3Codec {
  std::string name;
  // Without `codecs` and `index_codecs` of sharding_indexed.
  JsonValue options = JsonValue::Object();
  std::vector<Zarr3CodecChain> codecs;        // sharding_indexed: at most one
  std::vector<Zarr3CodecChain> index_codecs;  // the same

  [[nodiscard]] bool sharding() const { return name == "sharding_indexed"; }
};

struct Zarr3CodecChain {
  std::vector<Zarr3Codec> array_to_array;
  std::vector<Zarr3Codec> array_to_bytes;  // at most one
  std::vector<Zarr3Codec> bytes_to_bytes;

  // How many levels of sharding_indexed there are.
  [[nodiscard]] std::size_t sharding_height() const;
};

// Parses `codecs` of a schema: names alone are enough, and options may be absent. Fails, naming the
// JSON path, for codecs and options that TensorStore does not have, and where a codec's kind cannot
// follow the one before it.
Result<Zarr3CodecChain> ParseZarr3Codecs(const JsonCursor& codecs);

// The JSON of a schema, or of an array's document, which leaves out an index_location of "end".
enum class Zarr3CodecForm { kSchema, kDocument };
JsonValue Zarr3CodecsJson(const Zarr3CodecChain& chain, Zarr3CodecForm form);

// Adds the constraints of `other`. Where only one of the chains has sharding_indexed, the other one
// constrains its inner chunks; one of them may have one more transpose at the end of its
// array-to-array codecs. Fails with kInvalidArgument where they contradict each other.
Status MergeZarr3Codecs(Zarr3CodecChain& into, const Zarr3CodecChain& other);

// The order of the dimensions that a transpose of chunks of this rank encodes. Requires: a
// transpose.
std::vector<std::size_t> TransposeOrder(const Zarr3Codec& transpose, std::size_t rank);
// Sets the options that are absent and have a default that does not depend on the chunk.
void SetDefaultOptions(Zarr3Codec& codec);

}  // namespace unshard
