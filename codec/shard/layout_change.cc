#include "codec/shard/layout_change.h"

#include <cerrno>
#include <cstddef>

#include "codec/json/meaning.h"
#include "codec/json/parser.h"
#include "codec/json/writer.h"

namespace unshard {
namespace {

std::string Shown(const JsonValue* value) {
  if (value == nullptr) return "nothing";
  constexpr std::size_t kMaxShown = 200;
  std::string text = WriteJson(*value, 0);
  if (text.size() > kMaxShown) text = text.substr(0, kMaxShown) + "…";
  return text;
}

}  // namespace

tl::unexpected<Error> RefuseLayoutChange(const std::string& path, std::string_view why) {
  return tl::unexpected<Error>(Error{ErrorCode::kPermissionDenied,
                                     path + ": cannot be changed: " + std::string(why), EPERM});
}

tl::unexpected<Error> RefuseLayoutChange(const std::string& path, const JsonValue* before,
                                         const JsonValue* after) {
  return RefuseLayoutChange(
      path, "existing chunks depend on it; expected " + Shown(before) + ", found " + Shown(after));
}

tl::unexpected<Error> RefuseNewShards(const std::string& path) {
  return tl::unexpected<Error>(Error{
      ErrorCode::kPermissionDenied,
      path +
          ": sharded arrays cannot be created through the mount, which shows single chunks: create "
          "this one in the source, then write its chunks here; or create it without sharding",
      EPERM});
}

Status ExpectSame(const std::string& path, const JsonValue* before, const JsonValue* after,
                  const JsonValue& fallback) {
  const auto meant = [&](const JsonValue* value) -> const JsonValue& {
    return value == nullptr || value->is_null() ? fallback : *value;
  };
  if (SameMeaning(meant(before), meant(after))) return {};
  return RefuseLayoutChange(path, before, after);
}

Result<JsonValue> ParseEdited(std::string_view edited) {
  auto document = ParseJson(edited);
  if (!document) return Fail(ErrorCode::kInvalidArgument, document.error().message);
  if (!document->is_object()) {
    return Fail(ErrorCode::kInvalidArgument, "expected a JSON object as metadata");
  }
  return document;
}

}  // namespace unshard
