// A stored document and an edit of it, a zero byte between them: what is merged stays merged, and
// what is shown merges to what is stored.
#include <algorithm>
#include <string>

#include "codec/json.h"
#include "codec/metadata_merge.h"
#include "codec/neuroglancer_info.h"
#include "codec/zarr_metadata.h"
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
  if (!shown || !document || !document->is_object()) return;  // nobody may write anything else
  const auto same = merge(original, shown->unsharded_text);
  Require(same.has_value() && *same == original, "what is shown merges to what is stored");
}

}  // namespace

void FuzzMetadataMerge(ByteSpan input) {
  const auto mark = std::find(input.begin(), input.end(), 0);
  const auto length = static_cast<std::size_t>(mark - input.begin());
  const std::string_view original = AsText(input.first(length));
  const std::string_view edited =
      length < input.size() ? AsText(input.subspan(length + 1)) : original;
  MergeBoth(original, edited, ParseZarrMetadata, MergeZarrMetadata);
  MergeBoth(original, edited, ParseNeuroglancerInfo, MergeNeuroglancerInfo);
}

}  // namespace unshard
