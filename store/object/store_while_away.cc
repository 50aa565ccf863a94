#include "store/object/store_while_away.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace unshard {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPatienceWhileAway{250};
constexpr std::size_t kMostRecent = std::size_t{1} << 15;

Deadline WhileAway(const StoreContact& contact, Deadline deadline) {
  if (contact.IsAway()) deadline.at = std::min(deadline.at, Clock::now() + kPatienceWhileAway);
  return deadline;
}

// Whether a request has failed since the store is away; announces that, and says it in the message.
bool NoteAway(const StoreContact& contact, Error& error) {
  if (!MeansAway(error)) return false;
  contact.FoundAway(error);
  if (!contact.IsAway()) return false;
  error.message += "; the store is unreachable";
  return true;
}

class VersionWhileAway final : public ObjectVersion {
 public:
  VersionWhileAway(std::shared_ptr<ObjectVersion> below,
                   std::shared_ptr<const StoreContact> contact)
      : below_(std::move(below)), contact_(std::move(contact)) {}

  const ObjectInfo& info() const override { return below_->info(); }
  void StartRead(const RangeRequest& range, const Deadline& deadline, ReadDone done) override {
    below_->StartRead(range, WhileAway(*contact_, deadline),
                      [contact = contact_, done = std::move(done)](Result<ReadResult> read) {
                        if (!read) (void)NoteAway(*contact, read.error());
                        done(std::move(read));
                      });
  }
  std::optional<FileSlice> Slice(const ByteRange& range) override { return below_->Slice(range); }
  void Prefetch(const ByteRange& range) override { below_->Prefetch(range); }
  bool IsCached(const ByteRange& range) const override { return below_->IsCached(range); }

 private:
  const std::shared_ptr<ObjectVersion> below_;
  const std::shared_ptr<const StoreContact> contact_;
};

}  // namespace

StoreWhileAway::StoreWhileAway(std::shared_ptr<ObjectStore> below,
                               std::shared_ptr<const StoreContact> contact)
    : below_(std::move(below)), contact_(std::move(contact)) {}

ObjectStore::Opened StoreWhileAway::Watched(Opened opened) const {
  if (opened.version) {
    opened.version = std::make_shared<VersionWhileAway>(std::move(opened.version), contact_);
  }
  return opened;
}

StoreWhileAway::Known* StoreWhileAway::FindLocked(const std::string& key) {
  for (AllKnown* known : {&recent_, &older_}) {
    if (const auto found = known->find(key); found != known->end()) return &found->second;
  }
  return nullptr;
}

std::uint64_t StoreWhileAway::replacements() {
  const std::lock_guard lock(mutex_);
  return replacements_;
}

void StoreWhileAway::RememberLocked(const std::string& key, Known known) {
  older_.erase(key);
  if (recent_.size() >= kMostRecent) {
    for (const auto& [forgotten, what] : older_) {
      if (what.replaced > 0) forgotten_replaced_.Add(forgotten);
    }
    older_ = std::exchange(recent_, {});
  }
  recent_.insert_or_assign(key, std::move(known));
}

void StoreWhileAway::RememberSeen(std::string_view key, const ObjectInfo& info,
                                  std::uint64_t asked) {
  const std::string name(key);
  const std::lock_guard lock(mutex_);
  const Known* const before = FindLocked(name);
  const std::uint64_t replaced = before != nullptr ? before->replaced : 0;
  if (replaced <= asked) RememberLocked(name, {info, replaced});
}

void StoreWhileAway::RememberMissing(std::string_view key, std::uint64_t asked) {
  const std::lock_guard lock(mutex_);
  // The number of names that do not exist is unlimited.
  Known* const known = FindLocked(std::string(key));
  if (known != nullptr && known->replaced <= asked) known->info.reset();
}

std::optional<StoreWhileAway::Known> StoreWhileAway::Find(std::string_view key) {
  const std::lock_guard lock(mutex_);
  if (const Known* known = FindLocked(std::string(key))) return *known;
  if (forgotten_replaced_.MayHold(key)) return Known{};
  return std::nullopt;
}

void StoreWhileAway::Replaced(std::string_view key, const std::optional<ObjectInfo>& now) {
  {
    const std::lock_guard lock(mutex_);
    RememberLocked(std::string(key), {now, ++replacements_});
  }
  below_->Replaced(key, now);
}

Result<std::optional<ObjectInfo>> StoreWhileAway::Stat(std::string_view key,
                                                       const Deadline& deadline) {
  const std::uint64_t asked = replacements();
  auto found = below_->Stat(key, WhileAway(*contact_, deadline));
  if (found) {
    *found ? RememberSeen(key, **found, asked) : RememberMissing(key, asked);
    return found;
  }
  if (!NoteAway(*contact_, found.error())) return found;
  if (const auto known = Find(key); known && known->info) return known->info;
  return found;
}

Result<ObjectStore::Opened> StoreWhileAway::Open(std::string_view key, const RangeRequest& first,
                                                 const Deadline& deadline) {
  const std::uint64_t asked = replacements();
  auto opened = below_->Open(key, first, WhileAway(*contact_, deadline));
  if (opened) {
    opened->version ? RememberSeen(key, opened->version->info(), asked)
                    : RememberMissing(key, asked);
    return Watched(*std::move(opened));
  }
  if (!NoteAway(*contact_, opened.error())) return opened;
  Opened known = OpenKnown(key, first, deadline);
  if (known.version) return known;
  return opened;
}

// Null where the bytes that are asked for are not to be had.
ObjectStore::Opened StoreWhileAway::OpenKnown(std::string_view key, const RangeRequest& first,
                                              const Deadline& deadline) {
  if (Opened cached = OpenCached(key, first); cached.version) return cached;
  const std::optional<ObjectInfo> info = Find(key).value_or(Known()).info;
  if (!info || info->kind != ObjectInfo::Kind::kFile) return {};
  Opened known = Watched({below_->Recall(key, *info), {}});
  const ByteRange range = ClipRange(first, info->size);
  if (!known.version || range.size == 0) return known;
  auto read = known.version->Read(RangeRequest::At(range.begin, range.size), deadline);
  if (!read || read->state != ReadResult::State::kFound) return {};
  known.first = std::move(read->value);
  return known;
}

// A cache may still have an earlier version than the known one.
ObjectStore::Opened StoreWhileAway::OpenCached(std::string_view key, const RangeRequest& first) {
  const std::uint64_t asked = replacements();
  Opened cached = Watched(below_->OpenCached(key, first));
  if (!cached.version) return {};
  const ObjectInfo& info = cached.version->info();
  const auto known = Find(key);
  if (known && (!known->info || known->info->generation != info.generation)) return {};
  if (!known) RememberSeen(key, info, asked);
  return cached;
}

Status StoreWhileAway::List(std::string_view key, const Deadline& deadline,
                            const ListVisitor& visitor) {
  return ListFrom(key, 0, deadline, visitor);
}

Status StoreWhileAway::ListFrom(std::string_view key, std::uint64_t resume,
                                const Deadline& deadline, const ListVisitor& visitor) {
  Status listed = below_->ListFrom(key, resume, WhileAway(*contact_, deadline), visitor);
  if (!listed) (void)NoteAway(*contact_, listed.error());
  return listed;
}

}  // namespace unshard
