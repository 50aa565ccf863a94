// The options of `unshard create` as a TensorStore Schema, and its failures in their words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "codec/array/array.h"
#include "codec/core/error.h"
#include "codec/schema/new_dataset.h"
#include "codec/schema/schema.h"

namespace unshard {

// The arguments as they were given; empty: not given.
struct CreateCommand {
  std::string destination;
  std::string format;
  std::string schema;  // a file that exists, or JSON
  std::string like;
  std::vector<std::string> shape;
  std::vector<std::string> offset;
  std::string dtype;
  std::vector<std::string> chunk;
  std::vector<std::string> shard;  // extents; or "auto", or a size in bytes, alone
  std::string codec;
  std::string fill;
  std::vector<std::string> axes;
  std::vector<std::string> resolution;
  std::size_t scales = 1;
  std::vector<std::string> factors;  // "2,2,1", one a step
  std::string ome;                   // a version of OME-Zarr

  // The size of a voxel, for shards that are given in bytes; 0: that of `dtype`.
  std::uint64_t item_size = 0;
};

// "--shape: why": an option that is wrong.
tl::unexpected<Error> WrongOption(const std::string& option, const std::string& why);

// The names that --format takes, and those that --codec takes for any of these formats.
std::vector<std::string_view> FormatNames();
std::vector<std::string_view> CodecNames();

// All of these fail with kInvalidArgument, naming the option as it was typed.
Result<Dialect> FormatOf(const std::string& name);
// What --format says, else the format of the version that --ome says; "" where neither is given.
std::string FormatNameOf(const CreateCommand& command);
// What --ome says; null where it is not given. Fails where the format has no such version.
Result<const OmeVersion*> OmeVersionOf(const CreateCommand& command, Dialect format);
// What --schema and the other options constrain.
Result<Schema> SchemaOf(const CreateCommand& command, Dialect format);
Result<NewScales> ScalesOf(const CreateCommand& command, Dialect format);
// A failure of codec/schema, which names members of schemas, in the words of the options.
tl::unexpected<Error> InWordsOfOptions(const CreateCommand& command, Error error);

}  // namespace unshard
