#include "tests/support/memory_store.h"

#include <vector>

namespace unshard {
namespace {

ReadResult Cut(const Bytes& bytes, const ObjectInfo& info, const RangeRequest& range) {
  const ByteRange part = ClipRange(range, bytes.size());
  return {ReadResult::State::kFound,
          bytes.Slice(static_cast<std::size_t>(part.begin), static_cast<std::size_t>(part.size)),
          info.size, info.generation};
}

class MemoryObject final : public ObjectVersion {
 public:
  MemoryObject(Bytes bytes, ObjectInfo info) : bytes_(std::move(bytes)), info_(std::move(info)) {}
  const ObjectInfo& info() const override { return info_; }
  Result<ReadResult> Read(const RangeRequest& range) override { return Cut(bytes_, info_, range); }
  std::optional<FileSlice> Slice(const ByteRange&) override { return std::nullopt; }

 private:
  const Bytes bytes_;
  const ObjectInfo info_;
};

}  // namespace

void MemoryStore::Put(const std::string& key, std::string_view text) {
  const std::lock_guard lock(mutex_);
  const ByteSpan span = AsBytes(text);
  Object object{Bytes(ByteVector(span.begin(), span.end())), {}};
  object.info.size = text.size();
  object.info.generation.tag = std::to_string(++last_generation_);
  objects_[key] = std::move(object);
}

void MemoryStore::Remove(const std::string& key) {
  const std::lock_guard lock(mutex_);
  objects_.erase(key);
}

bool MemoryStore::IsDirectory(const std::string& key) const {
  if (key.empty()) return true;
  const auto below = objects_.lower_bound(key + '/');
  return below != objects_.end() && below->first.starts_with(key + '/');
}

Result<std::optional<ObjectInfo>> MemoryStore::Stat(std::string_view key) {
  UNSHARD_RETURN_IF_ERROR(CheckKey(key));
  const std::lock_guard lock(mutex_);
  const auto found = objects_.find(std::string(key));
  if (found != objects_.end()) return found->second.info;
  if (!IsDirectory(std::string(key))) return std::nullopt;
  ObjectInfo info;
  info.kind = ObjectInfo::Kind::kDirectory;
  return info;
}

Result<std::shared_ptr<ObjectVersion>> MemoryStore::Open(std::string_view key) {
  UNSHARD_RETURN_IF_ERROR(CheckKey(key));
  const std::lock_guard lock(mutex_);
  const auto found = objects_.find(std::string(key));
  if (found != objects_.end()) {
    return std::make_shared<MemoryObject>(found->second.bytes, found->second.info);
  }
  if (!IsDirectory(std::string(key))) return nullptr;
  return Fail(ErrorCode::kDataLoss, Describe(key) + ": expected a file, found a directory");
}

Result<ReadResult> MemoryStore::Read(std::string_view key, const ReadOptions& options) {
  UNSHARD_ASSIGN_OR_RETURN(const auto object, Open(key));
  if (!object) return ReadResult{ReadResult::State::kMissing, {}, 0, {}};
  const ObjectInfo& info = object->info();
  if (options.if_match && *options.if_match != info.generation) {
    return ReadResult{ReadResult::State::kConditionFailed, {}, info.size, info.generation};
  }
  return object->Read(options.range);
}

Status MemoryStore::List(std::string_view key, const ListVisitor& visitor) {
  UNSHARD_RETURN_IF_ERROR(CheckKey(key));
  const std::string prefix = key.empty() ? std::string() : std::string(key) + '/';
  std::map<std::string, ObjectInfo::Kind> entries;
  {
    const std::lock_guard lock(mutex_);
    for (auto at = objects_.lower_bound(prefix); at != objects_.end(); ++at) {
      if (!at->first.starts_with(prefix)) break;
      const std::string rest = at->first.substr(prefix.size());
      const std::size_t slash = rest.find('/');
      entries[rest.substr(0, slash)] =
          slash == std::string::npos ? ObjectInfo::Kind::kFile : ObjectInfo::Kind::kDirectory;
    }
  }
  for (const auto& [name, kind] : entries) {
    if (!visitor({name, kind})) break;
  }
  return {};
}

}  // namespace unshard
