#include "store/views/other_format.h"
#include "store/views/views.h"

namespace unshard {
namespace {

class Precomputed final : public View {
 public:
  [[nodiscard]] std::string_view name() const override { return "precomputed"; }
  [[nodiscard]] bool PresentsAsStored(ArrayDialect dialect) const override {
    return dialect == ArrayDialect::kPrecomputed;
  }
  [[nodiscard]] Result<Presentation> Present(const StoredDataset& dataset,
                                             const TreeParts& parts) const override {
    if (!dataset.source) return NativeView().Present(dataset, parts);
    return PresentInFormat(dataset, ArrayDialect::kPrecomputed, parts);
  }
};

}  // namespace

const View& PrecomputedView() {
  static const Precomputed view;
  return view;
}

}  // namespace unshard
