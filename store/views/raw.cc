#include "store/views/other_format.h"
#include "store/views/views.h"

namespace unshard {
namespace {

class Raw final : public View {
 public:
  [[nodiscard]] std::string_view name() const override { return "raw"; }
  [[nodiscard]] bool PresentsAsStored(Dialect) const override { return false; }
  [[nodiscard]] bool KeepsFormat() const override { return true; }
  [[nodiscard]] Result<Presentation> Present(const StoredDataset& dataset,
                                             const TreeParts& parts) const override {
    if (!dataset.source) return NativeView().Present(dataset, parts);
    UNSHARD_ASSIGN_OR_RETURN(PresentedDataset presented,
                             PresentDataset(*dataset.source, dataset.source->dialect, {}));
    return MakePresentation(dataset, std::move(presented), parts);
  }
};

}  // namespace

const View& RawView() {
  static const Raw view;
  return view;
}

}  // namespace unshard
