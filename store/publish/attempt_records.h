// What is known of attempts to replace objects that may or may not have succeeded: this mount's own
// whose answers were lost, and those of earlier mounts that were killed meanwhile.
//
//   1. Record an attempt in the spools whose files it publishes, durably, before the store is
//      asked.
//   2. Where its outcome is known, and the files that it published are discarded, forget it.
//   3. Where it is not known, keep it. Before any of its files is published again, ask the store
//      whether the object has, or had, the version that it made.
// Without step 3 what was published, and has been replaced by another host since, would be
// published once more over that.
//
// What an earlier mount has left of an upload in parts is dropped twice: soon, when its spool is
// taken over, and again where its object is forgotten (2). A part that was on its way when the
// mount was killed may have arrived in between, and be stored again.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "store/object/object_replacement.h"
#include "store/spool/spool.h"

namespace unshard {

// Thread-safe. Records of one object are changed by one thread at a time, since an object is
// published by one thread at a time.
class AttemptRecords {
 public:
  explicit AttemptRecords(std::shared_ptr<ObjectReplacer> store) : store_(std::move(store)) {}

  // A sealed file: its spool, and its number there.
  using Sealed = std::pair<std::shared_ptr<Spool>, std::uint64_t>;

  // What an earlier mount has left in a spool. Has the store drop what is left of its uploads, for
  // the first time.
  void Adopt(const std::shared_ptr<Spool>& spool);
  // Step 1. Does nothing for an `id` of "": the store marks no versions.
  Status Record(const std::string& key, const std::string& id, const std::vector<Sealed>& files);
  // Step 2, for all attempts of an object. Has the store drop what is left of its uploads. Where it
  // cannot be reached their records stay, for the next mount.
  void Forget(const std::string& key);
  // The same, for all objects but these: of the others no file waits.
  void ForgetAllBut(const std::set<std::string>& keys);
  // Step 3: those of the files of all attempts on this object that the store has, or had. Attempts
  // that did not succeed stay recorded, since a request may still be on its way. One request,
  // however many there are. Fails where the store cannot be asked.
  Result<std::set<Sealed>> Published(const std::string& key);
  // Whether attempts on this object are recorded.
  [[nodiscard]] bool Knows(const std::string& key) const;
  // Whether one of them names this file: its request may still arrive.
  [[nodiscard]] bool Names(const std::string& key, const Sealed& file) const;

 private:
  struct Recorded {
    std::shared_ptr<Spool> spool;
    std::uint64_t number = 0;
    SpoolAttempt attempt;
  };
  using Records = std::map<std::string, std::vector<Recorded>>;  // by key

  bool DropUpload(const SpoolAttempt& attempt);
  std::vector<Recorded> Take(Records& from, const std::string& key);

  const std::shared_ptr<ObjectReplacer> store_;
  mutable std::mutex mutex_;
  Records records_;  // guarded by mutex_
  Records uploads_;  // of earlier mounts; guarded by mutex_
};

}  // namespace unshard
