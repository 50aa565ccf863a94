#include "codec/chain/codec_spec.h"

#include "codec/codecs/compressor.h"
#include "codec/json/parser.h"
#include "tests/support/codecs.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/hex.h"

namespace unshard {
namespace {

// 64 times "unshard " as numcodecs 0.16 encodes it.
struct Sample {
  const char* codec;
  const char* hex;
};
const Sample kSamples[] = {
    {"gzip", "1f8b0800fc8a016b04ff2bcd2bce482c4a51281da5476438000055fce18d00020000"},
    {"numcodecs.gzip", "1f8b0800fc8a016b04ff2bcd2bce482c4a51281da5476438000055fce18d00020000"},
    {"numcodecs.zlib", "78012bcd2bce482c4a51281da54764380000021ac541"},
    {"zstd", "28b52ffd6000017d000040756e7368617264200100f5530b17"},
    {"numcodecs.zstd", "28b52ffd6000017d000040756e7368617264200100f5530b17"},
    {"blosc",
     "02012001000200000002000034000000140000001c000000ff01756e736861726420756e7368617264201000ffd95"
     "0"
     "6861726420"},
    {"numcodecs.blosc",
     "02012001000200000002000034000000140000001c000000ff01756e736861726420756e7368617264201000ffd95"
     "0"
     "6861726420"},
    {"numcodecs.bz2",
     "425a6831314159265359c11f1c620000ff9180400024411a002000508604055434cd3c05016060100c020100d1772"
     "4"
     "5385090c11f1c620"},
    {"numcodecs.lzma",
     "fd377a585a000004e6d6b4460200210116000000742fe5a3e001ff00105d003a9b8acd219167bcc21b624a9a26c00"
     "0"
     "00255eb63f02fe8b7500012c80040000005536bf8db1c467fb020000000004595a"},
    {"numcodecs.lz4", "000200008f756e7368617264200800ffe1506861726420"},
};

std::string Plain() {
  std::string plain;
  for (int i = 0; i < 64; ++i) plain += "unshard ";
  return plain;
}

BytesCodecPtr Make(const std::string& name, const char* configuration = "{}") {
  const auto value = ParseJson(configuration);
  EXPECT_TRUE(value);
  const auto codec = BindBytesCodec(name, *value);
  EXPECT_TRUE(codec) << codec.error().message;
  return codec ? *codec : nullptr;
}

// Whether this build has the library of the codec.
bool IsBuilt(const std::string& name) { return Make(name)->CanDecode().has_value(); }

std::vector<Sample> SamplesOfThisBuild() {
  std::vector<Sample> samples(std::begin(kSamples), std::end(kSamples));
  std::erase_if(samples, [](const Sample& sample) { return !IsBuilt(sample.codec); });
  return samples;
}

TEST(BytesCodecTest, DecodesWhatNumcodecsEncodes) {
  for (const Sample& sample : SamplesOfThisBuild()) {
    const auto codec = Make(sample.codec);
    ASSERT_NE(codec, nullptr) << sample.codec;
    const auto plain = codec->Decode(FromHex(sample.hex), 512);
    ASSERT_TRUE(plain) << sample.codec << ": " << plain.error().message;
    EXPECT_EQ(AsText(*plain), Plain()) << sample.codec;
    EXPECT_EQ(codec->fixed_overhead(), std::nullopt) << sample.codec;
    EXPECT_EQ(codec->name(), sample.codec);
  }
}

TEST(BytesCodecTest, StopsAtTheBound) {
  for (const Sample& sample : SamplesOfThisBuild()) {
    const auto plain = Make(sample.codec)->Decode(FromHex(sample.hex), 511);
    ASSERT_FALSE(plain) << sample.codec;
    EXPECT_EQ(plain.error().code, ErrorCode::kResourceExhausted) << sample.codec;
  }
}

TEST(BytesCodecTest, RefusesEveryTruncation) {
  for (const Sample& sample : SamplesOfThisBuild()) {
    const ByteVector stored = FromHex(sample.hex);
    for (std::size_t size = 0; size < stored.size(); ++size) {
      const auto plain = Make(sample.codec)->Decode(ByteSpan(stored).first(size), 512);
      ASSERT_FALSE(plain) << sample.codec << " cut to " << size;
      EXPECT_EQ(plain.error().code, ErrorCode::kDataLoss) << sample.codec << " cut to " << size;
    }
  }
}

TEST(BytesCodecTest, SurvivesEveryDamagedByte) {
  for (const Sample& sample : SamplesOfThisBuild()) {
    const ByteVector stored = FromHex(sample.hex);
    for (std::size_t at = 0; at < stored.size(); ++at) {
      ByteVector damaged = stored;
      damaged[at] ^= 0xff;
      const auto plain = Make(sample.codec)->Decode(damaged, 4096);
      if (plain) {
        EXPECT_LE(plain->size(), 4096u) << sample.codec << " byte " << at;
      }
    }
  }
}

TEST(BytesCodecTest, DecodesZstdFramesWithoutContentSize) {
  if (!IsBuilt("zstd")) GTEST_SKIP() << "not in this build: zstd";
  const ByteVector frame = FromHex("28b52ffd00007d000040756e7368617264200100f5530b17");
  const auto decoded = Make("zstd")->Decode(frame, 512);
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(AsText(*decoded), Plain());
  ByteVector two_frames = frame;
  two_frames.insert(two_frames.end(), frame.begin(), frame.end());
  EXPECT_EQ(AsText(*Make("zstd")->Decode(two_frames, 1024)), Plain() + Plain());
}

TEST(BytesCodecTest, DoesNotTrustTheSizeThatBloscAnnounces) {
  if (!IsBuilt("blosc")) GTEST_SKIP() << "not in this build: blosc";
  ByteVector blosc = FromHex(kSamples[5].hex);
  StoreU32Le(blosc.data() + 4, 0x7fffffff);
  EXPECT_FALSE(Make("blosc")->Decode(blosc, 1024));
}

TEST(BytesCodecTest, DoesNotTrustTheSizeThatLz4Announces) {
  if (!IsBuilt("numcodecs.lz4")) GTEST_SKIP() << "not in this build: lz4";
  ByteVector lz4 = FromHex(kSamples[9].hex);
  StoreU32Le(lz4.data(), 0x7e000000);
  const auto plain = Make("numcodecs.lz4")->Decode(lz4, ~std::uint64_t{0});
  ASSERT_FALSE(plain);
  EXPECT_EQ(plain.error().code, ErrorCode::kDataLoss);
}

// As z5 wrote buffers until 2021.
TEST(BytesCodecTest, LeavesOutZerosBehindABloscBuffer) {
  if (!IsBuilt("blosc")) GTEST_SKIP() << "not in this build: blosc";
  ByteVector stored = FromHex(kSamples[5].hex);
  const ByteVector plain = Make("blosc")->Decode(stored, 1024).value();
  stored.resize(stored.size() + 16);
  const auto decoded = Make("blosc")->Decode(stored, 1024);
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(*decoded, plain);
  stored.back() = 1;
  EXPECT_EQ(Make("blosc")->Decode(stored, 1024).error().code, ErrorCode::kDataLoss);
}

TEST(BytesCodecTest, DecodesLargeOutputWithoutALimit) {
  const ByteVector zeros(std::size_t{3} << 20);
  for (const Sample& sample : SamplesOfThisBuild()) {
    const auto stored = Make(sample.codec)->Encode(zeros);
    ASSERT_TRUE(stored) << sample.codec;
    const auto plain = Make(sample.codec)->Decode(*stored, ~std::uint64_t{0});
    ASSERT_TRUE(plain) << sample.codec;
    EXPECT_EQ(*plain, zeros) << sample.codec;
  }
}

struct ChecksumSample {
  const char* codec;
  const char* configuration;
  const char* hex;  // of "123456789"
};
const ChecksumSample kChecksums[] = {
    {"crc32c", "{}", "313233343536373839839206e3"},
    {"numcodecs.crc32c", "{}", "313233343536373839839206e3"},
    {"numcodecs.crc32c", R"({"location":"start"})", "839206e3313233343536373839"},
    {"numcodecs.crc32", "{}", "2639f4cb313233343536373839"},
    {"numcodecs.crc32", R"({"location":"end"})", "3132333435363738392639f4cb"},
    {"numcodecs.adler32", "{}", "de011e09313233343536373839"},
    {"numcodecs.adler32", "null", "de011e09313233343536373839"},
    {"numcodecs.adler32", R"({"location":"end"})", "313233343536373839de011e09"},
};

TEST(BytesCodecTest, ChecksAndRemovesChecksums) {
  for (const ChecksumSample& sample : kChecksums) {
    const auto codec = Make(sample.codec, sample.configuration);
    ASSERT_NE(codec, nullptr) << sample.codec;
    EXPECT_EQ(codec->fixed_overhead(), 4u);
    const bool at_start = !std::string_view(sample.hex).starts_with("31323334");
    EXPECT_EQ(codec->leading_overhead(), at_start ? 4u : 0u) << sample.codec;
    const ByteVector stored = FromHex(sample.hex);
    const auto plain = codec->Decode(stored, 9);
    ASSERT_TRUE(plain) << sample.codec << ": " << plain.error().message;
    EXPECT_EQ(AsText(*plain), "123456789");
    EXPECT_EQ(codec->Decode(stored, 8).error().code, ErrorCode::kResourceExhausted);
    for (std::size_t at = 0; at < stored.size(); ++at) {
      ByteVector damaged = stored;
      damaged[at] ^= 1;
      EXPECT_EQ(codec->Decode(damaged, 9).error().code, ErrorCode::kDataLoss) << at;
    }
    EXPECT_EQ(codec->Decode(ByteSpan(stored).first(3), 9).error().code, ErrorCode::kDataLoss);
  }
}

TEST(BytesCodecTest, EncodesChecksumsWholeAndInPieces) {
  for (const ChecksumSample& sample : kChecksums) {
    const auto codec = Make(sample.codec, sample.configuration);
    EXPECT_TRUE(codec->CanEncode());
    const ByteVector expected = FromHex(sample.hex);
    EXPECT_EQ(codec->Encode(AsBytes("123456789")).value(), expected) << sample.codec;
    const auto digest = codec->MakeDigest();
    ASSERT_NE(digest, nullptr);
    for (const char* piece : {"1", "", "2345678", "9"}) digest->Update(AsBytes(piece));
    const std::size_t at = codec->leading_overhead() > 0 ? 0 : 9;
    const ByteSpan checksum = ByteSpan(expected).subspan(at, 4);
    EXPECT_EQ(digest->Finish(), ByteVector(checksum.begin(), checksum.end())) << sample.codec;
    const auto empty = codec->Encode({});
    ASSERT_TRUE(empty) << sample.codec;
    EXPECT_EQ(codec->MakeDigest()->Finish(), *empty) << sample.codec;
    const auto nothing = codec->MakeDigest();
    nothing->Update({});
    EXPECT_EQ(nothing->Finish(), *empty) << sample.codec;
  }
}

TEST(BytesCodecTest, DecodesWhatItEncodes) {
  ByteVector noise(100000);
  std::uint32_t state = 1;
  for (std::uint8_t& byte : noise) {
    byte = static_cast<std::uint8_t>((state = state * 1664525 + 1013904223) >> 24);
  }
  for (const Sample& sample : SamplesOfThisBuild()) {
    const auto codec = Make(sample.codec);
    EXPECT_TRUE(codec->CanEncode()) << sample.codec;
    EXPECT_EQ(codec->MakeDigest(), nullptr) << sample.codec;
    for (const ByteVector& plain : {ByteVector(), ByteVector{7}, ByteVector(100000, 3), noise}) {
      const auto stored = codec->Encode(plain);
      ASSERT_TRUE(stored) << sample.codec << ": " << stored.error().message;
      EXPECT_EQ(*codec->Encode(plain), *stored) << sample.codec;
      const auto decoded = codec->Decode(*stored, 100000);
      ASSERT_TRUE(decoded) << sample.codec << ": " << decoded.error().message;
      EXPECT_EQ(*decoded, plain) << sample.codec;
    }
  }
}

// One byte of a header that tells what the stream was made with.
struct ConfigurationSample {
  const char* codec;
  const char* configuration;
  std::size_t at;
  unsigned mask;
  unsigned expected;
};
const ConfigurationSample kConfigurations[] = {
    {"gzip", R"({"level":9})", 8, 0xFF, 2},
    {"gzip", R"({"level":1})", 8, 0xFF, 4},
    {"gzip", "{}", 8, 0xFF, 0},
    {"numcodecs.gzip", "{}", 8, 0xFF, 4},
    {"gzip", R"({"level":0})", 10, 0x07, 1},  // a block that is last and stored
    {"numcodecs.zlib", "{}", 1, 0xC0, 0x00},
    {"numcodecs.zlib", R"({"level":9})", 1, 0xC0, 0xC0},
    {"zstd", R"({"level":3,"checksum":true})", 4, 0x04, 0x04},
    {"zstd", R"({"level":-5,"checksum":false})", 4, 0x04, 0},
    {"numcodecs.bz2", R"({"level":7})", 3, 0xFF, '7'},
    {"numcodecs.bz2", "null", 3, 0xFF, '1'},
    {"blosc", R"({"cname":"zstd","clevel":5,"shuffle":"bitshuffle"})", 2, 0xE4, 0x84},
    {"blosc", R"({"cname":"zlib","clevel":5,"shuffle":"shuffle","typesize":8})", 2, 0xE5, 0x61},
    {"blosc", R"({"cname":"lz4","shuffle":"noshuffle","typesize":8})", 2, 0xE5, 0x20},
    {"blosc", R"({"shuffle":"shuffle","typesize":8})", 3, 0xFF, 8},
    {"blosc", R"({"typesize":4,"blocksize":256})", 9, 0xFF, 1},
    {"numcodecs.blosc", R"({"cname":"blosclz","shuffle":-1})", 2, 0xE4, 0x04},
    {"numcodecs.blosc", R"({"cname":"lz4hc","shuffle":-1,"typesize":2})", 2, 0xE5, 0x21},
    {"numcodecs.blosc", R"({"shuffle":0})", 2, 0x05, 0x00},
};

TEST(BytesCodecTest, EncodesAsTheConfigurationSays) {
  std::string plain;
  while (plain.size() < 4096) plain += Plain();
  for (const ConfigurationSample& sample : kConfigurations) {
    if (!IsBuilt(sample.codec)) continue;
    SCOPED_TRACE(std::string(sample.codec) + " " + sample.configuration);
    const auto codec = Make(sample.codec, sample.configuration);
    const auto stored = codec->Encode(AsBytes(plain));
    ASSERT_TRUE(stored) << stored.error().message;
    EXPECT_EQ((*stored)[sample.at] & sample.mask, sample.expected);
    EXPECT_EQ(AsText(*codec->Decode(*stored, plain.size())), plain);
  }
}

TEST(BytesCodecTest, Lz4AcceleratesAsTheConfigurationSays) {
  if (!IsBuilt("numcodecs.lz4")) GTEST_SKIP() << "not in this build: lz4";
  std::string plain;
  for (int i = 0; i < 2000; ++i) plain += std::to_string(i * i);
  const auto slow = Make("numcodecs.lz4")->Encode(AsBytes(plain));
  const auto fast = Make("numcodecs.lz4", R"({"acceleration":50})")->Encode(AsBytes(plain));
  EXPECT_LT(slow->size(), fast->size());
}

TEST(BytesCodecTest, SaysWhyItCannotEncodeAndDecodesAllTheSame) {
  const struct {
    const char* codec;
    const char* configuration;
    const char* named;
  } cases[] = {
      {"gzip", R"({"level":10})", "level"},
      {"gzip", R"({"level":"best"})", "level"},
      {"gzip", "[]", "configuration"},
      {"zstd", R"({"level":23})", "level"},
      {"zstd", R"({"checksum":1})", "checksum"},
      {"blosc", R"({"cname":"snapzip"})", "cname"},
      {"blosc", R"({"shuffle":"autoshuffle"})", "shuffle"},
      {"numcodecs.blosc", R"({"shuffle":3})", "shuffle"},
      {"numcodecs.blosc", R"({"typesize":0})", "typesize"},
      {"numcodecs.bz2", R"({"level":0})", "level"},
      {"numcodecs.lz4", R"({"acceleration":1.5})", "acceleration"},
  };
  for (const auto& each : cases) {
    SCOPED_TRACE(std::string(each.codec) + " " + each.configuration);
    const auto codec = Make(each.codec, each.configuration);
    const auto can = codec->CanEncode();
    ASSERT_FALSE(can);
    EXPECT_EQ(can.error().code, ErrorCode::kNotSupported);
    if (!IsBuilt(each.codec)) continue;
    EXPECT_NE(can.error().message.find(each.codec), std::string::npos) << can.error().message;
    EXPECT_NE(can.error().message.find(each.named), std::string::npos) << can.error().message;
    EXPECT_EQ(codec->Encode(AsBytes("x")).error().code, ErrorCode::kNotSupported);
    const auto stored = Make(each.codec)->Encode(AsBytes("x"));
    EXPECT_EQ(AsText(codec->Decode(*stored, 1).value()), "x");
  }
}

void ExpectMissing(const BytesToBytesCodec& codec, const std::string& message) {
  const Status failures[] = {codec.CanDecode(), codec.CanEncode(),
                             codec.Decode(AsBytes("x"), 1).map([](const auto&) {}),
                             codec.Encode(AsBytes("x")).map([](const auto&) {})};
  for (const Status& failure : failures) {
    ASSERT_FALSE(failure);
    EXPECT_EQ(failure.error().code, ErrorCode::kNotSupported);
    EXPECT_EQ(failure.error().message, message);
  }
}

TEST(BytesCodecTest, NamesTheLibraryThatTheBuildLacks) {
  for (const Sample& sample : kSamples) {
    if (IsBuilt(sample.codec)) continue;
    const std::string message = Make(sample.codec)->CanDecode().error().message;
    const std::string start = "codecs[1]: the codec \"" + std::string(sample.codec) + "\" ";
    EXPECT_TRUE(message.starts_with(start + "is not in this build (lib")) << message;
    ExpectMissing(*Make(sample.codec), message);
  }
  const LibraryCompressor missing = {{"zstd", "libzstd"}};
  const auto compressor = [&](const char* path) {
    return MakeCompressor(CodecOfZarr3("zstd", {}, path), 0, missing);
  };
  ExpectMissing(*compressor("codecs[1]"),
                "codecs[1]: the codec \"zstd\" is not in this build (libzstd)");
  ExpectMissing(*compressor("compressor"),
                "compressor: the codec \"zstd\" is not in this build (libzstd)");
  ExpectMissing(*compressor(""), "the codec \"zstd\" is not in this build (libzstd)");
}

TEST(BytesCodecTest, NamesAWrongChecksumLocation) {
  const auto configuration = ParseJson(R"({"location":"middle"})");
  const auto codec = BindBytesCodec("numcodecs.crc32", *configuration);
  ASSERT_FALSE(codec);
  EXPECT_NE(codec.error().message.find("codecs[1].configuration.location"), std::string::npos)
      << codec.error().message;
}

TEST(BytesCodecTest, ShufflesBytesOfElementsAsNumcodecsDoes) {
  const auto codec = Make("numcodecs.shuffle", R"({"elementsize": 4})");
  EXPECT_EQ(AsText(codec->Encode(AsBytes("abcdefgh")).value()), "aebfcgdh");
  EXPECT_EQ(AsText(codec->Decode(AsBytes("aebfcgdh"), 8).value()), "abcdefgh");
  EXPECT_EQ(codec->Decode(AsBytes("abc"), 8).error().code, ErrorCode::kDataLoss);
  EXPECT_EQ(codec->Decode(AsBytes("aebfcgdh"), 7).error().code, ErrorCode::kResourceExhausted);
  // What it adds is nothing, but it is no checksum that could be skipped.
  EXPECT_EQ(codec->fixed_overhead(), std::nullopt);
}

TEST(BytesCodecTest, RefusesLzmaThatDoesNotDescribeItself) {
  const auto configuration = ParseJson(R"({"format": 3, "filters": []})");
  const auto codec = BindBytesCodec("numcodecs.lzma", *configuration);
  ASSERT_FALSE(codec);
  EXPECT_EQ(codec.error().code, ErrorCode::kNotSupported);
}

TEST(BytesCodecTest, DoesNotKnowOtherNames) {
  for (const char* name : {"", "lzma", "numcodecs.zfpy", "bytes", "transpose", "GZIP", "bz2"}) {
    const auto codec = BindBytesCodec(name);
    ASSERT_TRUE(codec) << name;
    EXPECT_EQ(*codec, nullptr) << name;
  }
}

// The bytes 0, 1, 2 …, as numcodecs 0.16 hashes them.
TEST(BytesCodec, JenkinsLookup3IsThatOfNumcodecs) {
  struct Case {
    std::size_t size;
    const char* from_0;
    const char* from_7;
  };
  for (const Case& each : {Case{1, "4b41a98b", "bf84c158"}, Case{4, "421dcfe4", "b0db0148"},
                           Case{11, "7a81a62c", "baed8c85"}, Case{12, "93a54a5e", "d0affb72"},
                           Case{13, "16689dbc", "f2a34362"}, Case{24, "53dd0a9c", "667cc16b"},
                           Case{25, "4422883a", "f898a5bf"}}) {
    ByteVector plain(each.size);
    for (std::size_t i = 0; i < each.size; ++i) plain[i] = static_cast<std::uint8_t>(i);
    for (const bool has_initval : {false, true}) {
      const auto codec =
          Make("numcodecs.jenkins_lookup3", has_initval ? R"({"initval": 7})" : "{}");
      ByteVector stored = codec->Encode(plain).value();
      EXPECT_EQ(codec->Decode(stored, 100).value(), plain);
      const ByteVector hash = FromHex(has_initval ? each.from_7 : each.from_0);
      EXPECT_EQ(ByteVector(stored.end() - 4, stored.end()), hash) << each.size;
      stored[0] ^= 1;
      EXPECT_EQ(codec->Decode(stored, 100).error().code, ErrorCode::kDataLoss);
      EXPECT_EQ(codec->Decode(codec->Encode(plain).value(), each.size - 1).error().code,
                ErrorCode::kResourceExhausted);
    }
  }
  EXPECT_FALSE(BindBytesCodec("numcodecs.jenkins_lookup3", *ParseJson(R"({"prefix": "x"})")));
}

}  // namespace
}  // namespace unshard
