// A new version of a remote object, as it is put together: written bytes lie in a file without a
// name, unchanged ranges of the base stay references until they are needed here.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "store/http/transport.h"
#include "store/object/object_replacement.h"
#include "store/remote/scratch_file.h"

namespace unshard {

// Used by one thread. Holds no bytes of the version in memory.
class AssembledVersion final : public NewVersion {
 public:
  // `base` null: there is none. `remembered`: the same version, for small reads. Messages name
  // `described`.
  AssembledVersion(std::shared_ptr<ScratchFile> file, std::shared_ptr<ObjectVersion> base,
                   std::shared_ptr<ObjectVersion> remembered, std::string described)
      : file_(std::move(file)),
        base_(std::move(base)),
        remembered_(std::move(remembered)),
        described_(std::move(described)) {}

  Status Write(std::uint64_t at, ByteSpan bytes) override;
  Status CopyBase(const ByteRange& range, std::uint64_t at) override;
  Result<std::size_t> ReadBack(std::uint64_t at, std::span<std::uint8_t> to) override;
  Status SetSize(std::uint64_t size) override;
  Result<std::uint64_t> Size() override { return size_; }

  [[nodiscard]] std::uint64_t size() const { return size_; }
  // The range of the base that `range` consists of; nothing where it has other bytes as well.
  [[nodiscard]] std::optional<ByteRange> InBase(const ByteRange& range) const;
  // Reads what `range` has of the base into the file: in few, long and parallel requests.
  // kConflict where the base is no longer to be had.
  Status Fetch(const ByteRange& range);
  // Requires: the range was fetched, and changes no more.
  [[nodiscard]] std::shared_ptr<const HttpBody> Body(const ByteRange& range) const {
    return BodyOf(file_, range);
  }

 private:
  // A part of the version that is a part of the base.
  struct Reference {
    std::uint64_t at = 0;
    ByteRange base;
  };
  // Takes what lies in `range` out of references_, which are cut in two where they have to be.
  std::vector<Reference> TakeReferences(const ByteRange& range);
  [[nodiscard]] Result<Bytes> ReadFrom(ObjectVersion& base, const ByteRange& range) const;
  Status FetchTogether(const std::vector<Reference>& references);

  const std::shared_ptr<ScratchFile> file_;  // as large as it has to be; zeros behind its end
  const std::shared_ptr<ObjectVersion> base_;
  const std::shared_ptr<ObjectVersion> remembered_;
  const std::string described_;
  std::uint64_t size_ = 0;
  std::map<std::uint64_t, ByteRange> references_;  // by where they are; they do not overlap
};

}  // namespace unshard
