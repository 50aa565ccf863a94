#include "codec/precomputed/object_check.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "codec/core/byte_range.h"
#include "codec/core/lower_case.h"
#include "codec/json/cursor.h"
#include "codec/precomputed/mesh_manifest.h"
#include "codec/types/data_type.h"

namespace unshard {
namespace {

constexpr auto kAttributes = DataTypeDialect::kPrecomputedAttributes;
constexpr std::uint64_t kFloatSize = 4;
constexpr std::uint64_t kIdSize = 8;

// a + count * each; on overflow 2^64 - 1, a size that no chunk has.
std::uint64_t Grow(std::uint64_t a, std::uint64_t count, std::uint64_t each) {
  const auto product = CheckedMultiply(count, each);
  const auto sum = product ? CheckedAdd(a, *product) : std::nullopt;
  return sum.value_or(~std::uint64_t{0});
}

tl::unexpected<Error> RefuseShort(std::string_view what, std::uint64_t least, std::uint64_t found) {
  return RefuseChunk(what, "expected at least ", least, " bytes, found ", found);
}

class ObjectCheck : public ChunkCheck {
 public:
  [[nodiscard]] Status Check(std::span<const std::uint64_t> /*cell*/, std::uint64_t size,
                             ByteSpan start) const final {
    if (size == 0) return RefuseEmptyChunk();
    return CheckContent(size, start);
  }

 protected:
  [[nodiscard]] virtual Status CheckContent(std::uint64_t size, ByteSpan start) const = 0;
};

class MeshManifestCheck final : public ObjectCheck {
 public:
  [[nodiscard]] std::uint64_t NeededBytes(std::uint64_t size) const override {
    return size <= kMaxCheckedBytes ? size : 0;
  }

 private:
  [[nodiscard]] Status CheckContent(std::uint64_t size, ByteSpan start) const override {
    if (start.size() < size) return {};
    const auto fragments = MeshFragmentBytes(start);
    if (!fragments) return Fail(ErrorCode::kInvalidArgument, fragments.error().message);
    return {};
  }
};

// u32 vertex count, u32 edge count, f32 positions[3] a vertex, u32 vertices[2] an edge, attributes.
class SkeletonCheck final : public ObjectCheck {
 public:
  explicit SkeletonCheck(std::uint64_t vertex_size) : vertex_size_(vertex_size) {}
  [[nodiscard]] std::uint64_t NeededBytes(std::uint64_t size) const override {
    return std::min(size, kHeaderSize);
  }

 private:
  static constexpr std::uint64_t kHeaderSize = 8;
  static constexpr std::uint64_t kEdgeSize = 8;

  [[nodiscard]] Status CheckContent(std::uint64_t size, ByteSpan start) const override {
    if (start.size() < kHeaderSize) return RefuseShort("skeleton", kHeaderSize, size);
    const std::uint64_t vertices = Grow(kHeaderSize, LoadU32Le(start.data()), vertex_size_);
    const std::uint64_t least = Grow(vertices, LoadU32Le(start.data() + 4), kEdgeSize);
    if (size < least) return RefuseShort("skeleton", least, size);
    return {};
  }

  const std::uint64_t vertex_size_;
};

// The size of one annotation, without ids of related objects.
struct AnnotationForm {
  std::uint64_t least = 0;
  bool fixed = false;  // every annotation has exactly `least`
  std::uint64_t relationships = 0;
};

AnnotationForm DescribeAnnotations(const JsonValue& info) {
  AnnotationForm form;
  const JsonValue* dimensions = info.Find("dimensions");
  const std::uint64_t rank =
      dimensions != nullptr && dimensions->is_object() ? dimensions->members().size() : 0;
  const std::string type = LowerCase(TextOf(info, "annotation_type"));
  const bool two_points =
      type == "line" || type == "axis_aligned_bounding_box" || type == "ellipsoid";
  form.fixed = rank != 0 && (two_points || type == "point");
  if (form.fixed) form.least = rank * kFloatSize * (two_points ? 2 : 1);
  if (type == "polyline") form.least = 4;  // the number of points
  std::uint64_t properties = 0;
  for (const JsonValue& property : ItemsOf(info, "properties")) {
    const auto size = DataTypeSize(kAttributes, LowerCase(TextOf(property, "type")));
    if (!size) form.fixed = false;
    properties += size.value_or(0);
  }
  // Neuroglancer inserts padding into long records of properties.
  constexpr std::uint64_t kLongProperties = 128;
  if (properties > kLongProperties) form.fixed = false;
  form.least += (properties + 3) / 4 * 4;
  form.relationships = ItemsOf(info, "relationships").size();
  return form;
}

// One annotation, then for each relationship u32 count and u64 ids.
class SingleAnnotationCheck final : public ObjectCheck {
 public:
  explicit SingleAnnotationCheck(const AnnotationForm& form) : form_(form) {}
  [[nodiscard]] std::uint64_t NeededBytes(std::uint64_t size) const override {
    return form_.fixed ? std::min(size, kMaxCheckedBytes) : 0;
  }

 private:
  [[nodiscard]] Status CheckContent(std::uint64_t size, ByteSpan start) const override {
    const std::uint64_t least = Grow(form_.least, form_.relationships, 4);
    if (size < least) return RefuseShort("annotation", least, size);
    if (!form_.fixed) return {};
    std::uint64_t at = form_.least;
    for (std::uint64_t i = 0; i < form_.relationships; ++i) {
      if (!MakeByteRange(at, 4, start.size())) {
        if (start.size() < size) return {};  // what lies beyond `start` is not checked
        return RefuseShort("annotation", at + 4, size);
      }
      at = Grow(at + 4, LoadU32Le(start.data() + at), kIdSize);
      if (at > size) return RefuseShort("annotation", at, size);
    }
    if (at != size) return RefuseChunkSize("annotation", at, size);
    return {};
  }

  const AnnotationForm form_;
};

// u64 count, the annotations, their u64 ids.
class AnnotationListCheck final : public ObjectCheck {
 public:
  explicit AnnotationListCheck(const AnnotationForm& form) : form_(form) {}
  [[nodiscard]] std::uint64_t NeededBytes(std::uint64_t size) const override {
    return std::min(size, kCountSize);
  }

 private:
  static constexpr std::uint64_t kCountSize = 8;

  [[nodiscard]] Status CheckContent(std::uint64_t size, ByteSpan start) const override {
    if (start.size() < kCountSize) return RefuseShort("list of annotations", kCountSize, size);
    const std::uint64_t least = Grow(kCountSize, LoadU64Le(start.data()), form_.least + kIdSize);
    if (size < least) return RefuseShort("list of annotations", least, size);
    if (form_.fixed && size != least) return RefuseChunkSize("list of annotations", least, size);
    return {};
  }

  const AnnotationForm form_;
};

}  // namespace

std::shared_ptr<const ChunkCheck> MakeMeshManifestCheck() {
  return std::make_shared<MeshManifestCheck>();
}

std::shared_ptr<const ChunkCheck> MakeSkeletonCheck(const JsonValue& info) {
  constexpr std::uint64_t kMaxComponents = 1u << 20;
  std::uint64_t vertex_size = 3 * kFloatSize;
  for (const JsonValue& attribute : ItemsOf(info, "vertex_attributes")) {
    const JsonValue* count = attribute.Find("num_components");
    const auto size = DataTypeSize(kAttributes, LowerCase(TextOf(attribute, "data_type")));
    if (count == nullptr || !size) continue;
    const auto components = JsonCursor(*count, "").Unsigned(1, kMaxComponents);
    if (components) vertex_size = Grow(vertex_size, *components, *size);
  }
  return std::make_shared<SkeletonCheck>(vertex_size);
}

std::shared_ptr<const ChunkCheck> MakeAnnotationCheck(const JsonValue& info,
                                                      AnnotationIndex index) {
  const AnnotationForm form = DescribeAnnotations(info);
  if (index == AnnotationIndex::kById) return std::make_shared<SingleAnnotationCheck>(form);
  return std::make_shared<AnnotationListCheck>(form);
}

}  // namespace unshard
