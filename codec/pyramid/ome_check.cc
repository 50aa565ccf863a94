#include "codec/pyramid/ome_check.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "codec/json/cursor.h"
#include "codec/json/number.h"
#include "codec/json/writer.h"

namespace unshard {
namespace {

using Check = Status (*)(const JsonCursor&);
constexpr std::size_t kUnbounded = ~std::size_t{0};
constexpr std::int64_t kLargest = std::int64_t{1} << 53;

// --- Forms of values

Status IsText(const JsonCursor& value) {
  return value.value().is_string() ? Status() : Status(value.Expected("a string"));
}
Status IsName(const JsonCursor& value) {
  return TextOf(JsonValue::Object({{"a", value.value()}}), "a").empty()
             ? Status(value.Expected("a string that is not empty"))
             : Status();
}
Status IsBoolean(const JsonCursor& value) {
  return value.value().is_boolean() ? Status() : Status(value.Expected("true or false"));
}
Status IsNumber(const JsonCursor& value) {
  return value.value().is_number() ? Status() : Status(value.Expected("a number"));
}
Status IsAboveZero(const JsonCursor& value) {
  const auto number = NumberOf(value.value());
  return number && *number > 0 ? Status() : Status(value.Expected("a number above 0"));
}
template <std::int64_t min, std::int64_t max>
Status IsWhole(const JsonCursor& value) {
  return value.Integer(min, max).map([](std::int64_t) {});
}
constexpr Check kIsCount = IsWhole<1, kLargest>;
constexpr Check kIsIndex = IsWhole<0, kLargest>;

// A list of `least` to `most` items, each as `check` wants it.
Status CheckItems(const JsonCursor& list, Check check, std::size_t least = 0,
                  std::size_t most = kUnbounded) {
  UNSHARD_ASSIGN_OR_RETURN(const auto items, list.Items());
  if (items.size() < least || items.size() > most) {
    std::string expected = "at least " + std::to_string(least) + " items";
    if (most != kUnbounded) {
      expected =
          (least == most ? "" : std::to_string(least) + " to ") + std::to_string(most) + " items";
    }
    return Fail(ErrorCode::kDataLoss, list.path(), ": expected ", expected, ", found ",
                items.size());
  }
  for (const JsonCursor& item : items) UNSHARD_RETURN_IF_ERROR(check(item));
  return {};
}

Status AreUnique(const JsonCursor& list) {
  std::set<std::string> seen;
  for (const JsonValue& item : list.value().items()) {
    if (seen.insert(WriteJson(item, 0)).second) continue;
    return Fail(ErrorCode::kDataLoss, list.path(), ": two items are the same");
  }
  return {};
}

// Items that are all different.
Status CheckSet(const JsonCursor& list, Check check, std::size_t least,
                std::size_t most = kUnbounded) {
  UNSHARD_RETURN_IF_ERROR(CheckItems(list, check, least, most));
  return AreUnique(list);
}

struct MemberCheck {
  const char* name;
  std::function<Status(const JsonCursor&)> check;
  bool required = false;
};
Status CheckMembers(const JsonCursor& object, const std::vector<MemberCheck>& members) {
  UNSHARD_RETURN_IF_ERROR(object.ExpectObject());
  for (const auto& [name, check, required] : members) {
    if (!required && object.value().Find(name) == nullptr) continue;
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor member, object.Member(name));
    UNSHARD_RETURN_IF_ERROR(check(member));
  }
  return {};
}

template <Check check, std::size_t least = 0, std::size_t most = kUnbounded>
Status IsList(const JsonCursor& list) {
  return CheckItems(list, check, least, most);
}
template <Check check, std::size_t least, std::size_t most = kUnbounded>
Status IsSet(const JsonCursor& list) {
  return CheckSet(list, check, least, most);
}

// --- Transformations

Status IsTransformation(const JsonCursor& one);

Status IsMatrix(const JsonCursor& matrix) { return CheckItems(matrix, IsList<IsNumber>); }

Status IsRotation(const JsonCursor& matrix) {
  constexpr std::size_t kLeast = 2, kMost = 5;
  UNSHARD_RETURN_IF_ERROR(CheckItems(matrix, IsList<IsNumber>, kLeast, kMost));
  const std::size_t rank = matrix.value().items().size();
  for (const JsonValue& row : matrix.value().items()) {
    if (row.items().size() != rank) return matrix.Expected("as many columns as rows");
  }
  return {};
}

// A matrix in the document, or the path of an array.
Status HasMatrix(const JsonCursor& one, const char* name, Check check) {
  const bool has_path = one.value().Find("path") != nullptr;
  if (has_path == (one.value().Find(name) != nullptr)) {
    return Fail(ErrorCode::kDataLoss, one.path(), ": expected ", name, " or path");
  }
  return has_path ? CheckMembers(one, {{"path", IsText}}) : CheckMembers(one, {{name, check}});
}

Status IsPartOfDimensions(const JsonCursor& part) {
  return CheckMembers(part, {{"transformation", IsTransformation, true},
                             {"inputAxes", IsList<IsNumber>, true},
                             {"outputAxes", IsList<IsNumber>, true}});
}

Status IsInterpolation(const JsonCursor& value) {
  const std::string& text = value.value().text();
  if (text == "nearest" || text == "linear" || text == "cubic") return {};
  return value.Expected("nearest, linear or cubic");
}

Status IsProjection(const JsonCursor& one) {
  if (one.value().Find("droppedInputs") == nullptr &&
      one.value().Find("createdOutputs") == nullptr) {
    return one.Expected("droppedInputs or createdOutputs");
  }
  return CheckMembers(one, {{"droppedInputs", IsSet<IsWhole<0, 4>, 1, 3>},
                            {"createdOutputs", IsSet<IsWhole<0, 4>, 1, 3>}});
}

Status IsField(const JsonCursor& one) {
  return CheckMembers(one, {{"path", IsText, true}, {"interpolation", IsInterpolation}});
}

Status IsScale(const JsonCursor& one) {
  return CheckMembers(one, {{"scale", IsList<IsAboveZero>, true}});
}
Status IsTranslation(const JsonCursor& one) {
  return CheckMembers(one, {{"translation", IsList<IsNumber>, true}});
}

struct TransformationType {
  std::string_view name;
  Check check;
};
constexpr std::array<TransformationType, 12> kTypesOfTransformations = {{
    {"identity", [](const JsonCursor&) -> Status { return {}; }},
    {"scale", IsScale},
    {"translation", IsTranslation},
    {"sequence",
     [](const JsonCursor& one) {
       return CheckMembers(one, {{"transformations", IsList<IsTransformation>, true}});
     }},
    {"mapAxis",
     [](const JsonCursor& one) {
       return CheckMembers(one, {{"mapAxis", IsSet<IsWhole<0, 4>, 2, 5>, true}});
     }},
    {"projectAxis", IsProjection},
    {"affine", [](const JsonCursor& one) { return HasMatrix(one, "affine", IsMatrix); }},
    {"rotation", [](const JsonCursor& one) { return HasMatrix(one, "rotation", IsRotation); }},
    {"byDimension",
     [](const JsonCursor& one) {
       return CheckMembers(one, {{"transformations", IsList<IsPartOfDimensions>, true}});
     }},
    {"bijection",
     [](const JsonCursor& one) {
       return CheckMembers(
           one, {{"forward", IsTransformation, true}, {"inverse", IsTransformation, true}});
     }},
    {"displacements", IsField},
    {"coordinates", IsField},
}};

Status IsTransformation(const JsonCursor& one) {
  UNSHARD_RETURN_IF_ERROR(CheckMembers(one, {{"type", IsText, true}, {"name", IsText}}));
  const std::string type = TextOf(one.value(), "type");
  const auto* const known =
      std::ranges::find(kTypesOfTransformations, type, &TransformationType::name);
  if (known != kTypesOfTransformations.end()) return known->check(one);
  return Fail(ErrorCode::kDataLoss, one.path(), ".type: there is no transformation ", type);
}

template <bool has_name, bool has_path>
Status IsEnd(const JsonCursor& end) {
  return CheckMembers(end, {{"name", IsText, has_name}, {"path", IsText, has_path}});
}
constexpr Check kIsNamedEnd = IsEnd<true, false>;
constexpr Check kIsPathEnd = IsEnd<false, true>;

Status IsBetweenSystems(const JsonCursor& one) {
  UNSHARD_RETURN_IF_ERROR(IsTransformation(one));
  return CheckMembers(one, {{"input", kIsNamedEnd, true}, {"output", kIsNamedEnd, true}});
}

// --- Images

Status IsAxis(const JsonCursor& axis) {
  return CheckMembers(axis, {{"name", IsName, true},
                             {"type", IsText},
                             {"unit", IsText},
                             {"longName", IsText},
                             {"discrete", IsBoolean}});
}

Status AreAxes(const JsonCursor& axes) {
  constexpr std::size_t kMost = 5;
  UNSHARD_RETURN_IF_ERROR(CheckSet(axes, IsAxis, 1, kMost));
  const auto count = [&](const char* type) {
    return std::ranges::count_if(axes.value().items(), [type](const JsonValue& axis) {
      return TextOf(axis, "type") == type;
    });
  };
  const auto space = count("space");
  if ((space == 2 || space == 3) != (count("array") >= 2)) return {};
  return axes.Expected("two or three axes of type space, or at least two of type array");
}

Status IsSystem(const JsonCursor& system) {
  return CheckMembers(system, {{"name", IsName, true}, {"axes", AreAxes, true}});
}

Status IsScaleOrTranslation(const JsonCursor& one) {
  const std::string type = TextOf(one.value(), "type");
  if (type == "scale") return IsScale(one);
  if (type == "translation") return IsTranslation(one);
  return one.Expected("a scale or a translation");
}

Status IsOfLevel(const JsonCursor& one) {
  UNSHARD_RETURN_IF_ERROR(IsTransformation(one));
  const std::string type = TextOf(one.value(), "type");
  if (type == "sequence") {
    UNSHARD_RETURN_IF_ERROR(
        CheckMembers(one, {{"transformations", IsList<IsScaleOrTranslation, 2, 2>, true}}));
  } else if (type != "scale" && type != "identity") {
    return Fail(ErrorCode::kDataLoss, one.path(),
                ".type: expected scale, identity, or sequence, found ", type);
  }
  return CheckMembers(one, {{"input", kIsPathEnd, true}, {"output", kIsNamedEnd, true}});
}

Status IsLevel(const JsonCursor& dataset) {
  return CheckMembers(dataset, {{"path", IsText, true},
                                {"coordinateTransformations", IsList<IsOfLevel, 1, 1>, true}});
}

Status IsMultiscale(const JsonCursor& image) {
  return CheckMembers(image, {{"name", IsText},
                              {"datasets", IsList<IsLevel, 1>, true},
                              {"coordinateSystems", IsList<IsSystem, 1>, true},
                              {"coordinateTransformations", IsList<IsBetweenSystems, 1>}});
}

Status IsWindow(const JsonCursor& window) {
  return CheckMembers(window, {{"start", IsNumber, true},
                               {"min", IsNumber, true},
                               {"end", IsNumber, true},
                               {"max", IsNumber, true}});
}

Status IsChannel(const JsonCursor& channel) {
  return CheckMembers(channel, {{"window", IsWindow},
                                {"label", IsText},
                                {"family", IsText},
                                {"color", IsText},
                                {"active", IsBoolean}});
}

Status IsOmero(const JsonCursor& omero) {
  return CheckMembers(omero, {{"channels", IsList<IsChannel>, true}});
}

// --- Other groups

Status IsColor(const JsonCursor& color) {
  return CheckMembers(color,
                      {{"label-value", IsNumber, true}, {"rgba", IsList<IsWhole<0, 255>, 4, 4>}});
}

Status IsProperty(const JsonCursor& property) {
  return CheckMembers(property, {{"label-value", IsWhole<-kLargest, kLargest>, true}});
}

Status IsImageLabel(const JsonCursor& label) {
  const auto is_source = [](const JsonCursor& source) {
    return CheckMembers(source, {{"image", IsText}});
  };
  return CheckMembers(
      label,
      {{"colors", IsSet<IsColor, 1>}, {"properties", IsSet<IsProperty, 1>}, {"source", is_source}});
}

bool IsAlphanumeric(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0;
  });
}

Status IsLine(const JsonCursor& row) {
  return CheckMembers(row, {{"name",
                             [](const JsonCursor& name) -> Status {
                               if (IsAlphanumeric(name.value().text())) return {};
                               return name.Expected("letters and digits");
                             },
                             true}});
}

Status IsWellPath(const JsonCursor& path) {
  const std::string& text = path.value().text();
  const std::size_t slash = text.find('/');
  const bool is_path = path.value().is_string() && slash != text.npos &&
                       IsAlphanumeric(text.substr(0, slash)) &&
                       IsAlphanumeric(text.substr(slash + 1));
  return is_path ? Status() : Status(path.Expected("a row and a column, as in A/1"));
}

Status IsWellOfPlate(const JsonCursor& well) {
  return CheckMembers(
      well,
      {{"path", IsWellPath, true}, {"rowIndex", kIsIndex, true}, {"columnIndex", kIsIndex, true}});
}

Status IsAcquisition(const JsonCursor& acquisition) {
  return CheckMembers(acquisition, {{"id", kIsIndex, true},
                                    {"maximumfieldcount", kIsCount},
                                    {"name", IsText},
                                    {"starttime", kIsIndex},
                                    {"endtime", kIsIndex}});
}

Status IsPlate(const JsonCursor& plate) {
  return CheckMembers(plate, {{"acquisitions", IsList<IsAcquisition>},
                              {"field_count", kIsCount},
                              {"name", IsText},
                              {"columns", IsSet<IsLine, 1>, true},
                              {"rows", IsSet<IsLine, 1>, true},
                              {"wells", IsSet<IsWellOfPlate, 1>, true}});
}

Status IsFieldPath(const JsonCursor& path) {
  const std::string& text = path.value().text();
  const bool has_name = std::ranges::any_of(text, [](char c) { return c != '.'; });
  const bool is_plain = std::ranges::all_of(text, [](char c) {
    return IsAlphanumeric(std::string_view(&c, 1)) || c == '_' || c == '.' || c == '-';
  });
  const bool is_path = path.value().is_string() && has_name && is_plain && !text.starts_with("__");
  return is_path ? Status()
                 : Status(path.Expected("a name of letters, digits, \"_\", \".\" and \"-\""));
}

Status IsFieldOfView(const JsonCursor& image) {
  return CheckMembers(image,
                      {{"acquisition", IsWhole<-kLargest, kLargest>}, {"path", IsFieldPath, true}});
}

Status IsWell(const JsonCursor& well) {
  return CheckMembers(well, {{"images", IsSet<IsFieldOfView, 1>, true}});
}

Status IsScene(const JsonCursor& scene) {
  return CheckMembers(scene, {{"coordinateSystems", IsSet<IsSystem, 0>},
                              {"coordinateTransformations", IsList<IsBetweenSystems, 1>, true}});
}

Status IsLayout(const JsonCursor& layout) { return IsWhole<3, 3>(layout); }

}  // namespace

Status CheckOmeTransformation(const JsonValue& transformation) {
  return IsTransformation(JsonCursor(transformation, ""));
}

Status CheckOme06(const JsonValue& ome) {
  const std::vector<MemberCheck> kinds = {{"multiscales", IsSet<IsMultiscale, 1>},
                                          {"image-label", IsImageLabel},
                                          {"labels", IsList<IsText>},
                                          {"plate", IsPlate},
                                          {"well", IsWell},
                                          {"scene", IsScene},
                                          {"series", IsList<IsText>},
                                          {"bioformats2raw.layout", IsLayout}};
  const JsonCursor cursor(ome, "ome");
  UNSHARD_RETURN_IF_ERROR(CheckMembers(cursor, {{"version", IsText, true}, {"omero", IsOmero}}));
  UNSHARD_RETURN_IF_ERROR(CheckMembers(cursor, kinds));
  const bool has_any = std::ranges::any_of(
      kinds, [&](const MemberCheck& kind) { return ome.Find(kind.name) != nullptr; });
  if (has_any) return {};
  return Fail(ErrorCode::kDataLoss, "ome: expected an image, labels, a plate, a well or a scene");
}

}  // namespace unshard
