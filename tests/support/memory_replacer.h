// Replacing objects of a store in memory as S3 does: without a lock, on the condition that the base
// is still the current version, and without keeping versions that were replaced.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "store/object/object_replacement.h"
#include "tests/support/memory_store.h"

namespace unshard {

// Thread-safe.
class MemoryReplacer final : public ObjectReplacer {
 public:
  // `starts_from_base`: whether StartFromBase() works.
  explicit MemoryReplacer(std::shared_ptr<MemoryStore> store, bool starts_from_base = false)
      : store_(std::move(store)), starts_from_base_(starts_from_base) {}

  // How the next commit or removal goes wrong: its request is lost, its answer is lost, or it
  // succeeds and cannot be made durable.
  enum class Lost { kNothing, kRequest, kAnswer, kDurability };
  void LoseNext(Lost lost) { lost_ = lost; }
  // While set, Begin, Attempts and DropUpload fail as with a server that does not answer.
  void SetAway(bool away) { away_ = away; }
  // New versions that were stored, and removals that were done.
  [[nodiscard]] std::uint64_t puts() const { return *puts_; }
  // How often Attempts() was called.
  [[nodiscard]] std::uint64_t looks() const { return looks_; }
  // Bytes of bases that were read or copied.
  [[nodiscard]] std::uint64_t base_bytes() const { return *base_bytes_; }
  // "key upload" of each call of DropUpload.
  [[nodiscard]] std::vector<std::string> dropped() const;
  // Of the last call of RecordUploads, which no other thread may make meanwhile.
  [[nodiscard]] const std::shared_ptr<UploadRecords>& records() const { return records_; }

  Status CanReplace(const std::string& key) override { return CheckKey(key); }
  Result<std::unique_ptr<ObjectReplacement>> Begin(const ReplacedObject& object,
                                                   const Deadline& deadline) override;
  Status MakeDurable(const std::string& directory) override { return CheckKey(directory); }
  Result<std::vector<std::string>> Attempts(const std::string& key) override;
  void RecordUploads(std::shared_ptr<UploadRecords> records) override {
    records_ = std::move(records);
  }
  Status DropUpload(const std::string& key, const std::string& upload) override;
  std::string Describe(const std::string& key) const override { return store_->Describe(key); }

 private:
  Status CheckAnswers() const;

  const std::shared_ptr<MemoryStore> store_;
  const bool starts_from_base_;
  std::atomic<Lost> lost_{Lost::kNothing};
  std::atomic<bool> away_{false};
  std::atomic<std::uint64_t> last_attempt_{0};
  std::atomic<std::uint64_t> looks_{0};
  const std::shared_ptr<std::atomic<std::uint64_t>> puts_ =
      std::make_shared<std::atomic<std::uint64_t>>(0);
  const std::shared_ptr<std::atomic<std::uint64_t>> base_bytes_ =
      std::make_shared<std::atomic<std::uint64_t>>(0);
  std::shared_ptr<UploadRecords> records_;
  mutable std::mutex mutex_;
  std::vector<std::string> dropped_;  // guarded by mutex_
};

}  // namespace unshard
