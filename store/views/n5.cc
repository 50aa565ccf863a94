#include "codec/json/writer.h"
#include "codec/pyramid/n5_pyramid.h"
#include "store/views/other_format.h"
#include "store/views/views.h"

namespace unshard {
namespace {

constexpr const char* kDocument = "attributes.json";

class N5 final : public FormatView {
 public:
  N5() : FormatView(Dialect::kN5) {}

  // The attributes of the root of a container say which version of N5 it has: where the dataset is
  // not at the root, that is one document more.
  [[nodiscard]] Result<Presentation> Present(const StoredDataset& dataset,
                                             const TreeParts& parts) const override {
    if (!dataset.source) return NativeView().Present(dataset, parts);
    UNSHARD_ASSIGN_OR_RETURN(PresentedDataset presented,
                             PresentDataset(*dataset.source, Dialect::kN5, parts.options));
    if (dataset.path == dataset.view_root) {
      for (MetadataDocument& document : presented.documents) {
        if (document.directory.empty()) SetN5Version(document.content);
      }
    }
    UNSHARD_ASSIGN_OR_RETURN(Presentation shown,
                             MakePresentation(dataset, std::move(presented), parts));
    if (dataset.path != dataset.view_root) {
      JsonValue root = JsonValue::Object();
      SetN5Version(root);
      shown.documents.push_back({dataset.view_root, kDocument, WriteJson(root, 0)});
    }
    return shown;
  }
};

}  // namespace

const View& N5View() {
  static const N5 view;
  return view;
}

}  // namespace unshard
