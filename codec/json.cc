// The JSON tree: its members, its parser (on nlohmann's SAX interface) and its writer.
//
// nlohmann/json turns numbers into integers and doubles, which loses spellings (-0, 1.0, 1e999) and
// refuses NaN. So the text is scanned once before: every number token is noted and overwritten with
// a plain 0 of the same length in a copy, which keeps lines and columns as they are.
#include "codec/json.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <optional>

namespace unshard {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

std::size_t SkipDigits(std::string_view text, std::size_t at) {
  while (at < text.size() && IsDigit(text[at])) ++at;
  return at;
}

// The length of the number token that `text` begins with by the JSON grammar; 0: there is none.
std::size_t JsonNumberLength(std::string_view text) {
  const auto has = [&](std::size_t at, char c) { return at < text.size() && text[at] == c; };
  std::size_t at = has(0, '-') ? 1 : 0;
  const std::size_t whole_end = has(at, '0') ? at + 1 : SkipDigits(text, at);
  if (whole_end == at) return 0;
  at = whole_end;
  if (has(at, '.')) {
    const std::size_t fraction_end = SkipDigits(text, at + 1);
    if (fraction_end == at + 1) return 0;
    at = fraction_end;
  }
  if (has(at, 'e') || has(at, 'E')) {
    const std::size_t sign = at + 1;
    const std::size_t digits = has(sign, '+') || has(sign, '-') ? sign + 1 : sign;
    at = SkipDigits(text, digits);
    if (at == digits) return 0;
  }
  return at;
}

// The same, with Python's bare words; only where the token is followed by the end of a value.
std::size_t NumberLength(std::string_view text) {
  std::size_t length = JsonNumberLength(text);
  for (const std::string_view word : {"NaN", "Infinity", "-Infinity"}) {
    if (text.substr(0, word.size()) == word) length = word.size();
  }
  if (length == 0 || length == text.size()) return length;
  const char next = text[length];
  return IsSpace(next) || next == ',' || next == ']' || next == '}' ? length : 0;
}

// "line 3, column 7" of the byte at `offset`.
std::string Place(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
  return "line " + std::to_string(line) + ", column " +
         std::to_string(before.size() - line_begin + 1);
}

tl::unexpected<Error> FailAt(std::string_view text, std::size_t offset, std::string_view what) {
  return Fail(ErrorCode::kDataLoss, Place(text, offset) + ": " + std::string(what));
}

// What the scan before the parse finds out.
struct Scan {
  std::string text;                  // with 0 in place of every number token
  std::vector<std::size_t> numbers;  // where each number token begins, in order
  std::vector<std::size_t> objects;  // where each object begins, in order
};

// The position after the string that begins with the quote at `at`.
std::size_t SkipString(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return std::min(at + 1, text.size());
}

// Notes the number at `at`, if there is one, and returns where to go on.
std::size_t ScanNumber(std::string_view text, std::size_t at, Scan& scan) {
  const std::size_t length = NumberLength(text.substr(at));
  if (length == 0) {
    // Not a number after all: the parser is to see and refuse the whole run as it stands.
    const auto in_run = [](char c) { return IsDigit(c) || c == '-' || c == '+' || c == '.'; };
    do ++at;
    while (at < text.size() &&
           (in_run(text[at]) || std::isalpha(static_cast<unsigned char>(text[at]))));
    return at;
  }
  scan.numbers.push_back(at);
  scan.text[at] = '0';
  std::fill_n(scan.text.begin() + static_cast<std::ptrdiff_t>(at) + 1, length - 1, ' ');
  return at + length;
}

Result<Scan> ScanText(std::string_view text, const JsonLimits& limits) {
  Scan scan;
  scan.text = text;
  std::size_t depth = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"') {
      at = SkipString(text, at);
    } else if (IsDigit(c) || c == '-' || c == 'N' || c == 'I') {
      at = ScanNumber(text, at, scan);
    } else {
      // The parser would take a zero byte for the end of the text.
      if (c == '\0') return FailAt(text, at, "expected a value, found a zero byte");
      if (c == '{') scan.objects.push_back(at);
      if ((c == '{' || c == '[') && ++depth > limits.max_depth) {
        return FailAt(
            text, at,
            "expected at most " + std::to_string(limits.max_depth) + " levels of nesting");
      }
      if ((c == '}' || c == ']') && depth > 0) --depth;
      ++at;
    }
  }
  return scan;
}

// A key that stands more than once in `members`.
std::optional<std::string> DuplicateKey(const std::vector<JsonValue::Member>& members) {
  std::vector<std::string_view> keys;
  keys.reserve(members.size());
  for (const auto& [key, value] : members) keys.push_back(key);
  std::sort(keys.begin(), keys.end());
  const auto twice = std::adjacent_find(keys.begin(), keys.end());
  if (twice == keys.end()) return std::nullopt;
  return std::string(*twice);
}

// Builds the tree from the parser's events; the signatures are nlohmann's.
class TreeBuilder {
 public:
  TreeBuilder(std::string_view text, const Scan& scan) : text_(text), scan_(scan) {}

  bool null() { return Add(JsonValue()); }
  bool boolean(bool value) { return Add(JsonValue::Boolean(value)); }
  bool number_integer(std::int64_t) { return AddNumber(); }
  bool number_unsigned(std::uint64_t) { return AddNumber(); }
  bool number_float(double, const std::string&) { return AddNumber(); }
  bool string(std::string& value) { return Add(JsonValue::String(std::move(value))); }
  bool binary(std::vector<std::uint8_t>&) { return false; }  // not in JSON text
  bool start_object(std::size_t) {
    object_begins_.push_back(scan_.objects[next_object_++]);
    return Add(JsonValue::Object(), true);
  }
  bool key(std::string& key) {
    open_.back()->members().emplace_back(std::move(key), JsonValue());
    return true;
  }
  bool end_object() {
    if (const auto key = DuplicateKey(open_.back()->members())) {
      return Refuse(object_begins_.back(),
                    "expected distinct members, found \"" + *key + "\" twice in this object");
    }
    object_begins_.pop_back();
    open_.pop_back();
    return true;
  }
  bool start_array(std::size_t) { return Add(JsonValue::Array(), true); }
  bool end_array() {
    open_.pop_back();
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::json::exception& error) {
    // "[id] parse error at line 1, column 2: syntax error …; last read: …"; we count columns.
    std::string_view what = error.what();
    if (const auto colon = what.find(": "); colon != what.npos) what.remove_prefix(colon + 2);
    return Refuse(position == 0 ? 0 : position - 1, what.substr(0, what.find("; last read")));
  }

  JsonValue& root() { return root_; }
  Error& error() { return *error_; }

 private:
  bool Refuse(std::size_t offset, std::string_view what) {
    error_ = FailAt(text_, offset, what).value();
    return false;
  }

  bool AddNumber() {
    // The scan leaves out a number that runs into something else ("1x"), which the parser hands on
    // before it fails at what follows.
    if (next_number_ == scan_.numbers.size()) return Add(JsonValue());
    const std::size_t begin = scan_.numbers[next_number_++];
    const std::string_view rest = text_.substr(begin);
    return Add(JsonValue::Number(std::string(rest.substr(0, NumberLength(rest)))));
  }

  // Puts a value where the text has it. Pointers in `open_` stay good: an open value is the last
  // one of its parent, which grows only after it is closed.
  bool Add(JsonValue value, bool opens = false) {
    JsonValue* place = &root_;
    if (!open_.empty() && open_.back()->is_array()) {
      place = &open_.back()->items().emplace_back();
    } else if (!open_.empty()) {
      place = &open_.back()->members().back().second;
    }
    *place = std::move(value);
    if (opens) open_.push_back(place);
    return true;
  }

  std::string_view text_;
  const Scan& scan_;
  std::size_t next_number_ = 0;
  std::size_t next_object_ = 0;
  std::vector<std::size_t> object_begins_;  // of the open objects
  std::vector<JsonValue*> open_;
  JsonValue root_;
  std::optional<Error> error_;
};

void WriteString(std::string_view text, std::string& out) {
  constexpr std::string_view kHex = "0123456789abcdef";
  constexpr std::string_view kEscaped = "\"\\\b\f\n\r\t";
  constexpr std::string_view kLetters = "\"\\bfnrt";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (const auto at = kEscaped.find(c); at != kEscaped.npos) {
      out += '\\';
      out += kLetters[at];
    } else if (byte < 0x20) {
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

class Writer {
 public:
  explicit Writer(int indent) : indent_(indent) {}

  void Write(const JsonValue& value) {
    switch (value.type()) {
      case JsonValue::Type::kNull:
        out_ += "null";
        break;
      case JsonValue::Type::kBoolean:
        out_ += value.boolean() ? "true" : "false";
        break;
      case JsonValue::Type::kNumber:
        out_ += value.text();
        break;
      case JsonValue::Type::kString:
        WriteString(value.text(), out_);
        break;
      case JsonValue::Type::kArray:
        WriteArray(value.items());
        break;
      case JsonValue::Type::kObject:
        WriteObject(value.members());
        break;
    }
  }

  std::string Take() { return std::move(out_); }

 private:
  void WriteArray(const std::vector<JsonValue>& items) {
    const bool one_line = std::none_of(items.begin(), items.end(), [](const JsonValue& item) {
      return item.is_array() || item.is_object();
    });
    Open('[', one_line);
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) Separate(one_line);
      Write(items[i]);
    }
    Close(']', one_line);
  }

  void WriteObject(const std::vector<JsonValue::Member>& members) {
    const bool one_line = members.empty();
    Open('{', one_line);
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (i > 0) Separate(one_line);
      WriteString(members[i].first, out_);
      out_ += ": ";
      Write(members[i].second);
    }
    Close('}', one_line);
  }

  void Open(char bracket, bool one_line) {
    out_ += bracket;
    ++level_;
    if (!one_line) NewLine();
  }

  void Close(char bracket, bool one_line) {
    --level_;
    if (!one_line) NewLine();
    out_ += bracket;
  }

  void Separate(bool one_line) {
    out_ += one_line || indent_ <= 0 ? ", " : ",";
    if (!one_line) NewLine();
  }

  void NewLine() {
    if (indent_ <= 0) return;
    out_ += '\n';
    out_.append(static_cast<std::size_t>(indent_) * level_, ' ');
  }

  int indent_;
  std::size_t level_ = 0;
  std::string out_;
};

std::vector<const JsonValue::Member*> SortedMembers(const JsonValue& object) {
  std::vector<const JsonValue::Member*> sorted;
  sorted.reserve(object.members().size());
  for (const auto& member : object.members()) sorted.push_back(&member);
  std::sort(sorted.begin(), sorted.end(),
            [](const auto* a, const auto* b) { return a->first < b->first; });
  return sorted;
}

}  // namespace

JsonValue JsonValue::Boolean(bool value) {
  JsonValue result;
  result.type_ = Type::kBoolean;
  result.boolean_ = value;
  return result;
}

JsonValue JsonValue::Number(std::string token) {
  JsonValue result;
  result.type_ = Type::kNumber;
  result.text_ = std::move(token);
  return result;
}

JsonValue JsonValue::Number(std::uint64_t value) { return Number(std::to_string(value)); }

JsonValue JsonValue::String(std::string value) {
  JsonValue result;
  result.type_ = Type::kString;
  result.text_ = std::move(value);
  return result;
}

JsonValue JsonValue::Array(std::vector<JsonValue> items) {
  JsonValue result;
  result.type_ = Type::kArray;
  result.items_ = std::move(items);
  return result;
}

JsonValue JsonValue::Object(std::vector<Member> members) {
  JsonValue result;
  result.type_ = Type::kObject;
  result.members_ = std::move(members);
  return result;
}

const JsonValue* JsonValue::Find(std::string_view key) const {
  const auto found = std::find_if(members_.begin(), members_.end(),
                                  [&](const Member& member) { return member.first == key; });
  return found == members_.end() ? nullptr : &found->second;
}

JsonValue* JsonValue::Find(std::string_view key) {
  const auto found = std::find_if(members_.begin(), members_.end(),
                                  [&](const Member& member) { return member.first == key; });
  return found == members_.end() ? nullptr : &found->second;
}

void JsonValue::Set(std::string_view key, JsonValue value) {
  if (JsonValue* const present = Find(key)) {
    *present = std::move(value);
  } else {
    members_.emplace_back(std::string(key), std::move(value));
  }
}

bool JsonValue::Erase(std::string_view key) {
  return std::erase_if(members_, [&](const Member& member) { return member.first == key; }) > 0;
}

bool operator==(const JsonValue& a, const JsonValue& b) {
  if (a.type_ != b.type_) return false;
  if (a.type_ != JsonValue::Type::kObject) {
    return a.boolean_ == b.boolean_ && a.text_ == b.text_ && a.items_ == b.items_;
  }
  const auto left = SortedMembers(a);
  const auto right = SortedMembers(b);
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](const auto* x, const auto* y) { return *x == *y; });
}

Result<JsonValue> ParseJson(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.max_bytes) {
    return FailAt(text, limits.max_bytes,
                  "expected at most " + std::to_string(limits.max_bytes) + " bytes of JSON");
  }
  UNSHARD_ASSIGN_OR_RETURN(const Scan scan, ScanText(text, limits));
  TreeBuilder builder(text, scan);
  if (!nlohmann::json::sax_parse(scan.text.begin(), scan.text.end(), &builder)) {
    return tl::unexpected<Error>(std::move(builder.error()));
  }
  return std::move(builder.root());
}

std::string WriteJson(const JsonValue& value, int indent) {
  Writer writer(indent);
  writer.Write(value);
  return writer.Take();
}

}  // namespace unshard
