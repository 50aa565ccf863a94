#include "store/object/object_replacement.h"

namespace unshard {
namespace {

// Attempts before kConflict: in each another writer replaced the object first.
constexpr int kAttempts = 8;

}  // namespace

Status ReplaceObject(ObjectReplacer& store, const std::string& key, const FillVersion& fill) {
  for (int i = 0; i < kAttempts; ++i) {
    UNSHARD_ASSIGN_OR_RETURN(const auto replacement, store.Begin({key, std::nullopt}, {}));
    UNSHARD_RETURN_IF_ERROR(fill(*replacement));
    UNSHARD_ASSIGN_OR_RETURN(Committed committed,
                             replacement->Commit([]() -> Status { return {}; }));
    switch (committed.outcome) {
      case Committed::Outcome::kCommitted:
        return replacement->MakeDurable();
      case Committed::Outcome::kUnknown:
        return Forward(std::move(committed.reason),
                       store.Describe(key) + ": it is not known whether it was replaced");
      case Committed::Outcome::kConditionFailed:
        break;
    }
  }
  return Fail(ErrorCode::kConflict, store.Describe(key) + ": other writers keep replacing it");
}

Status ReplaceObject(ObjectReplacer& store, const std::string& key, ByteSpan bytes) {
  return ReplaceObject(store, key, [&](NewVersion& version) { return version.Write(0, bytes); });
}

}  // namespace unshard
