#include "store/publish/attempt_records.h"

#include <algorithm>

#include "store/object/log.h"

namespace unshard {

void AttemptRecords::Adopt(const std::shared_ptr<Spool>& spool) {
  for (auto& [number, attempt] : spool->TakeAttempts()) {
    const bool is_upload = !attempt.upload.empty();
    if (is_upload) (void)DropUpload(attempt);
    const std::lock_guard lock(mutex_);
    Records& known = is_upload ? uploads_ : records_;
    known[attempt.key].push_back({spool, number, attempt});
  }
}

// Whether the store has dropped it.
bool AttemptRecords::DropUpload(const SpoolAttempt& attempt) {
  const Status done = store_->DropUpload(attempt.key, attempt.upload);
  if (!done) LogWarning(done.error().message);
  return done.has_value();
}

Status AttemptRecords::Record(const std::string& key, const std::string& id,
                              const std::vector<Sealed>& files) {
  if (id.empty()) return {};
  std::map<std::shared_ptr<Spool>, std::vector<std::uint64_t>> by_spool;
  for (const auto& [spool, sequence] : files) by_spool[spool].push_back(sequence);
  for (auto& [spool, sequences] : by_spool) {
    SpoolAttempt attempt{key, id, std::move(sequences)};
    UNSHARD_ASSIGN_OR_RETURN(const std::uint64_t number, spool->RecordAttempt(attempt));
    const std::lock_guard lock(mutex_);
    records_[key].push_back({spool, number, std::move(attempt)});
  }
  return {};
}

std::vector<AttemptRecords::Recorded> AttemptRecords::Take(Records& from, const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = from.find(key);
  if (found == from.end()) return {};
  std::vector<Recorded> taken = std::move(found->second);
  from.erase(found);
  return taken;
}

void AttemptRecords::Forget(const std::string& key) {
  std::vector<Recorded> gone = Take(records_, key);
  for (Recorded& left : Take(uploads_, key)) {
    if (DropUpload(left.attempt)) gone.push_back(std::move(left));
  }
  for (const Recorded& record : gone) {
    if (const Status done = record.spool->ForgetAttempt(record.number); !done) {
      LogWarning(done.error().message);
    }
  }
}

void AttemptRecords::ForgetAllBut(const std::set<std::string>& keys) {
  std::set<std::string> others;
  {
    const std::lock_guard lock(mutex_);
    for (const Records* known : {&records_, &uploads_}) {
      for (const auto& [key, records] : *known) {
        if (!keys.contains(key)) others.insert(key);
      }
    }
  }
  for (const std::string& key : others) Forget(key);
}

Result<std::set<AttemptRecords::Sealed>> AttemptRecords::Published(const std::string& key) {
  std::vector<Recorded> known;
  {
    const std::lock_guard lock(mutex_);
    const auto found = records_.find(key);
    if (found != records_.end()) known = found->second;
  }
  std::set<Sealed> published;
  if (known.empty()) return published;
  UNSHARD_ASSIGN_OR_RETURN(const auto made, store_->Attempts(key));
  for (const Recorded& record : known) {
    if (std::find(made.begin(), made.end(), record.attempt.id) == made.end()) continue;
    for (const std::uint64_t sequence : record.attempt.sequences) {
      published.emplace(record.spool, sequence);
    }
  }
  return published;
}

bool AttemptRecords::Names(const std::string& key, const Sealed& file) const {
  const std::lock_guard lock(mutex_);
  const auto found = records_.find(key);
  if (found == records_.end()) return false;
  return std::any_of(found->second.begin(), found->second.end(), [&](const Recorded& record) {
    const auto& sequences = record.attempt.sequences;
    return record.spool == file.first &&
           std::find(sequences.begin(), sequences.end(), file.second) != sequences.end();
  });
}

bool AttemptRecords::Knows(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  return records_.contains(key);
}

}  // namespace unshard
