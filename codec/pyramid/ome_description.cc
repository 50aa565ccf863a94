#include "codec/pyramid/ome_description.h"

#include <array>
#include <string_view>
#include <utility>

#include "codec/json/cursor.h"
#include "codec/pyramid/ome_axes.h"
#include "codec/pyramid/ome_check.h"
#include "codec/pyramid/ome_multiscale.h"

namespace unshard {
namespace {

// What a group is that has the member.
constexpr std::array<std::pair<std::string_view, const char*>, 8> kKinds = {
    {{"multiscales", "image"},
     {"image-label", "labels of an image"},
     {"labels", "list of labels"},
     {"plate", "plate"},
     {"well", "well"},
     {"scene", "scene"},
     {"series", "list of images"},
     {"bioformats2raw.layout", "images of bioformats2raw"}}};

// "of input", where a transformation begins or ends.
std::string EndOf(const JsonValue& transformation, const char* end) {
  const JsonValue* value = transformation.Find(end);
  if (value == nullptr) return "an unnamed system";
  if (value->is_string()) return value->text();
  const std::string name = TextOf(*value, "name"), path = TextOf(*value, "path");
  if (path.empty()) return name;
  return name.empty() ? path : name + " of " + path;
}

// What a multiscale with coordinate systems says beside where its levels are.
void AddIgnored(const JsonValue& multiscale, const OmeAxes& axes, OmeDescription& to) {
  for (const JsonValue& other : axes.others) {
    to.ignored.push_back("the coordinate system " + TextOf(other, "name"));
  }
  for (const JsonValue& one : ItemsOf(multiscale, "coordinateTransformations")) {
    to.ignored.push_back("the transformation " + TextOf(one, "type") + " from " +
                         EndOf(one, "input") + " to " + EndOf(one, "output"));
  }
  if (multiscale.Find("axes") != nullptr) {
    to.ignored.emplace_back("the member axes, because there are coordinate systems");
  }
}

void DescribeImage(const JsonCursor& multiscale, OmeDescription& to) {
  const auto axes = AxesOfOme(multiscale, 0);
  if (!axes) {
    to.fault = axes.error().message;
    return;
  }
  to.system = axes->system;
  for (const JsonValue& axis : axes->axes) to.axes.push_back(TextOf(axis, "name"));
  if (!axes->system.empty()) AddIgnored(multiscale.value(), *axes, to);
  for (const JsonValue& dataset : ItemsOf(multiscale.value(), "datasets")) {
    // Where levels have no transformations, the shapes of their arrays say where they are.
    if (ItemsOf(dataset, "coordinateTransformations").empty()) return;
  }
  const auto model = ReadOmeMultiscale(multiscale, {});
  if (!model) {
    to.fault = model.error().message;
    return;
  }
  to.ignored.insert(to.ignored.end(), model->warnings.begin(), model->warnings.end());
}

std::string List(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

}  // namespace

OmeDescription DescribeOme(const JsonValue& ome) {
  OmeDescription description;
  description.version = OmeVersionOf(ome);
  for (const auto& [member, kind] : kKinds) {
    if (ome.Find(member) != nullptr) description.kinds.emplace_back(kind);
  }
  const auto& multiscales = ItemsOf(ome, "multiscales");
  if (!multiscales.empty()) {
    DescribeImage(JsonCursor(multiscales.front(), "multiscales[0]"), description);
  }
  for (std::size_t i = 1; i < multiscales.size(); ++i) {
    const std::string name = TextOf(multiscales[i], "name");
    description.ignored.push_back(ItemPath("multiscales", i) +
                                  (name.empty() ? "" : " (" + name + ")"));
  }
  if (ome.Find("scene") != nullptr) {
    description.ignored.emplace_back("the transformations of the scene");
  }
  if (!description.version.starts_with("0.6")) return description;
  if (const Status valid = CheckOme06(ome); !valid) description.invalid = valid.error().message;
  return description;
}

std::string TextOf(const OmeDescription& ome) {
  std::string text = "OME-Zarr" + (ome.version.empty() ? " without a version" : " " + ome.version);
  if (!ome.kinds.empty()) text += ": " + List(ome.kinds);
  if (!ome.axes.empty()) text += "; axes " + List(ome.axes);
  if (!ome.system.empty()) text += " in the coordinate system " + ome.system;
  return text;
}

}  // namespace unshard
