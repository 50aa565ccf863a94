// An open file description, which open(2) made. One class for each kind of file; VolumeFs and the
// adapter to libfuse know none of them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>

#include "codec/core/error.h"
#include "fs/common/node_id.h"
#include "fs/write/staged_inode.h"
#include "store/chunks/chunk_content.h"
#include "store/local/file_system.h"

namespace unshard {

struct OpenRequest {
  bool read = true;
  bool write = false;
  bool truncate = false;
  bool exclusive = false;
  pid_t thread = 0;    // of the caller
  mode_t mode = 0666;  // of a file that is created
};

// Attributes to change; those that are not set stay.
struct AttributeChange {
  std::optional<std::uint64_t> size;
  std::optional<timespec> modified;
  std::optional<mode_t> mode;
};

// The page cache of an open file. kDirect: bypassed (FOPEN_DIRECT_IO). kFresh: the pages from
// before this open are dropped. kKept: they are kept, because the bytes never change
// (FOPEN_KEEP_CACHE).
enum class PageUse { kDirect, kFresh, kKept };

// Thread-safe, except for the destructor, which is RELEASE.
class OpenFile {
 public:
  OpenFile(NodeId node, const OpenRequest& request) : node_(node), writable_(request.write) {}
  virtual ~OpenFile() = default;
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  [[nodiscard]] NodeId node() const { return node_; }
  [[nodiscard]] bool writable() const { return writable_; }
  [[nodiscard]] virtual PageUse page_use() const { return PageUse::kFresh; }

  // Shorter than `size` at the end of the file only.
  virtual Result<FilePiece> Read(std::uint64_t offset, std::uint64_t size) = 0;
  // kAppend: at the end of the file. The kernel's i_size is that of the node, which may differ from
  // the size of a chunk that was truncated and is still empty.
  static constexpr std::uint64_t kAppend = ~std::uint64_t{0};
  virtual Status Write(std::uint64_t offset, ByteSpan bytes);
  // A close(2) by `thread`.
  virtual Status Flush(pid_t thread);
  virtual Status Sync() { return {}; }

  // The staged inode that is written through this file; null where there is none.
  [[nodiscard]] virtual std::shared_ptr<StagedInode> staged() const { return nullptr; }
  // The file of the source that is open; null where there is none.
  [[nodiscard]] virtual std::shared_ptr<File> source_file() const { return nullptr; }

 private:
  const NodeId node_;
  const bool writable_;
};
using OpenFilePtr = std::unique_ptr<OpenFile>;

class OpenVersions;

// One version of a chunk or a document: its bytes never change, whatever is written meanwhile.
class OpenContent final : public OpenFile {
 public:
  // `counted_in`: what counts it as open until it is released; null: nothing does.
  OpenContent(NodeId node, const OpenRequest& request, ContentPtr content, OpenVersions* counted_in,
              PageUse page_use = PageUse::kKept)
      : OpenFile(node, request),
        content_(std::move(content)),
        counted_in_(counted_in),
        page_use_(page_use) {}
  ~OpenContent() override;
  [[nodiscard]] PageUse page_use() const override { return page_use_; }
  Result<FilePiece> Read(std::uint64_t offset, std::uint64_t size) override;

 private:
  const ContentPtr content_;
  OpenVersions* const counted_in_;
  const PageUse page_use_;
};

// A file of the source as it is.
class OpenSourceFile final : public OpenFile {
 public:
  // `complete` is called at each close of a file that is open for writing, once what was written is
  // committed.
  using Complete = std::function<Status()>;
  OpenSourceFile(NodeId node, const OpenRequest& request, std::shared_ptr<File> file,
                 Complete complete)
      : OpenFile(node, request), file_(std::move(file)), complete_(std::move(complete)) {}
  Result<FilePiece> Read(std::uint64_t offset, std::uint64_t size) override;
  Status Write(std::uint64_t offset, ByteSpan bytes) override;
  Status Flush(pid_t thread) override;
  Status Sync() override { return file_->Sync(); }
  [[nodiscard]] std::shared_ptr<File> source_file() const override { return file_; }

 private:
  const std::shared_ptr<File> file_;
  const Complete complete_;
};

}  // namespace unshard
