// Encodes or decodes one chunk as unshard does, so that other libraries can judge both directions.
//
//   chunk_codec decode|encode precomputed JSON SHAPE <chunk >chunk
//
// JSON has the members of an `info` and of its scale that say how chunks are encoded: data_type,
// num_channels, encoding, compressed_segmentation_block_size, jpeg_quality, png_level. SHAPE lists
// the extents of the chunk, slowest axis first: channel,z,y,x. Voxels are little-endian, in C
// order. A failure ends it with 1 and a line on stderr: the kind of failure, a colon, and the
// message.
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codec/json/cursor.h"
#include "codec/json/parser.h"
#include "codec/precomputed/scale.h"

namespace unshard {
namespace {

Result<ChunkCodecPtr> MakeCodec(const JsonCursor& members) {
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor type_name, members.Member("data_type"));
  const auto type = FindDataType(DataTypeDialect::kPrecomputedVolume, type_name.value().text());
  if (!type) return type_name.Expected("the data type of a volume");
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor channels, members.Member("num_channels"));
  UNSHARD_ASSIGN_OR_RETURN(const std::uint64_t count, channels.Unsigned(1, 1000));
  return MakePrecomputedChunkCodec(members, *type, count);
}

Result<ByteVector> Run(const std::vector<std::string>& arguments, ByteVector input) {
  if (arguments.size() != 4 || (arguments[0] != "decode" && arguments[0] != "encode") ||
      arguments[1] != "precomputed") {
    return Fail(ErrorCode::kInvalidArgument, "expected decode|encode precomputed JSON SHAPE");
  }
  UNSHARD_ASSIGN_OR_RETURN(const JsonValue json, ParseJson(arguments[2]));
  UNSHARD_ASSIGN_OR_RETURN(const ChunkCodecPtr codec, MakeCodec(JsonCursor(json, "")));
  std::vector<std::uint64_t> shape;
  std::istringstream extents(arguments[3]);
  for (std::string extent; std::getline(extents, extent, ',');) {
    shape.push_back(std::stoull(extent));
  }
  if (arguments[0] == "encode") {
    UNSHARD_ASSIGN_OR_RETURN(Voxels voxels, Voxels::Make(codec->type(), shape, std::move(input)));
    return codec->Encode(std::move(voxels));
  }
  UNSHARD_ASSIGN_OR_RETURN(Voxels voxels, codec->Decode(input, shape));
  return std::move(voxels).TakeBytes();
}

}  // namespace
}  // namespace unshard

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const auto output = unshard::Run(
      arguments, {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()});
  if (!output) {
    std::cerr << unshard::ErrorCodeName(output.error().code) << ": " << output.error().message
              << '\n';
    return 1;
  }
  const std::string_view text = unshard::AsText(*output);
  std::cout.write(text.data(), static_cast<std::streamsize>(text.size())).flush();
  return std::cout.good() ? 0 : 1;
}
