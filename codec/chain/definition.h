// One array-to-array codec as documents name it, and how it is bound to the items that reach it.
// codec/codecs has a source for each, and the list of them. Pure; thread-safe.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "codec/chain/codec.h"
#include "codec/compression/codec_options.h"

namespace unshard {

// A codec where a document lists it.
struct ArrayCodecSpec {
  std::string name;      // its name in Zarr v3
  std::string at;        // for messages: "codecs[1]: the codec \"numcodecs.delta\""
  CodecOptions options;  // its configuration
  std::string path;      // of the configuration: "codecs[1].configuration"
  // Whether it may take the bytes of items for items of another size, as in Zarr v2.
  bool takes_any_size = false;
};

struct ArrayCodecDefinition {
  std::span<const std::string_view> names;  // in Zarr v3; Zarr v2 leaves out "numcodecs."
  // Fails with kDataLoss, naming the member, where the configuration makes decoding impossible, and
  // with kNotSupported where the codec cannot take these items.
  Result<ArrayCodecPtr> (*bind)(const ArrayCodecSpec& spec, const ArrayRepresentation& decoded);
};

// Null for any other name. numcodecs' packbits is one of them; the packbits of Zarr v3 makes bytes.
const ArrayCodecDefinition* FindArrayCodec(std::string_view name);

}  // namespace unshard
