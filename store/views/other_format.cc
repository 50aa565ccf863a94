#include "store/views/other_format.h"

#include <utility>

#include "codec/json/writer.h"
#include "store/chunks/presented_tree.h"
#include "store/object/key.h"
#include "store/views/views.h"

namespace unshard {

Result<Presentation> MakePresentation(const StoredDataset& dataset, PresentedDataset presented,
                                      const TreeParts& parts) {
  Presentation presentation;
  presentation.warnings = std::move(presented.warnings);
  for (const MetadataDocument& document : presented.documents) {
    presentation.documents.push_back({JoinPath(dataset.path, document.directory), document.name,
                                      WriteDocument(document.content)});
  }
  for (std::size_t i = 0; i < presented.levels.size(); ++i) {
    PresentedDataset::Level& level = presented.levels[i];
    const auto inside = ResolvePath(dataset.path, level.path);
    if (!inside) {
      return Fail(ErrorCode::kPermissionDenied, level.path, ": is outside the mounted source");
    }
    const std::string& directory = *inside;
    auto mapping = ChunkMapping::ForView(std::move(level.array));
    if (!mapping) return Forward(std::move(mapping).error(), directory);
    PresentedTree::Parts tree;
    tree.ordinal = parts.ordinal();
    tree.directory = directory;
    tree.stored = dataset.arrays[i];
    tree.mapping = std::make_shared<const ChunkMapping>(*std::move(mapping));
    tree.cache = parts.encoded;
    tree.max_chunk_bytes = parts.max_chunk_bytes;
    tree.store = parts.store;
    tree.written = parts.written;
    tree.lossy = parts.lossy;
    UNSHARD_ASSIGN_OR_RETURN(const auto made, PresentedTree::Make(std::move(tree)));
    presentation.chunks.push_back({made, dataset.arrays[i]});
  }
  return presentation;
}

Result<Presentation> FormatView::Present(const StoredDataset& dataset,
                                         const TreeParts& parts) const {
  if (!dataset.source) return NativeView().Present(dataset, parts);
  ViewOptions options = parts.options;
  // Of its own format only the version of OME-Zarr is another one.
  options.keeps_chunks = dataset.source->dialect == format_;
  UNSHARD_ASSIGN_OR_RETURN(PresentedDataset presented,
                           PresentDataset(*dataset.source, format_, options));
  for (std::string& warning : presented.warnings) {
    if (dataset.path != dataset.view_root) break;  // one of several
    warning = WithWayOut(std::move(warning), *dataset.source, parts.source, "mount",
                         "MNT -o view=" + std::string(name()));
  }
  return MakePresentation(dataset, std::move(presented), parts);
}

}  // namespace unshard
