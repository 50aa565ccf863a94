#include "codec/json/writer.h"

#include <algorithm>
#include <cstddef>

#include "codec/core/text.h"

namespace unshard {
namespace {

void WriteString(std::string_view text, std::string& out) {
  constexpr std::string_view kEscaped = "\"\\\b\f\n\r\t";
  constexpr std::string_view kLetters = "\"\\bfnrt";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (const auto at = kEscaped.find(c); at != kEscaped.npos) {
      out += '\\';
      out += kLetters[at];
    } else if (byte < 0x20) {
      out += "\\u00" + HexText(byte, 2);
    } else {
      out += c;
    }
  }
  out += '"';
}

class Writer {
 public:
  // Stops soon after `max_bytes`. `compact`: without white space.
  Writer(int indent, std::size_t max_bytes, bool compact)
      : indent_(indent), max_bytes_(max_bytes), compact_(compact) {}

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

  [[nodiscard]] bool stopped() const { return out_.size() > max_bytes_; }
  std::string Take() { return std::move(out_); }

 private:
  void WriteArray(const std::vector<JsonValue>& items) {
    const bool one_line = std::none_of(items.begin(), items.end(), [](const JsonValue& item) {
      return item.is_array() || item.is_object();
    });
    Open('[', one_line);
    for (std::size_t i = 0; i < items.size() && !stopped(); ++i) {
      if (i > 0) Separate(one_line);
      Write(items[i]);
    }
    Close(']', one_line);
  }

  void WriteObject(const std::vector<JsonValue::Member>& members) {
    const bool one_line = members.empty();
    Open('{', one_line);
    for (std::size_t i = 0; i < members.size() && !stopped(); ++i) {
      if (i > 0) Separate(one_line);
      WriteString(members[i].first, out_);
      out_ += compact_ ? ":" : ": ";
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
    out_ += !compact_ && (one_line || indent_ <= 0) ? ", " : ",";
    if (!one_line) NewLine();
  }

  void NewLine() {
    if (indent_ <= 0) return;
    out_ += '\n';
    out_.append(static_cast<std::size_t>(indent_) * level_, ' ');
  }

  const int indent_;
  const std::size_t max_bytes_;
  const bool compact_;
  std::size_t level_ = 0;
  std::string out_;
};

}  // namespace

std::string WriteJson(const JsonValue& value, int indent) {
  Writer writer(indent, std::string().max_size(), /*compact=*/false);
  writer.Write(value);
  return writer.Take();
}

std::string WriteDocument(const JsonValue& document, int indent, const JsonLimits& limits) {
  Writer readable(indent, limits.max_bytes, /*compact=*/false);
  readable.Write(document);
  if (!readable.stopped()) return readable.Take();
  Writer compact(0, std::string().max_size(), /*compact=*/true);
  compact.Write(document);
  return compact.Take();
}

}  // namespace unshard
