// A store whose n-th call fails or gives wrong bytes.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "store/object/object_store.h"

namespace unshard {

enum class Fault {
  kError,    // the call fails with kUnavailable
  kShort,    // a read gives half of its bytes, an open half of its first range
  kChanged,  // a read finds another generation (kConditionFailed); an open gives a new one;
             // other calls go well
};

// Thread-safe. Counts calls of every method, those of handles included; forwards the others.
class FaultyStore final : public ObjectStore {
 public:
  explicit FaultyStore(std::shared_ptr<ObjectStore> below);

  // After `calls` further calls, one call goes wrong.
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
    // Counts a call. Returns the fault, if this is the call that goes wrong.
    std::optional<Fault> Next();
  };
  class Handle;

  const std::shared_ptr<ObjectStore> below_;
  const std::shared_ptr<Plan> plan_ = std::make_shared<Plan>();
};

}  // namespace unshard
