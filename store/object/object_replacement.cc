#include "store/object/object_replacement.h"

namespace unshard {
namespace {

// Attempts before kConflict: in each another writer replaced the object first.
constexpr int kAttempts = 8;

// False: another writer has replaced the base.
Result<bool> CommitDurably(ObjectReplacement& replacement, const std::string& described) {
  UNSHARD_ASSIGN_OR_RETURN(Committed committed, replacement.Commit([]() -> Status { return {}; }));
  switch (committed.outcome) {
    case Committed::Outcome::kCommitted:
      UNSHARD_RETURN_IF_ERROR(replacement.MakeDurable());
      return true;
    case Committed::Outcome::kUnknown:
      return Forward(std::move(committed.reason),
                     described + ": it is not known whether it was replaced");
    case Committed::Outcome::kConditionFailed:
      break;
  }
  return false;
}

Result<bool> IsStill(const std::shared_ptr<ObjectVersion>& now,
                     const std::optional<WholeObject>& read) {
  if (!now || !read) return !now && !read;
  if (now->info().generation == read->info.generation) return true;
  if (now->info().size != read->text.size()) return false;
  UNSHARD_ASSIGN_OR_RETURN(const ReadResult bytes,
                           now->Read(RangeRequest::At(0, read->text.size()), CallerDeadline()));
  return bytes.state == ReadResult::State::kFound && AsText(bytes.value.span()) == read->text;
}

}  // namespace

Status ReplaceObject(ObjectReplacer& store, const std::string& key, const FillVersion& fill) {
  for (int i = 0; i < kAttempts; ++i) {
    UNSHARD_ASSIGN_OR_RETURN(const auto replacement, store.Begin({key, std::nullopt}, {}));
    UNSHARD_RETURN_IF_ERROR(fill(*replacement));
    UNSHARD_ASSIGN_OR_RETURN(const bool committed,
                             CommitDurably(*replacement, store.Describe(key)));
    if (committed) return {};
  }
  return Fail(ErrorCode::kConflict, store.Describe(key), ": other writers keep replacing it");
}

Status ReplaceObject(ObjectReplacer& store, const std::string& key, ByteSpan bytes) {
  return ReplaceObject(store, key, [&](NewVersion& version) { return version.Write(0, bytes); });
}

Result<bool> ReplaceVersion(ObjectReplacer& store, const std::string& key,
                            const std::optional<WholeObject>& read, ByteSpan bytes) {
  UNSHARD_ASSIGN_OR_RETURN(const auto replacement, store.Begin({key, std::nullopt}, {}));
  UNSHARD_ASSIGN_OR_RETURN(const bool still, IsStill(replacement->base(), read));
  if (!still) return false;
  UNSHARD_RETURN_IF_ERROR(replacement->Write(0, bytes));
  return CommitDurably(*replacement, store.Describe(key));
}

}  // namespace unshard
