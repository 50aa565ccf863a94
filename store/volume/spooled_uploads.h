// Records of uploads in parts, among the attempts of a spool: the next mount has the store drop
// what is left of them (store/publish/attempt_records.h).
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "store/object/log.h"
#include "store/object/object_replacement.h"
#include "store/spool/spool.h"

namespace unshard {

// Thread-safe.
class SpooledUploads final : public UploadRecords {
 public:
  explicit SpooledUploads(std::shared_ptr<Spool> spool) : spool_(std::move(spool)) {}

  Result<std::uint64_t> Begin(const std::string& key, const std::string& upload) override {
    return spool_->RecordAttempt({key, "", {}, upload});
  }
  void End(std::uint64_t number) override {
    if (const Status done = spool_->ForgetAttempt(number); !done) LogWarning(done.error().message);
  }

 private:
  const std::shared_ptr<Spool> spool_;
};

}  // namespace unshard
