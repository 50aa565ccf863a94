// The metadata document of a sharded dataset, which is presented rewritten.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "fs/tree/name.h"
#include "fs/tree/node.h"
#include "fs/tree/text_node.h"
#include "store/dataset/dataset_index.h"

namespace unshard {

// One version of the document's text.
class DocumentNode final : public TextNode {
 public:
  DocumentNode(Superblock& superblock, NodeId id, const std::string& path,
               const Document& document);

  // A writer takes the node over, or joins the writer that is there.
  Result<OpenFilePtr> Open(const OpenRequest& request) override;

 protected:
  Result<Entry> Stat() override;
};

class DocumentName final : public Name {
 public:
  DocumentName(Superblock& superblock, std::string directory, std::string_view name,
               Document document)
      : Name(superblock, std::move(directory), name), document_(std::move(document)) {}

  Result<Entry> Lookup(pid_t thread) override;
  Status Remove() override;
  Status TakeScratch(const ScratchName& from, bool replace) override;
  Status TakeSource(const SourceName& from, bool replace) override;

 protected:
  [[nodiscard]] tl::unexpected<Error> Refuse() const override;

 private:
  // `staged` becomes the document.
  Status Commit(const std::shared_ptr<StagedInode>& staged);

  const Document document_;
};

// st_ino of a document: above that of every chunk.
std::uint64_t InodeOfDocument(const std::string& path);

}  // namespace unshard
