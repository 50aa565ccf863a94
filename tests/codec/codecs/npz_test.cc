// Chunks that numpy.save and zlib have written, as CloudVolume calls them:
// tests/fuzz/corpus/npz_decoding.
#include <gtest/gtest.h>

#include <bit>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "codec/chain/codec_chain.h"
#include "codec/codecs/deflate.h"
#include "codec/types/npy_header.h"
#include "tests/support/codecs.h"
#include "tests/support/folders.h"

namespace unshard {
namespace {

ByteVector NpzSeed(const std::string& name) {
  const auto file = std::filesystem::path(SourceFolder()) / "tests/fuzz/corpus/npz_decoding" / name;
  std::ifstream stream(file, std::ios::binary);
  EXPECT_TRUE(stream.good()) << file;
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

ChunkCodecPtr NpzOf(const DataType& type) {
  return BindVolumeChain(R"("encoding": "npz")", type, 3).value();
}

constexpr DataType kNpzFloat = {DataType::Kind::kFloat, 4};
const Shape kNpzShape = {3, 2, 3, 4};

TEST(Npz, DecodesAllForms) {
  ByteVector expected;  // 0, 0.01 …
  for (int i = 0; i < 72; ++i) {
    AppendU32Le(expected, std::bit_cast<std::uint32_t>(static_cast<float>(i * 0.01)));
  }
  for (const char* const name : {"channels", "c_order", "big_endian", "version3"}) {
    const auto voxels = NpzOf(kNpzFloat)->Decode(NpzSeed(name), kNpzShape);
    ASSERT_TRUE(voxels) << voxels.error().message;
    EXPECT_EQ(Voxels(*voxels).TakeBytes(), expected) << name;
  }
  const auto voxels = Voxels::Make(kNpzFloat, kNpzShape, expected).value();
  const auto written = NpzOf(kNpzFloat)->Encode(voxels);
  ASSERT_TRUE(written);
  EXPECT_EQ(*NpzOf(kNpzFloat)->Decode(*written, kNpzShape), voxels);
  EXPECT_EQ(*Inflate(DeflateContainer::kZlib, *written, 1000), NpzSeed("plain")) << "as NumPy";
}

TEST(Npz, NoticesDamage) {
  const ByteVector chunk = NpzSeed("channels");
  for (std::size_t size = 0; size < chunk.size(); ++size) {
    EXPECT_FALSE(NpzOf(kNpzFloat)->Decode(ByteSpan(chunk).first(size), kNpzShape)) << size;
  }
  const auto refusal = [&](const DataType& type, const Shape& shape) {
    const auto voxels = NpzOf(type)->Decode(chunk, shape);
    return voxels ? "" : voxels.error().message;
  };
  EXPECT_EQ(refusal(kUint32, kNpzShape),
            "npz chunk: expected an array of 4 x 3 x 2 x 3 items of uint32");
  EXPECT_EQ(refusal(kNpzFloat, {3, 3, 2, 4}),
            "npz chunk: expected an array of 4 x 2 x 3 x 3 items of float32");
  EXPECT_TRUE(NpzOf(kNpzFloat)->Check(ByteVector{0x78, 0x9c}, 300, kNpzShape));
  EXPECT_FALSE(NpzOf(kNpzFloat)->Check(ByteVector{0x93, 'N'}, 300, kNpzShape));
}

TEST(NpyHeader, IsParsedAsPythonWritesIt) {
  const auto parsed = [](const std::string& text) {
    std::string file = std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(text.size()) + '\0';
    return ParseNpyHeader(AsBytes(file += text));
  };
  const auto header = parsed("{\"shape\":( 3L , 4L),'descr':'>u2', 'fortran_order' : False}\n");
  ASSERT_TRUE(header) << header.error().message;
  EXPECT_EQ(header->header.shape, (std::vector<std::uint64_t>{3, 4}));
  EXPECT_TRUE(header->header.type.type == kUint16 && header->header.type.big_endian);
  EXPECT_EQ(parsed("{'descr': '|u1', 'fortran_order': True, 'shape': (), }")->header.shape.size(),
            0u);
  for (const char* const text :
       {"", "{}", "{'descr': '|O', 'fortran_order': True, 'shape': (), }",
        "{'descr': '|u1', 'fortran_order': 1, 'shape': (), }",
        "{'descr': '|u1', 'fortran_order': True, 'shape': (3 4), }",
        "{'descr': '|u1', 'fortran_order': True, 'shape': (3", "{'descr': '|u1', 'fortran_order",
        "{'descr': '|u1', 'fortran_order': True, 'shape': (99999999999999999999,), }"}) {
    const auto refused = parsed(text);
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().code, ErrorCode::kDataLoss);
  }
}

}  // namespace
}  // namespace unshard
