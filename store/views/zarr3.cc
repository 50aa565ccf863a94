#include "store/views/other_format.h"
#include "store/views/views.h"

namespace unshard {
namespace {

class Zarr3 final : public View {
 public:
  [[nodiscard]] std::string_view name() const override { return "zarr3"; }
  [[nodiscard]] bool PresentsAsStored(ArrayDialect dialect) const override {
    return dialect == ArrayDialect::kZarr3;
  }
  [[nodiscard]] Result<Presentation> Present(const StoredDataset& dataset,
                                             const TreeParts& parts) const override {
    if (!dataset.source) return NativeView().Present(dataset, parts);
    return PresentInFormat(dataset, ArrayDialect::kZarr3, parts);
  }
};

}  // namespace

const View& Zarr3View() {
  static const Zarr3 view;
  return view;
}

}  // namespace unshard
