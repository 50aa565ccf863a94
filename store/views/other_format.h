// What the views in one format have in common, and `raw` in part: the documents and chunks of a
// PresentedDataset.
#pragma once

#include "codec/pyramid/dataset_view.h"
#include "store/views/view.h"

namespace unshard {

// Requires: `dataset.source`, of which `presented` was made. Fails with kPermissionDenied where a
// level would lie outside of the mounted source, and as ChunkMapping::Make does.
Result<Presentation> MakePresentation(const StoredDataset& dataset, PresentedDataset presented,
                                      const TreeParts& parts);

// Presents everything in `format`, under its name; datasets of that format as they are stored, but
// OME-Zarr in the version that is asked for.
class FormatView : public View {
 public:
  explicit FormatView(Dialect format) : format_(format) {}

  [[nodiscard]] std::string_view name() const override { return DialectName(format_); }
  [[nodiscard]] bool PresentsAsStored(Dialect dialect) const override { return dialect == format_; }
  [[nodiscard]] Result<Presentation> Present(const StoredDataset& dataset,
                                             const TreeParts& parts) const override;

 private:
  const Dialect format_;
};

}  // namespace unshard
