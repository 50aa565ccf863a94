// A stored document, an edit of it, and the stored document of every node below it, a zero byte
// between each two: what is merged stays merged, and what is shown merges to what is stored.
#include <optional>
#include <string>
#include <string_view>

#include "codec/json/parser.h"
#include "codec/precomputed/info.h"
#include "codec/precomputed/merge.h"
#include "codec/zarr3/document.h"
#include "codec/zarr3/merge.h"
#include "tests/fuzz/fuzz_targets.h"

namespace unshard {
namespace {

template <class Parse, class Merge>
void MergeBoth(std::string_view original, std::string_view edited, Parse parse, Merge merge) {
  const auto merged = merge(original, edited);
  if (merged) {
    const auto again = merge(*merged, edited);
    Require(again.has_value() && *again == *merged, "what is merged stays merged");
  } else {
    Require(merged.error().code != ErrorCode::kInternal, "merged documents read as the edit");
  }
  const auto shown = parse(original);
  const auto document = ParseJson(original);
  if (!shown || !document || !document->is_object()) return;  // no other edit is possible
  const auto same = merge(original, shown->unsharded_text);
  Require(same.has_value() && *same == original, "what is shown merges to what is stored");
}

}  // namespace

void FuzzMetadataMerge(ByteSpan input) {
  std::string_view rest = AsText(input);
  const auto next = [&]() -> std::optional<std::string_view> {
    if (rest.data() == nullptr) return std::nullopt;
    const std::size_t mark = rest.find('\0');
    const std::string_view part = rest.substr(0, mark);
    rest = mark == rest.npos ? std::string_view() : rest.substr(mark + 1);
    return part;
  };
  const std::string_view original = next().value_or(std::string_view());
  const std::string_view edited = next().value_or(original);
  const std::optional<std::string> node(next());
  const auto parse_zarr = [](std::string_view text) { return ParseZarrMetadata(text); };
  const auto parse_info = [](std::string_view text) { return ParseNeuroglancerInfo(text); };
  MergeBoth(original, edited, parse_zarr,
            [](auto before, auto after) { return MergeZarrMetadata(before, after); });
  MergeBoth(original, edited, parse_info,
            [](auto before, auto after) { return MergeNeuroglancerInfo(before, after); });
  const HoldsChunks nothing = [](std::string_view) { return false; };
  MergeBoth(original, edited, parse_info,
            [&](auto before, auto after) { return MergeNeuroglancerInfo(before, after, nothing); });
  const StoredNodes nodes = [&](std::string_view) -> Result<std::optional<std::string>> {
    return node;
  };
  MergeBoth(original, edited, parse_zarr,
            [&](auto before, auto after) { return MergeZarrMetadata(before, after, nodes); });
  const auto completed = CompleteZarrMetadata(edited, nodes);
  if (!completed) {
    Require(completed.error().code != ErrorCode::kInternal, "completed documents read as the edit");
    return;
  }
  const auto again = CompleteZarrMetadata(*completed, nodes);
  Require(again.has_value() && *again == *completed, "what is complete stays as it is");
}

}  // namespace unshard
