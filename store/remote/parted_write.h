// Uploading a new version in parts: unchanged parts are copied inside the service.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "store/remote/assembled_version.h"
#include "store/remote/object_writer.h"

namespace unshard {

// How a version is cut: into parts of `part_bytes`, the last one excepted.
struct PartPlan {
  std::uint64_t part_bytes = 0;
  bool copies = false;  // parts that are ranges of the base are copied

  // Parts of at least `part_bytes`, and of no more than the service takes. Requires: size > 0.
  static PartPlan Of(std::uint64_t size, std::uint64_t part_bytes, const WriterTraits& traits,
                     bool copies);
};

// The bytes of `version` that would be copied.
std::uint64_t BytesToCopy(const AssembledVersion& version, const PartPlan& plan);

// One upload, or several of the same version one after the other. Used by one thread, as the
// version is, which must not change. Its destructor drops what was not completed.
class PartedWrite {
 public:
  // `records` null: its uploads are not recorded.
  PartedWrite(ObjectWriter& writer, const NewObject& object, AssembledVersion& version,
              const PartPlan& plan, std::shared_ptr<UploadRecords> records)
      : writer_(writer),
        object_(object),
        version_(version),
        plan_(plan),
        records_(std::move(records)) {}
  ~PartedWrite();
  PartedWrite(const PartedWrite&) = delete;
  PartedWrite& operator=(const PartedWrite&) = delete;

  // Puts all parts; several at a time where the service takes them so. kConflict where the base is
  // no longer the current version.
  Status Upload();
  // Makes the version. Again after an answer that is not clear: an upload that the service has
  // dropped meanwhile is done once more.
  WriteAnswer Complete();

 private:
  [[nodiscard]] ByteRange RangeOf(std::size_t part) const;
  [[nodiscard]] std::size_t count() const;
  Status PutPart(std::size_t part);
  Status Begin();
  void EndRecord();
  void Abort();

  ObjectWriter& writer_;
  const NewObject object_;
  AssembledVersion& version_;
  const PartPlan plan_;
  const std::shared_ptr<UploadRecords> records_;
  std::unique_ptr<PartedUpload> upload_;  // null: none, or completed
  std::optional<std::uint64_t> record_;   // of upload_
};

}  // namespace unshard
