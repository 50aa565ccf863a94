// A file whose text is in memory: one version of a rewritten document, or of a control file.
#pragma once

#include <ctime>
#include <memory>
#include <string>
#include <utility>

#include "fs/tree/node.h"
#include "store/chunks/chunk_content.h"

namespace unshard {

// The text is shared, not copied: a document may have 60 MiB.
class TextNode : public Node {
 public:
  TextNode(Superblock& superblock, NodeId id, std::uint64_t inode, std::string path,
           std::shared_ptr<const std::string> text, const timespec& modified)
      : Node(superblock, id, inode),
        path_(std::move(path)),
        text_(MakeTextContent(std::move(text))),
        modified_(modified) {}

  [[nodiscard]] std::string Path() const override { return path_; }
  Result<FilePiece> Read(std::uint64_t offset, std::uint64_t size) override {
    return text_->Read(offset, size);
  }

 protected:
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const ContentPtr& text() const { return text_; }
  [[nodiscard]] const timespec& modified() const { return modified_; }

 private:
  const std::string path_;
  const ContentPtr text_;
  const timespec modified_;
};

}  // namespace unshard
