// Chains of Zarr v3 codecs as a TensorStore Schema constrains them: zarr3_codec_resolution.h makes
// the chain of an array of them. Pure; thread-safe.
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

// One codec; options that are not given are not there.
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

// Parses `codecs` as a schema has them: names alone are enough, and options may be absent. Fails,
// naming the JSON path, for codecs and options that TensorStore does not have, and for an order of
// codecs that is none.
Result<Zarr3CodecChain> ParseZarr3Codecs(const JsonCursor& codecs);

// Whose words: an array's document leaves out what every reader supposes (index_location "end").
enum class Zarr3CodecForm { kSchema, kDocument };
JsonValue Zarr3CodecsJson(const Zarr3CodecChain& chain, Zarr3CodecForm form);

// Adds the constraints of `other`. A chain without sharding_indexed is one of inner chunks where
// the other has it; one of them may have a transpose more at the end. Fails where they contradict
// each other.
Status MergeZarr3Codecs(Zarr3CodecChain& into, const Zarr3CodecChain& other);

// The order of the dimensions that a transpose of chunks of this rank encodes. Requires: a
// transpose.
std::vector<std::size_t> TransposeOrder(const Zarr3Codec& transpose, std::size_t rank);
// Adds the options that are absent and have a default, whatever the chunk is.
void SetDefaultOptions(Zarr3Codec& codec);

}  // namespace unshard
