#include "tests/support/fake_object_writer.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "store/object/read_through.h"

namespace unshard {

using Kind = WriteAnswer::Kind;

namespace {

std::string TextOf(const HttpBody& body) {
  std::string text(static_cast<std::size_t>(body.size()), ' ');
  const auto read = body.Read(0, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()});
  text.resize(read.value_or(0));
  return text;
}

Error Said(const char* what) { return {ErrorCode::kUnavailable, what, 0}; }

}  // namespace

class FakeParts final : public PartedUpload {
 public:
  FakeParts(FakeObjectWriter& writer, const NewObject& object, std::uint64_t size,
            std::uint64_t part_bytes)
      : writer_(writer),
        object_(object),
        parts_(static_cast<std::size_t>((size + part_bytes - 1) / part_bytes)) {}

  bool takes_parts_in_parallel() const override { return true; }
  Status Put(std::size_t part, std::shared_ptr<const HttpBody> bytes) override {
    const std::lock_guard lock(writer_.mutex_);
    writer_.Note("PART " + std::to_string(part));
    if (writer_.fails_put_in_ > 0 && --writer_.fails_put_in_ == 0) {
      return Fail(ErrorCode::kUnavailable, "the store is away");
    }
    parts_.at(part) = TextOf(*bytes);
    return {};
  }
  Status Copy(std::size_t part, const ByteRange& of_base) override {
    const std::lock_guard lock(writer_.mutex_);
    writer_.Note("COPY " + std::to_string(part));
    if (writer_.manners_.keeps_copies && !writer_.Holds(object_.key, object_.condition)) {
      return Fail(ErrorCode::kConflict, "was replaced");
    }
    parts_.at(part) = writer_.objects_.at(object_.key)
                          .bytes.substr(static_cast<std::size_t>(of_base.begin),
                                        static_cast<std::size_t>(of_base.size));
    return {};
  }
  WriteAnswer Complete() override {
    const std::lock_guard lock(writer_.mutex_);
    writer_.Note("COMPLETE " + object_.key);
    std::string bytes;
    for (const std::string& each : parts_) bytes += each;
    return writer_.Write(object_.key, object_.condition, writer_.manners_.keeps_parts,
                         [&]() -> std::optional<RemoteObject> {
                           return writer_.Store(object_.key, bytes, object_.attempts);
                         });
  }
  bool Abort() override {
    const std::lock_guard lock(writer_.mutex_);
    writer_.Note("ABORT");
    return true;
  }
  std::string id() const override { return "upload of " + object_.key; }

 private:
  FakeObjectWriter& writer_;
  const NewObject object_;
  std::vector<std::string> parts_;
};

WriterTraits FakeObjectWriter::Traits() {
  WriterTraits traits;
  traits.least_part_bytes = 1;
  traits.copies_ranges = true;
  traits.validators_have_quotes = true;
  return traits;
}

FakeObjectWriter::FakeObjectWriter(const FakeManners& manners, const WriterTraits& traits)
    : manners_(manners), traits_(traits), number_([] {
        static std::atomic<int> writers{0};
        return ++writers;
      }()) {}

std::string FakeObjectWriter::Bucket() const { return "fake://" + std::to_string(number_); }

void FakeObjectWriter::Note(const std::string& request) { requests_.push_back(request); }

std::vector<std::string> FakeObjectWriter::TakeRequests() {
  const std::lock_guard lock(mutex_);
  return std::exchange(requests_, {});
}

int FakeObjectWriter::Count(const std::string& kind) const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(
      std::count_if(requests_.begin(), requests_.end(),
                    [&](const std::string& each) { return each.starts_with(kind); }));
}

RemoteObject FakeObjectWriter::Store(const std::string& key, std::string bytes,
                                     std::vector<std::string> attempts) {
  RemoteObject object;
  object.validator = "\"version-" + std::to_string(++versions_) + '"';
  object.info.size = bytes.size();
  object.info.generation = {object.validator};
  if (manners_.keeps_metadata) object.attempts = std::move(attempts);
  objects_[key] = {object, std::move(bytes)};
  return object;
}

RemoteObject FakeObjectWriter::Place(const std::string& key, std::string bytes,
                                     std::vector<std::string> attempts) {
  const std::lock_guard lock(mutex_);
  return Store(key, std::move(bytes), std::move(attempts));
}

void FakeObjectWriter::Erase(const std::string& key) {
  const std::lock_guard lock(mutex_);
  objects_.erase(key);
}

std::optional<RemoteObject> FakeObjectWriter::Now(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = objects_.find(key);
  if (found == objects_.end()) return std::nullopt;
  return found->second.object;
}

std::string FakeObjectWriter::Bytes(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = objects_.find(key);
  return found == objects_.end() ? "missing" : found->second.bytes;
}

bool FakeObjectWriter::Holds(const std::string& key, const WriteCondition& condition) const {
  const auto now = Now(key);
  switch (condition.kind) {
    case WriteCondition::Kind::kNone:
      return true;
    case WriteCondition::Kind::kMissing:
      return !now;
    case WriteCondition::Kind::kVersion:
      break;
  }
  if (!now) return false;
  const std::string bare = now->validator.substr(1, now->validator.size() - 2);
  return condition.validator == bare ||
         (!manners_.unquoted_only && condition.validator == now->validator);
}

std::optional<WriteAnswer> FakeObjectWriter::Judge(const std::string& key,
                                                   const WriteCondition& condition,
                                                   bool keeps) const {
  if (condition.kind == WriteCondition::Kind::kNone) return std::nullopt;
  if (!manners_.knows_conditions) {
    return WriteAnswer{Kind::kRefused, {}, {ErrorCode::kNotSupported, "no conditions", 0}};
  }
  if (!keeps || Holds(key, condition)) return std::nullopt;
  return WriteAnswer{Kind::kConditionFailed, {}, Said("the condition is false")};
}

WriteAnswer FakeObjectWriter::Write(const std::string& key, const WriteCondition& condition,
                                    bool keeps,
                                    const std::function<std::optional<RemoteObject>()>& apply) {
  std::optional<FakeFault> fault;
  if (!faults_.empty()) {
    fault = std::move(faults_.front());
    faults_.pop_front();
  }
  WriteAnswer answer{fault ? fault->answer : Kind::kApplied, {}, Said("a fault")};
  if (!fault || fault->applied) {
    if (auto judged = Judge(key, condition, keeps)) {
      if (!fault) return *std::move(judged);
    } else {
      answer.object = apply();
    }
  }
  if (fault && fault->meanwhile) fault->meanwhile();
  // The answer does not name the new version.
  if (fault && fault->answer == Kind::kApplied) answer.object.reset();
  return answer;
}

Result<std::optional<RemoteObject>> FakeObjectWriter::Look(const std::string& key,
                                                           const Deadline& deadline) {
  const std::lock_guard lock(mutex_);
  last_look_until_ = deadline.at;
  Note("LOOK " + key);
  if (failing_looks_ > 0) {
    --failing_looks_;
    return Fail(ErrorCode::kUnavailable, "the store is away");
  }
  return Now(key);
}

std::shared_ptr<ObjectVersion> FakeObjectWriter::Open(const std::string& key,
                                                      const RemoteObject& object) {
  const auto read = [this, key, object](std::uint64_t at,
                                        std::span<std::uint8_t> to) -> Result<std::size_t> {
    const std::lock_guard lock(mutex_);
    Note("GET " + std::to_string(at) + '+' + std::to_string(to.size()));
    const auto now = Now(key);
    if (!now || now->validator != object.validator) return std::size_t{0};
    const std::string part = objects_.at(key).bytes.substr(static_cast<std::size_t>(at), to.size());
    std::copy(part.begin(), part.end(), to.begin());
    return part.size();
  };
  return MakeObjectOf(object.info, Describe(key), read);
}

WriteAnswer FakeObjectWriter::Put(const NewObject& object, std::shared_ptr<const HttpBody> bytes) {
  const std::lock_guard lock(mutex_);
  Note("PUT " + object.key);
  const bool keeps = object.condition.kind == WriteCondition::Kind::kMissing
                         ? manners_.keeps_missing
                         : manners_.keeps_version;
  return Write(object.key, object.condition, keeps, [&]() -> std::optional<RemoteObject> {
    return Store(object.key, TextOf(*bytes), object.attempts);
  });
}

WriteAnswer FakeObjectWriter::Delete(const std::string& key, const WriteCondition& condition) {
  const std::lock_guard lock(mutex_);
  Note("DELETE " + key);
  return Write(key, condition, manners_.keeps_removal, [&]() -> std::optional<RemoteObject> {
    objects_.erase(key);
    return std::nullopt;
  });
}

Result<std::unique_ptr<PartedUpload>> FakeObjectWriter::BeginParts(const NewObject& object,
                                                                   std::uint64_t size,
                                                                   std::uint64_t part_bytes) {
  const std::lock_guard lock(mutex_);
  Note("BEGIN " + object.key);
  return std::make_unique<FakeParts>(*this, object, size, part_bytes);
}

Status FakeObjectWriter::DropParts(const std::string& key, const std::string& upload) {
  const std::lock_guard lock(mutex_);
  Note("DROP " + key + ' ' + upload);
  return {};
}

}  // namespace unshard
