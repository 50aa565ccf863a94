// Built on nlohmann's SAX interface.
//
// nlohmann/json converts numbers to integers and doubles, which loses spellings (-0, 1.0), and it
// refuses 1e999 and NaN. It therefore reads the text through TokenFilter, which replaces every
// number token by "0" and spaces and remembers where the token is. Nothing is copied, and all other
// characters keep their positions.
#include "codec/json/parser.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "codec/core/text.h"

namespace unshard {
namespace {

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

// The same, with Python's bare words; 0 where anything but the end of a value follows the token.
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
std::string LineAndColumn(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
  return "line " + std::to_string(line) + ", column " +
         std::to_string(before.size() - line_begin + 1);
}

Error ErrorAt(std::string_view text, std::size_t offset, std::string_view what) {
  return Error{ErrorCode::kDataLoss, LineAndColumn(text, offset) + ": " + std::string(what)};
}

// The text that the parser sees, character by character.
class TokenFilter {
 public:
  explicit TokenFilter(std::string_view text) : text_(text) {}

  [[nodiscard]] bool at_end() const { return at_ == text_.size(); }
  // How many characters the parser has taken.
  [[nodiscard]] std::size_t position() const { return at_; }
  // The position of the first zero byte outside of strings. The parser takes it for the end of the
  // text.
  [[nodiscard]] std::optional<std::size_t> zero_byte() const { return zero_byte_; }

  // The character that the parser takes next. Must not enter the token after it: TreeBuilder calls
  // number() when the parser has already taken the character after a number.
  [[nodiscard]] char Current() {
    if (at_ >= number_end_) Enter();
    if (at_ >= number_end_) return text_[at_];
    return at_ == number_begin_ ? first_ : ' ';
  }

  void Advance() { ++at_; }

  // The number token that the parser took last.
  [[nodiscard]] std::string_view number() const {
    return text_.substr(number_begin_, number_end_ - number_begin_);
  }

 private:
  void Enter() {
    const char c = text_[at_];
    if (in_string_) {
      if (c == '"' && !escaped_) in_string_ = false;
      escaped_ = c == '\\' && !escaped_;
    } else if (c == '"') {
      in_string_ = true;
      escaped_ = false;
    } else if (IsDigit(c) || c == '-' || c == 'N' || c == 'I') {
      EnterNumber();
    } else if (c == '\0' && !zero_byte_) {
      zero_byte_ = at_;
    }
  }

  void EnterNumber() {
    const std::size_t length = NumberLength(text_.substr(at_));
    first_ = length != 0 ? '0' : '.';  // which begins no value: the parser fails there
    number_begin_ = at_;
    number_end_ = at_ + std::max<std::size_t>(length, 1);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t number_begin_ = 0;
  std::size_t number_end_ = 0;
  char first_ = '0';  // in place of the token's first character
  bool in_string_ = false;
  bool escaped_ = false;
  std::optional<std::size_t> zero_byte_;
};

// The input of nlohmann's parser; the end is a null pointer.
class FilterIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  explicit FilterIterator(TokenFilter* filter) : filter_(filter) {}
  char operator*() const { return filter_->Current(); }
  FilterIterator& operator++() {
    filter_->Advance();
    return *this;
  }
  bool operator!=(const FilterIterator& end) const {
    return filter_ != end.filter_ && !filter_->at_end();
  }

 private:
  TokenFilter* filter_;
};

// Frees the spare capacity of a small vector. The spare pages of a large one were never touched,
// so that they take no memory.
template <class T>
void Tighten(std::vector<T>& values) {
  constexpr std::size_t kSmall = 4096;
  if (values.capacity() <= kSmall) values.shrink_to_fit();
}

// Builds the tree from the parser's events, whose signatures are nlohmann's. The parser sends the
// event of a token before it takes the character after that token.
class TreeBuilder {
 public:
  TreeBuilder(std::string_view text, const TokenFilter& filter, const JsonLimits& limits)
      : text_(text), filter_(filter), limits_(limits) {}

  bool null() { return Add(JsonValue()); }
  bool boolean(bool value) { return Add(JsonValue::Boolean(value)); }
  bool number_integer(std::int64_t) { return AddNumber(); }
  bool number_unsigned(std::uint64_t) { return AddNumber(); }
  bool number_float(double, const std::string&) { return AddNumber(); }
  // Copied to its own size: the parser's buffer has the capacity of the longest string so far.
  bool string(std::string& value) { return Add(JsonValue::String(std::string(value))); }
  bool binary(std::vector<std::uint8_t>&) { return false; }  // not in JSON text
  bool start_object(std::size_t) { return Open(JsonValue::Object()); }
  bool key(std::string& key) {
    open_.back().value->mutable_members().emplace_back(std::string(key), JsonValue());
    return true;
  }
  bool end_object() {
    if (const std::string* key = JsonMemberIndex(*open_.back().value).Duplicate()) {
      return Refuse(open_.back().begin, "the member \"" + *key + "\" occurs twice in this object");
    }
    Tighten(open_.back().value->mutable_members());
    open_.pop_back();
    return true;
  }
  bool start_array(std::size_t) { return Open(JsonValue::Array()); }
  bool end_array() {
    Tighten(open_.back().value->mutable_items());
    open_.pop_back();
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::json::exception& error) {
    // "[id] parse error at line 1, column 2: syntax error …; last read: …", where nlohmann counts
    // columns in another way.
    std::string_view what = error.what();
    if (const auto colon = what.find(": "); colon != what.npos) what.remove_prefix(colon + 2);
    return Refuse(position == 0 ? 0 : position - 1, what.substr(0, what.find("; last read")));
  }

  JsonValue& root() { return root_; }
  Error& error() { return *error_; }

 private:
  struct OpenValue {
    JsonValue* value;
    std::size_t begin;  // its offset in the text
  };

  bool Refuse(std::size_t offset, std::string_view what) {
    error_ = ErrorAt(text_, offset, what);
    return false;
  }

  bool AddNumber() { return Add(JsonValue::Number(std::string(filter_.number()))); }

  bool Open(JsonValue value) {
    const std::size_t begin = filter_.position() - 1;
    if (open_.size() == limits_.max_depth) {
      return Refuse(begin,
                    "expected at most " + std::to_string(limits_.max_depth) + " levels of nesting");
    }
    if (!Add(std::move(value))) return false;
    open_.push_back({last_, begin});
    return true;
  }

  // Adds a value to the innermost open one. Pointers in `open_` stay valid: an open value is the
  // last one of its parent, which grows only after it is closed.
  bool Add(JsonValue value) {
    if (++values_ > limits_.max_values) {
      return Refuse(filter_.position() - 1, "expected at most " +
                                                std::to_string(limits_.max_values) +
                                                " values in one JSON document");
    }
    last_ = &root_;
    if (!open_.empty() && open_.back().value->is_array()) {
      last_ = &open_.back().value->mutable_items().emplace_back();
    } else if (!open_.empty()) {
      last_ = &open_.back().value->mutable_members().back().second;
    }
    *last_ = std::move(value);
    return true;
  }

  std::string_view text_;
  const TokenFilter& filter_;
  const JsonLimits limits_;
  std::size_t values_ = 0;
  std::vector<OpenValue> open_;
  JsonValue root_;
  JsonValue* last_ = nullptr;  // the value that was added last
  std::optional<Error> error_;
};

}  // namespace

Result<JsonValue> ParseJson(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.max_bytes) {
    return tl::unexpected<Error>(
        ErrorAt(text, limits.max_bytes,
                "expected at most " + std::to_string(limits.max_bytes) + " bytes of JSON"));
  }
  TokenFilter filter(text);
  TreeBuilder builder(text, filter, limits);
  const bool parsed =
      nlohmann::json::sax_parse(FilterIterator(&filter), FilterIterator(nullptr), &builder);
  if (filter.zero_byte()) {
    return tl::unexpected<Error>(
        ErrorAt(text, *filter.zero_byte(), "expected a value, found a zero byte"));
  }
  if (!parsed) return tl::unexpected<Error>(std::move(builder.error()));
  return std::move(builder.root());
}

}  // namespace unshard
