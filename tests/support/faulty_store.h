// A store whose n-th call goes wrong.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "store/object/object_store.h"

namespace unshard {

enum class Fault {
  kError,    // the call fails with kUnavailable
  kShort,    // a read gives half of its bytes, an open half of its first ones
  kChanged,  // a read finds another generation (kConditionFailed); an open gives a new one
};

// Thread-safe. Counts calls of every method, those of handles included; forwards the others.
class FaultyStore final : public ObjectStore {
 public:
  explicit FaultyStore(std::shared_ptr<ObjectStore> below);

  // The call after the next `calls` ones goes wrong, once.
  void FailAfter(std::uint64_t calls, Fault fault);
  void Heal();
  [[nodiscard]] std::uint64_t calls() const;

  Capabilities capabilities() const override { return below_->capabilities(); }
  Result<std::optional<ObjectInfo>> Stat(std::string_view key, const Deadline& deadline) override;
  Result<Opened> Open(std::string_view key, const RangeRequest& first,
                      const Deadline& deadline) override;
  Status List(std::string_view key, const Deadline& deadline, const ListVisitor& visitor) override;
  std::string Describe(std::string_view key) const override { return below_->Describe(key); }

 private:
  // Shared with the handles, which may outlive the store.
  struct Plan {
    std::mutex mutex;
    std::uint64_t calls = 0;
    std::uint64_t fail_at = 0;  // 0: never
    Fault fault = Fault::kError;
    // The fault of this call, if it is the one.
    std::optional<Fault> Next();
  };
  class Handle;

  const std::shared_ptr<ObjectStore> below_;
  const std::shared_ptr<Plan> plan_ = std::make_shared<Plan>();
};

}  // namespace unshard
