#include "tests/support/memory_store.h"

#include <utility>

namespace unshard {
namespace {

Bytes Cut(const Bytes& bytes, const RangeRequest& range) {
  const ByteRange part = ClipRange(range, bytes.size());
  return bytes.Slice(static_cast<std::size_t>(part.begin), static_cast<std::size_t>(part.size));
}

}  // namespace

class MemoryStore::Version final : public ObjectVersion {
 public:
  // Unless it is `kept`, it can be read as long as `content` has it under its key.
  Version(std::shared_ptr<Content> content, bool kept, std::string key, Object object)
      : content_(std::move(content)),
        kept_(kept),
        key_(std::move(key)),
        object_(std::move(object)) {}

  const ObjectInfo& info() const override { return object_.info; }

  void StartRead(const RangeRequest& range, const Deadline&, ReadDone done) override {
    {
      const std::lock_guard lock(content_->mutex);
      if (content_->holds) {
        content_->held.push_back([answer = Answer(range), done] { done(answer); });
        return;
      }
    }
    done(Answered(range));
  }

 private:
  Result<ReadResult> Answered(const RangeRequest& range) {
    const std::lock_guard lock(content_->mutex);
    return Answer(range);
  }
  // Requires: the mutex is held.
  [[nodiscard]] ReadResult Answer(const RangeRequest& range) const {
    ReadResult result{ReadResult::State::kFound, {}, object_.info.size, object_.info.generation};
    const auto now = content_->objects.find(key_);
    const bool current =
        now != content_->objects.end() && now->second.info.generation == object_.info.generation;
    if (kept_ || current) {
      result.value = Cut(current ? now->second.bytes : object_.bytes, range);
    } else {
      result.state = ReadResult::State::kConditionFailed;
    }
    return result;
  }

  const std::shared_ptr<Content> content_;
  const bool kept_;
  const std::string key_;
  const Object object_;
};

void MemoryStore::Put(const std::string& key, std::string_view text) {
  const std::lock_guard lock(content_->mutex);
  const ByteSpan span = AsBytes(text);
  PutLocked(key, Bytes(ByteVector(span.begin(), span.end())));
}

const ObjectInfo& MemoryStore::PutLocked(const std::string& key, Bytes bytes) {
  Object& object = content_->objects[key];
  object.bytes = std::move(bytes);
  object.info.size = object.bytes.size();
  object.info.generation.tag = std::to_string(++content_->last_generation);
  return object.info;
}

Committed MemoryStore::ReplaceIf(const std::string& key, const std::optional<Generation>& expected,
                                 std::optional<Bytes> bytes, const std::string& attempt) {
  const std::lock_guard lock(content_->mutex);
  const auto found = content_->objects.find(key);
  std::optional<Generation> current;
  if (found != content_->objects.end()) current = found->second.info.generation;
  if (current != expected) return {};
  if (!attempt.empty()) content_->attempts.emplace(key, attempt);
  if (bytes) return {Committed::Outcome::kCommitted, PutLocked(key, *std::move(bytes))};
  content_->objects.erase(key);
  return {Committed::Outcome::kCommitted};
}

std::vector<std::string> MemoryStore::Attempts(const std::string& key) const {
  std::vector<std::string> attempts;
  const std::lock_guard lock(content_->mutex);
  for (const auto& [of, attempt] : content_->attempts) {
    if (of == key) attempts.push_back(attempt);
  }
  return attempts;
}

void MemoryStore::Remove(const std::string& key) {
  const std::lock_guard lock(content_->mutex);
  content_->objects.erase(key);
}

void MemoryStore::SetModified(const std::string& key, const timespec& modified) {
  const std::lock_guard lock(content_->mutex);
  content_->objects.at(key).info.modified = modified;
}

void MemoryStore::HoldReads() {
  const std::lock_guard lock(content_->mutex);
  content_->holds = true;
}

void MemoryStore::ReleaseReads() {
  std::vector<std::function<void()>> held;
  {
    const std::lock_guard lock(content_->mutex);
    content_->holds = false;
    held = std::exchange(content_->held, {});
  }
  for (const auto& end : held) end();
}

void MemoryStore::DropReads() {
  std::vector<std::function<void()>> held;  // ends without the lock
  const std::lock_guard lock(content_->mutex);
  content_->holds = false;
  held = std::exchange(content_->held, {});
}

std::size_t MemoryStore::held_reads() const {
  const std::lock_guard lock(content_->mutex);
  return content_->held.size();
}

bool MemoryStore::IsDirectory(const std::string& key) const {
  if (key.empty()) return true;
  const auto below = content_->objects.lower_bound(key + '/');
  return below != content_->objects.end() && below->first.starts_with(key + '/');
}

Result<std::optional<ObjectInfo>> MemoryStore::Stat(std::string_view key, const Deadline&) {
  UNSHARD_RETURN_IF_ERROR(CheckKey(key));
  const std::lock_guard lock(content_->mutex);
  const auto found = content_->objects.find(std::string(key));
  if (found != content_->objects.end()) return found->second.info;
  if (!capabilities_.lists || !IsDirectory(std::string(key))) return std::nullopt;
  ObjectInfo info;
  info.kind = ObjectInfo::Kind::kDirectory;
  return info;
}

Result<ObjectStore::Opened> MemoryStore::Open(std::string_view key, const RangeRequest& first,
                                              const Deadline&) {
  UNSHARD_RETURN_IF_ERROR(CheckKey(key));
  const std::lock_guard lock(content_->mutex);
  const auto found = content_->objects.find(std::string(key));
  if (found != content_->objects.end()) {
    const Object& object = found->second;
    return Opened{std::make_shared<Version>(content_, capabilities_.keeps_replaced_versions,
                                            std::string(key), object),
                  Cut(object.bytes, first)};
  }
  if (!capabilities_.lists || !IsDirectory(std::string(key))) return Opened{};
  return Fail(ErrorCode::kDataLoss, Describe(key) + ": expected a file, found a directory");
}

std::shared_ptr<ObjectVersion> MemoryStore::Recall(std::string_view key, const ObjectInfo& info) {
  if (capabilities_.keeps_replaced_versions) return nullptr;
  return std::make_shared<Version>(content_, false, std::string(key), Object{Bytes(), info});
}

Status MemoryStore::List(std::string_view key, const Deadline&, const ListVisitor& visitor) {
  UNSHARD_RETURN_IF_ERROR(CheckKey(key));
  if (!capabilities_.lists) return {};
  const std::string prefix = key.empty() ? std::string() : std::string(key) + '/';
  std::map<std::string, ObjectInfo::Kind> entries;
  {
    const std::lock_guard lock(content_->mutex);
    for (auto at = content_->objects.lower_bound(prefix); at != content_->objects.end(); ++at) {
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
