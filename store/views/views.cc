#include "store/views/views.h"

#include <algorithm>
#include <array>

#include "codec/json/parser.h"

namespace unshard {
namespace {

const std::vector<const View*>& Views() {
#define UNSHARD_ADDRESS_OF(view) &view(),
  static const std::vector<const View*> views{UNSHARD_EACH_VIEW(UNSHARD_ADDRESS_OF)};
#undef UNSHARD_ADDRESS_OF
  return views;
}

struct NamedCodec {
  std::string_view name;
  const char* codec;          // of Zarr v3
  const char* configuration;  // JSON
};
constexpr std::array kCodecs{
    NamedCodec{"none", "", ""},
    NamedCodec{"gzip", "gzip", R"({"level": 5})"},
    NamedCodec{"zstd", "zstd", R"({"level": 3, "checksum": false})"},
    NamedCodec{"blosc", "blosc",
               R"({"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "blocksize": 0})"},
};

}  // namespace

std::optional<ViewOptions> FindViewCodec(std::string_view name) {
  const auto found = std::find_if(kCodecs.begin(), kCodecs.end(),
                                  [&](const NamedCodec& codec) { return codec.name == name; });
  if (found == kCodecs.end()) return std::nullopt;
  ViewOptions options;
  if (found != kCodecs.begin())
    options.compression.push_back(CodecOfZarr3(found->codec, *ParseJson(found->configuration)));
  return options;
}

std::string ViewCodecNames() {
  std::string names;
  for (const NamedCodec& codec : kCodecs) {
    names += (names.empty() ? "" : ", ") + std::string(codec.name);
  }
  return names;
}

const View* FindView(std::string_view name) {
  const auto found = std::find_if(Views().begin(), Views().end(),
                                  [&](const View* view) { return view->name() == name; });
  return found == Views().end() ? nullptr : *found;
}

std::vector<std::string_view> AllViewNames() {
  std::vector<std::string_view> names;
  for (const View* const view : Views()) names.push_back(view->name());
  return names;
}

std::string ViewNames() {
  std::string names;
  for (const std::string_view name : AllViewNames()) {
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  return names;
}

}  // namespace unshard
