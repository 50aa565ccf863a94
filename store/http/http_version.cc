#include "store/http/http_version.h"

#include <cerrno>
#include <optional>
#include <utility>

namespace unshard {
namespace {

using Kind = HttpAnswer::Kind;

ReadResult Changed(const ObjectInfo& info) {
  return {ReadResult::State::kConditionFailed, {}, info.size, info.generation};
}

ReadResult Found(const ObjectInfo& info, Bytes value) {
  return {ReadResult::State::kFound, std::move(value), info.size, info.generation};
}

Bytes Cut(const Bytes& bytes, const ByteRange& range) {
  return PartOf(bytes, range.begin, range.size);
}

class RangedVersion final : public ObjectVersion,
                            public std::enable_shared_from_this<RangedVersion> {
 public:
  RangedVersion(std::shared_ptr<HttpServer> server, std::string key, HttpObject object)
      : server_(std::move(server)),
        key_(std::move(key)),
        info_(object.info),
        validators_(std::move(object.validators)) {}

  const ObjectInfo& info() const override { return info_; }

  void StartRead(const RangeRequest& range, const Deadline& deadline, ReadDone done) override {
    Ask(ClipRange(range, info_.size), deadline, true, std::move(done));
  }

 private:
  // Requires: `wanted` lies within the object.
  void Ask(const ByteRange& wanted, const Deadline& deadline, bool may_repeat, ReadDone done) {
    // A read of no bytes asks as well: its success proves that the version is the current one. An
    // empty object has no ranges.
    std::optional<AskedRange> asked;
    if (wanted.size > 0) {
      asked = AskedRange{wanted.begin, wanted.size};
    } else if (info_.size > 0) {
      asked = AskedRange{0, 1};
    }
    HttpRequest request = server_->MakeRequest(key_, asked, deadline);
    AddReadCondition(validators_, request.headers);
    server_->Start(std::move(request), asked,
                   [self = shared_from_this(), wanted, deadline, may_repeat,
                    done = std::move(done)](Result<HttpAnswer> answer) {
                     // A wrong answer may be that of one server of several.
                     if (!answer && may_repeat && answer.error().system_errno == EPROTO) {
                       return self->Ask(wanted, deadline, false, done);
                     }
                     if (answer && self->IsAllOfUs(*answer)) {
                       return self->AskForAll(wanted, done);
                     }
                     done(self->Read(std::move(answer), wanted));
                   });
  }

  // Whether the server would have sent more than it may in place of a range: by now it ignores
  // them.
  [[nodiscard]] bool IsAllOfUs(const HttpAnswer& answer) const {
    return answer.kind == Kind::kTooLarge && IsOfThis(answer) &&
           info_.size <= server_->options().whole_object_bytes;
  }
  void AskForAll(const ByteRange& wanted, ReadDone done) {
    server_->StartWhole(
        key_, info_.size,
        [self = shared_from_this(), wanted, done = std::move(done)](Result<HttpAnswer> answer) {
          done(self->Read(std::move(answer), wanted));
        });
  }
  [[nodiscard]] bool IsOfThis(const HttpAnswer& answer) const {
    return answer.object && answer.object->info.size == info_.size &&
           CanBeSameVersion(validators_, answer.object->validators);
  }

  [[nodiscard]] Result<ReadResult> Read(Result<HttpAnswer> answer, const ByteRange& wanted) const {
    if (!answer) return Forward(std::move(answer).error(), server_->Describe(key_));
    const bool same = IsOfThis(*answer);
    switch (answer->kind) {
      case Kind::kPart:
        if (!same) return Changed(info_);
        return Found(info_, wanted.size == 0 ? Bytes() : answer->object->bytes);
      case Kind::kWhole:
        if (!same) return Changed(info_);
        return Found(info_, Cut(answer->object->bytes, wanted));
      case Kind::kTooLarge:
        if (!same) return Changed(info_);
        return Fail(ErrorCode::kUnavailable, server_->Describe(key_),
                    ": the server ignores range requests now");
      case Kind::kUnchanged:
        return Fail(ErrorCode::kUnavailable, server_->Describe(key_),
                    ": the server breaks HTTP: it answers 304 to a request without a condition");
      case Kind::kEncoded:
      case Kind::kMissing:
      case Kind::kDirectory:
      case Kind::kChanged:
      case Kind::kUnsatisfied:
        return Changed(info_);
    }
    return Changed(info_);
  }

  const std::shared_ptr<HttpServer> server_;
  const std::string key_;
  const ObjectInfo info_;
  const Validators validators_;
};

// Its bytes are where all whole objects are kept (HttpServer::whole_objects), and fetched again
// where they are no longer there.
class WholeVersion final : public ObjectVersion, public std::enable_shared_from_this<WholeVersion> {
 public:
  WholeVersion(std::shared_ptr<HttpServer> server, std::string key, HttpObject object)
      : server_(std::move(server)),
        key_(std::move(key)),
        info_(object.info),
        validators_(std::move(object.validators)) {}

  const ObjectInfo& info() const override { return info_; }

  void StartRead(const RangeRequest& range, const Deadline& deadline, ReadDone done) override {
    const bool has_validator = validators_.tag || !validators_.modified_text.empty();
    if (!has_validator || !Kept()) return Fetch(range, std::move(done));
    // The header fields say everything.
    HttpRequest request = server_->MakeRequest(key_, AskedRange{0, 1}, deadline);
    AddRefreshCondition(validators_, request.headers);
    request.max_whole_body = 0;
    server_->Start(
        std::move(request), AskedRange{0, 1},
        [self = shared_from_this(), range,
         done = std::move(done)](const Result<HttpAnswer>& answer) {
          const bool same = answer && (answer->kind == Kind::kUnchanged || self->IsOfThis(*answer));
          // Only the body tells the size, or the version.
          const bool tells_nothing =
              answer && (answer->kind == Kind::kEncoded ||
                         (answer->kind == Kind::kTooLarge && answer->object->info.size == 0));
          if (!same && !tells_nothing) return done(self->Read(answer, range));
          const auto kept = self->Kept();
          if (!same || !kept) return self->Fetch(range, done);
          done(self->Part(kept->bytes, range));
        });
  }

 private:
  [[nodiscard]] bool IsOfThis(const HttpAnswer& answer) const {
    return answer.object && answer.object->info.generation == info_.generation;
  }
  [[nodiscard]] std::optional<HttpObject> Kept() const {
    auto kept = server_->whole_objects().Find(key_);
    if (kept && kept->info.generation != info_.generation) kept.reset();
    return kept;
  }
  void Fetch(const RangeRequest& range, ReadDone done) {
    server_->StartWhole(key_, info_.size,
                        [self = shared_from_this(), range, done = std::move(done)](
                            const Result<HttpAnswer>& answer) { done(self->Read(answer, range)); });
  }
  [[nodiscard]] Result<ReadResult> Part(const Bytes& bytes, const RangeRequest& range) const {
    return Found(info_, Cut(bytes, ClipRange(range, info_.size)));
  }
  [[nodiscard]] Result<ReadResult> Read(const Result<HttpAnswer>& answer,
                                        const RangeRequest& range) const {
    if (!answer) return Forward(answer.error(), server_->Describe(key_));
    if (answer->kind != Kind::kWhole || !IsOfThis(*answer)) return Changed(info_);
    server_->whole_objects().Put(key_, *answer->object);
    return Part(answer->object->bytes, range);
  }

  const std::shared_ptr<HttpServer> server_;
  const std::string key_;
  const ObjectInfo info_;
  const Validators validators_;
};

}  // namespace

std::shared_ptr<ObjectVersion> MakeRangedVersion(std::shared_ptr<HttpServer> server,
                                                 std::string key, HttpObject object) {
  return std::make_shared<RangedVersion>(std::move(server), std::move(key), std::move(object));
}

std::shared_ptr<ObjectVersion> MakeWholeVersion(std::shared_ptr<HttpServer> server, std::string key,
                                                HttpObject object) {
  return std::make_shared<WholeVersion>(std::move(server), std::move(key), std::move(object));
}

}  // namespace unshard
