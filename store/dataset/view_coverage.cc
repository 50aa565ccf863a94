#include "store/dataset/view_coverage.h"

#include "store/views/views.h"

namespace unshard {

void ViewCoverage::Note(const std::string& root, const View& view, const std::string& path,
                        const Contribution& contribution) {
  for (const FoundDataset& found : contribution.found) {
    Presented& presented = views_[root];
    presented.any |= &view == &NativeView() || (!found.fault && !found.shape.empty());
    if (!found.fault || presented.refused) continue;
    const bool counts = path == root || found.fault->code == ErrorCode::kNotSupported;
    if (counts) presented.refused = *found.fault;
  }
}

std::map<std::string, Error> ViewCoverage::refused() const {
  std::map<std::string, Error> refused;
  for (const auto& [root, view] : views_) {
    if (view.refused && !view.any) refused.emplace(root, *view.refused);
  }
  return refused;
}

bool ViewCoverage::is_none() const { return !views_.empty() && refused().size() == views_.size(); }

}  // namespace unshard
