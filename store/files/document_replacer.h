// Replacing metadata documents of an object store: as its other files, they are committed to the
// spool and put from there, so that an edit survives a store that is away.
#pragma once

#include <memory>
#include <string>

#include "store/files/object_files.h"
#include "store/object/object_replacement.h"

namespace unshard {

// Thread-safe. Its replacements hold documents in memory, replace what the programs of the mount
// see, and are committed once the bytes survive a power loss in the spool. Nothing is removed
// through it (kNotSupported).
class DocumentReplacer final : public ObjectReplacer {
 public:
  explicit DocumentReplacer(std::shared_ptr<ObjectFiles> files) : files_(std::move(files)) {}

  Status CanReplace(const std::string& key) override;
  Result<std::unique_ptr<ObjectReplacement>> Begin(const ReplacedObject& object,
                                                   const Deadline& deadline) override;
  Status MakeDurable(const std::string& directory) override;
  [[nodiscard]] std::string Describe(const std::string& key) const override;

 private:
  const std::shared_ptr<ObjectFiles> files_;
};

}  // namespace unshard
