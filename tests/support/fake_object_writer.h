// An ObjectWriter in memory, as of a storage service. Tests choose which conditions of requests it
// honours, and how its next writes fail.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "store/remote/object_writer.h"

namespace unshard {

// How the service differs from a service that honours every condition of a request.
struct FakeManners {
  bool keeps_missing = true;     // Put honours the condition that the object is missing
  bool keeps_version = true;     // Put honours the condition that the object has a version
  bool keeps_removal = true;     // Delete honours its condition
  bool keeps_parts = true;       // completing an upload in parts honours its condition
  bool keeps_copies = true;      // copying a range honours the condition of its upload
  bool unquoted_only = false;    // a version in quotes matches no object
  bool keeps_metadata = true;    // stores the names of attempts with the object
  bool knows_conditions = true;  // unset: refuses every request that has a condition
};

// How one write goes wrong.
struct FakeFault {
  bool applied = false;  // the service does what the request asks
  WriteAnswer::Kind answer = WriteAnswer::Kind::kFailed;
  std::function<void()> meanwhile{};  // called between that and the answer
};

// Thread-safe.
class FakeObjectWriter final : public ObjectWriter {
 public:
  explicit FakeObjectWriter(const FakeManners& manners = {}, const WriterTraits& traits = Traits());
  static WriterTraits Traits();

  // Adds a fault. Each fault is taken by one Put, Delete or Complete, in order.
  void Next(FakeFault fault) { faults_.push_back(std::move(fault)); }
  // The next `count` calls of Look fail.
  void FailLooks(int count) { failing_looks_ = count; }
  // When the last call of Look had to end.
  [[nodiscard]] std::chrono::steady_clock::time_point last_look_until() const {
    return last_look_until_;
  }
  // Putting the `number`-th part from now on, counted over all uploads, fails.
  void FailPut(int number) { fails_put_in_ = number; }
  // Stores the object as another client does, without a condition. Returns the new object.
  RemoteObject Place(const std::string& key, std::string bytes,
                     std::vector<std::string> attempts = {});
  void Erase(const std::string& key);
  [[nodiscard]] std::optional<RemoteObject> Now(const std::string& key) const;
  [[nodiscard]] std::string Bytes(const std::string& key) const;
  // "PUT key", "LOOK key", "DELETE key", "BEGIN key", "PART n", "COPY n", "COMPLETE key", "ABORT",
  // "DROP key id", in the order in which they came.
  [[nodiscard]] std::vector<std::string> TakeRequests();
  // The number of requests of one kind since the last TakeRequests().
  [[nodiscard]] int Count(const std::string& kind) const;

  WriterTraits traits() const override { return traits_; }
  std::string Bucket() const override;
  std::string Describe(const std::string& key) const override { return "fake://" + key; }
  Result<std::optional<RemoteObject>> Look(const std::string& key,
                                           const Deadline& deadline) override;
  std::shared_ptr<ObjectVersion> Open(const std::string& key, const RemoteObject& object) override;
  WriteAnswer Put(const NewObject& object, std::shared_ptr<const HttpBody> bytes) override;
  WriteAnswer Delete(const std::string& key, const WriteCondition& condition) override;
  Result<std::unique_ptr<PartedUpload>> BeginParts(const NewObject& object, std::uint64_t size,
                                                   std::uint64_t part_bytes) override;
  Status DropParts(const std::string& key, const std::string& upload) override;

 private:
  friend class FakeParts;
  struct Stored {
    RemoteObject object;
    std::string bytes;
  };
  void Note(const std::string& request);
  [[nodiscard]] bool Holds(const std::string& key, const WriteCondition& condition) const;
  [[nodiscard]] std::optional<WriteAnswer> Judge(const std::string& key,
                                                 const WriteCondition& condition, bool keeps) const;
  WriteAnswer Write(const std::string& key, const WriteCondition& condition, bool keeps,
                    const std::function<std::optional<RemoteObject>()>& apply);
  RemoteObject Store(const std::string& key, std::string bytes, std::vector<std::string> attempts);

  const FakeManners manners_;
  const WriterTraits traits_;
  const int number_;  // of the bucket
  mutable std::recursive_mutex mutex_;
  // All guarded by mutex_.
  std::map<std::string, Stored> objects_;
  std::deque<FakeFault> faults_;
  std::vector<std::string> requests_;
  int failing_looks_ = 0;
  std::chrono::steady_clock::time_point last_look_until_;
  int fails_put_in_ = 0;  // 0: none
  int versions_ = 0;
};

}  // namespace unshard
