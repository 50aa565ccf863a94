// Shapes that TensorStore 0.1.86 was seen to choose.
#include "codec/schema/chunk_shape.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "codec/json/parser.h"

namespace unshard {
namespace {

using SignedShape = std::vector<std::int64_t>;

Extents Bounded(const SignedShape& shape) { return {shape.begin(), shape.end()}; }

ChunkLayout Layout(const std::string& json) {
  const auto document = ParseJson(json);
  EXPECT_TRUE(document) << json;
  const auto layout = ParseChunkLayout(JsonCursor(*document, "chunk_layout"));
  EXPECT_TRUE(layout) << layout.error().message;
  return layout.value_or(ChunkLayout());
}

// The read chunk for the constraints `json` on it.
SignedShape Chosen(const SignedShape& domain, const std::string& json) {
  const ChunkLayout layout = Layout("{\"read_chunk\":" + json + "}");
  const auto shape = ChooseChunkShape(layout.read_chunk, Bounded(domain));
  EXPECT_TRUE(shape) << shape.error().message;
  return shape.value_or(SignedShape());
}

TEST(ChunkShape, ElementsAreSpreadOverTheDimensions) {
  EXPECT_EQ(Chosen({2000, 2000, 2000}, R"({"elements": 1000})"), (SignedShape{10, 10, 10}));
  EXPECT_EQ(Chosen({2000, 2000, 1}, R"({"elements": 1000})"), (SignedShape{31, 31, 1}));
  EXPECT_EQ(Chosen({100, 200, 30}, "{}"), (SignedShape{100, 200, 30}));
  EXPECT_EQ(Chosen({1000, 1000, 1000, 1}, R"({"elements": 884736})"), (SignedShape{96, 96, 96, 1}));
}

TEST(ChunkShape, WithoutBoundsThereAreAboutAMillionElements) {
  const Extents unbounded(3);
  EXPECT_EQ(*ChooseChunkShape({}, unbounded), (SignedShape{101, 101, 101}));
}

TEST(ChunkShape, AspectRatiosStretchIt) {
  EXPECT_EQ(Chosen({2000, 2000, 2000}, R"({"aspect_ratio": [3, 2, 1]})"),
            (SignedShape{167, 111, 55}));
  EXPECT_EQ(Chosen({2000, 2000, 1}, R"({"aspect_ratio": [3, 2, 1]})"), (SignedShape{1254, 836, 1}));
  EXPECT_EQ(Chosen({2000, 2000, 2000}, R"({"aspect_ratio": [1, 1.5, 1.5], "elements": 486000})"),
            (SignedShape{60, 90, 90}));
}

TEST(ChunkShape, RatiosThatDoNotComeOutEvenAreBisectedAsTensorStoreDoes) {
  EXPECT_EQ(Chosen({5, 22}, R"({"aspect_ratio": [1.5, 4], "elements": 9})"), (SignedShape{1, 5}));
  EXPECT_EQ(Chosen({5, 22}, R"({"aspect_ratio": [4, 1.5], "elements": 5})"), (SignedShape{5, 1}));
  EXPECT_EQ(Chosen({413, 86, 1306, 188}, R"({"aspect_ratio": [1.5, 1, 0.5, 2]})"),
            (SignedShape{43, 29, 14, 58}));
  EXPECT_EQ(Chosen({1000000000000, 1000000000000}, R"({"aspect_ratio": [3, 8], "elements": 54})"),
            (SignedShape{4, 12}));
  EXPECT_EQ(Chosen({1873, 1832, 20, 3}, R"({"aspect_ratio": [1.5, 2, 1.5, 1.5]})"),
            (SignedShape{114, 152, 20, 3}));
  EXPECT_EQ(Chosen({75, 2740, 2}, R"({"aspect_ratio": [3, 4, 3], "elements": 421})"),
            (SignedShape{12, 17, 2}));
}

TEST(ChunkShape, FixedExtentsCountTowardsTheElements) {
  EXPECT_EQ(Chosen({1000, 2000, 3000, 2}, R"({"shape": [0, 0, 0, 2]})"),
            (SignedShape{80, 80, 80, 2}));
}

TEST(ChunkShape, TheWholeExtentNeedsABound) {
  const ChunkLayout layout = Layout(R"({"read_chunk": {"shape": [-1]}})");
  EXPECT_EQ(*ChooseChunkShape(layout.read_chunk, Bounded({17})), (SignedShape{17}));
  const auto refused = ChooseChunkShape(layout.read_chunk, Extents(1));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("dimension 0 asks for chunks of the whole extent"),
            std::string::npos);
}

TEST(ChunkShape, ARatioThatUnderflowsIsAccepted) {
  EXPECT_EQ(Chosen({10, 10}, R"({"aspect_ratio": [1e-320, 1e300]})").size(), 2U);
}

// Both shapes for the constraints of a layout, where both are chosen.
ChunkShapes Both(const SignedShape& domain, const std::string& json) {
  const ChunkLayout layout = Layout(json);
  const auto shapes = ChooseChunkShapes(layout.read_chunk, layout.write_chunk, Bounded(domain));
  EXPECT_TRUE(shapes) << shapes.error().message;
  return shapes.value_or(ChunkShapes());
}

TEST(ChunkShapes, ASoftShapeIsFittedToAHardOne) {
  const SignedShape domain = {1000, 1000, 1000, 1000};
  const ChunkShapes shapes = Both(domain, R"({
    "read_chunk": {"shape": [0, 0, 20, 8], "shape_soft_constraint": [5, 11, 0, 0]},
    "write_chunk": {"shape": [0, 30, 0, 16], "shape_soft_constraint": [6, 0, 41, 0]}})");
  EXPECT_EQ(shapes.read, (SignedShape{6, 10, 20, 8}));
  EXPECT_EQ(shapes.write, (SignedShape{6, 30, 40, 16}));
}

TEST(ChunkShapes, WriteChunksAreMultiplesOfReadChunks) {
  EXPECT_EQ(
      Both({1000, 1000}, R"({"read_chunk": {"shape": [5, 7]}, "write_chunk": {"elements": 100}})")
          .write,
      (SignedShape{10, 7}));
  EXPECT_EQ(
      Both({1000, 1000}, R"({"write_chunk": {"shape": [10, 14]}, "read_chunk": {"elements": 36}})")
          .read,
      (SignedShape{5, 7}));
  EXPECT_EQ(Both({1000, 1000, 1000}, R"({"read_chunk": {"shape": [30, 40, 50]},
                 "write_chunk": {"shape_soft_constraint": [200, 300, 400]}})")
                .write,
            (SignedShape{210, 280, 400}));
  EXPECT_EQ(Both({1000, 1000, 1000, 1}, R"({"read_chunk": {"shape": [30, 40, 50, 0]},
                 "write_chunk": {"elements": 480000}})")
                .write,
            (SignedShape{60, 80, 50, 1}));
  EXPECT_EQ(Both({1000, 1000, 1000, 1}, R"({"read_chunk": {"shape": [30, 40, 50, 0]},
                 "write_chunk": {"shape_soft_constraint": [0, 0, -1, 0]}})")
                .write,
            (SignedShape{30, 40, 1000, 1}));
}

TEST(ChunkShapes, WriteConstraintsAloneMakeTwoLevels) {
  const SignedShape domain = {1000, 1000, 10};
  EXPECT_EQ(Both(domain, R"({"write_chunk": {"shape": [16, 16, 16]}})").read,
            (SignedShape{16, 16, 8}));
  EXPECT_EQ(Both(domain, R"({"write_chunk": {"shape": [200, 200, 200]}})").read,
            (SignedShape{200, 200, 10}));
  const ChunkShapes wide = Both(domain, R"({"write_chunk": {"elements": 8000000}})");
  EXPECT_EQ(wide.read, (SignedShape{323, 323, 10}));
  EXPECT_EQ(wide.write, (SignedShape{646, 646, 10}));
}

TEST(ChunkShapes, TwoHardExtentsThatDoNotFitAreRefused) {
  const ChunkLayout layout =
      Layout(R"({"read_chunk": {"shape": [7]}, "write_chunk": {"shape": [10]}})");
  const auto shapes = ChooseChunkShapes(layout.read_chunk, layout.write_chunk, Bounded({100}));
  ASSERT_FALSE(shapes);
  EXPECT_EQ(shapes.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(
      shapes.error().message.find("write chunks of 10 are not a multiple of read chunks of 7"),
      std::string::npos)
      << shapes.error().message;
}

}  // namespace
}  // namespace unshard
