// A file without a name, in which a new version of an object is put together: it goes with the
// process.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "codec/core/byte_range.h"
#include "codec/core/bytes.h"
#include "codec/core/error.h"
#include "store/http/transport.h"

namespace unshard {

// Thread-safe, as long as no thread reads what another thread writes. Failures name the directory.
class ScratchFile {
 public:
  // `directory`: "" for $TMPDIR, else /var/tmp, which is on a disk where /tmp may be memory.
  static Result<std::shared_ptr<ScratchFile>> Make(const std::string& directory);
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  Status Write(std::uint64_t at, ByteSpan bytes);
  // Fills `to` from `at`; the count is smaller only where the file ends.
  Result<std::size_t> Read(std::uint64_t at, std::span<std::uint8_t> to) const;
  Status Truncate(std::uint64_t size);

 private:
  ScratchFile(int descriptor, std::string described)
      : descriptor_(descriptor), described_(std::move(described)) {}
  const int descriptor_;
  const std::string described_;  // for messages
};

// A range of the file as the body of a request; zeros where the file ends before. The range must
// not change any more.
std::shared_ptr<const HttpBody> BodyOf(std::shared_ptr<const ScratchFile> file,
                                       const ByteRange& range);

}  // namespace unshard
