#include "codec/zarr3/key_encoding.h"

#include <string>

namespace unshard {

Result<ChunkKeyEncoding> ParseZarr3KeyEncoding(const JsonCursor& encoding) {
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor name_cursor, encoding.Member("name"));
  UNSHARD_ASSIGN_OR_RETURN(const std::string name, name_cursor.String());
  ChunkKeyEncoding parsed;
  if (name == "v2") {
    parsed = {ChunkKeyEncoding::Kind::kV2, '.'};
  } else if (name != "default") {
    return Fail(ErrorCode::kNotSupported, encoding.path(), ": unsupported chunk key encoding \"",
                name, "\"");
  }
  UNSHARD_ASSIGN_OR_RETURN(const auto configurations, encoding.OptionalMember("configuration"));
  if (configurations.empty()) return parsed;
  UNSHARD_ASSIGN_OR_RETURN(const auto separators,
                           configurations.front().OptionalMember("separator"));
  if (separators.empty()) return parsed;
  const std::string& separator = separators.front().value().text();
  const bool known = separators.front().value().is_string() && separator.size() == 1 &&
                     (separator[0] == '/' || separator[0] == '.');
  if (!known) return separators.front().Expected("\"/\" or \".\"");
  parsed.separator = separator[0];
  return parsed;
}

}  // namespace unshard
