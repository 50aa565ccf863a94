// Arbitrary bytes as JSON: what is accepted survives being written and read again.
#include <limits>

#include "codec/json/cursor.h"
#include "codec/json/json.h"
#include "codec/json/parser.h"
#include "codec/json/writer.h"
#include "tests/fuzz/fuzz_targets.h"

namespace unshard {
namespace {

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

void ReadEveryNumber(const JsonValue& value) {
  const JsonCursor cursor(value, "at");
  const auto integer = cursor.Integer(kMin, kMax);
  const auto natural = cursor.Unsigned(0, std::numeric_limits<std::uint64_t>::max());
  if (integer && *integer >= 0) {
    Require(natural == static_cast<std::uint64_t>(*integer), "both readings agree");
  }
  if (integer && *integer < 0) Require(!natural.has_value(), "negative numbers are not unsigned");
  for (const JsonValue& item : value.items()) ReadEveryNumber(item);
  for (const auto& [key, member] : value.members()) {
    Require(cursor.Member(key).has_value(), "members are found");
    ReadEveryNumber(member);
  }
}

}  // namespace

void FuzzJson(ByteSpan input) {
  const auto value = ParseJson(AsText(input), {.max_bytes = 1 << 20, .max_depth = 64});
  if (!value) {
    Require(value.error().code == ErrorCode::kDataLoss, "refusals are data loss");
    Require(!value.error().message.empty(), "refusals say why");
    return;
  }
  for (const int indent : {0, 2}) {
    const std::string text = WriteJson(*value, indent);
    const auto again = ParseJson(text, {.max_bytes = std::size_t{1} << 30, .max_depth = 64});
    Require(again.has_value(), "written text is read");
    Require(*again == *value, "written text is equal");
    Require(WriteJson(*again, indent) == text, "order and spelling are kept");
  }
  ReadEveryNumber(*value);
}

}  // namespace unshard
