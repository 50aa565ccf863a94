#include "store/views/other_format.h"
#include "store/views/views.h"

namespace unshard {
namespace {

class Zarr2 final : public View {
 public:
  [[nodiscard]] std::string_view name() const override { return "zarr2"; }
  [[nodiscard]] bool PresentsAsStored(ArrayDialect dialect) const override {
    return dialect == ArrayDialect::kZarr2;
  }
  [[nodiscard]] Result<Presentation> Present(const StoredDataset& dataset,
                                             const TreeParts& parts) const override {
    if (!dataset.source) return NativeView().Present(dataset, parts);
    return PresentInFormat(dataset, ArrayDialect::kZarr2, parts);
  }
};

}  // namespace

const View& Zarr2View() {
  static const Zarr2 view;
  return view;
}

}  // namespace unshard
