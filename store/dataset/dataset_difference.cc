#include "store/dataset/dataset_difference.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "codec/array/document_names.h"
#include "codec/json/parser.h"
#include "codec/pyramid/array_documents.h"
#include "codec/types/data_type.h"

namespace unshard {
namespace {

// Empty where the document describes no array that can be read.
std::vector<Array> ArraysOf(std::string_view name, std::string_view text) {
  const auto dialect = DialectOfDocument(name);
  const auto document = ParseJson(text);
  if (!dialect || !document) return {};
  if (*dialect == Dialect::kPrecomputed) {
    return ReadScales(*document).value_or(std::vector<Array>());
  }
  auto array = ReadArray(*dialect, *document, JsonValue());
  if (!array) return {};
  return {*std::move(array)};
}

std::string ListIn(const Array& array, std::vector<std::uint64_t> list) {
  if (ListsFastestAxisFirst(array.dialect)) std::reverse(list.begin(), list.end());
  std::string text;
  for (const std::uint64_t number : list)
    text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

std::string ShardsOf(const Array& array) {
  if (array.shard_shape) return ListIn(array, *array.shard_shape);
  return array.sharding.is_object() ? "of another kind" : "none";
}

class Differences {
 public:
  void Add(const std::string& what, const std::string& there, const std::string& asked) {
    if (there == asked) return;
    text_ += (text_.empty() ? "" : "; ") + what + " " + there + " there, " + asked + " asked";
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace

std::string DifferenceOf(std::string_view name, std::string_view there, std::string_view asked) {
  const std::vector<Array> old = ArraysOf(name, there), wanted = ArraysOf(name, asked);
  Differences differences;
  if (old.empty() || wanted.empty()) return "";
  differences.Add("scales", std::to_string(old.size()), std::to_string(wanted.size()));
  const Array &a = old.front(), &b = wanted.front();
  differences.Add("data type", DataTypeName(a.data_type), DataTypeName(b.data_type));
  differences.Add("shape", ListIn(a, a.shape), ListIn(b, b.shape));
  differences.Add("chunks", ListIn(a, a.chunk_shape), ListIn(b, b.chunk_shape));
  differences.Add("shards", ShardsOf(a), ShardsOf(b));
  differences.Add("codec", a.codec->text(), b.codec->text());
  return differences.text();
}

}  // namespace unshard
