#include "store/views/views.h"

namespace unshard {
namespace {

class Native final : public View {
 public:
  [[nodiscard]] std::string_view name() const override { return "native"; }
  [[nodiscard]] Result<Presentation> Present(const StoredDataset& dataset,
                                             const TreeParts&) const override {
    Presentation shown;
    shown.documents.push_back({dataset.path, dataset.document, dataset.unsharded_text});
    for (const auto& stored : dataset.arrays) shown.chunks.push_back({stored, stored});
    return shown;
  }
};

}  // namespace

const View& NativeView() {
  static const Native view;
  return view;
}

}  // namespace unshard
