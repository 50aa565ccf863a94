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
  return bytes.Slice(static_cast<std::size_t>(range.begin), static_cast<std::size_t>(range.size));
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
                     done(self->Read(std::move(answer), wanted));
                   });
  }

  [[nodiscard]] Result<ReadResult> Read(Result<HttpAnswer> answer, const ByteRange& wanted) const {
    if (!answer) return Forward(std::move(answer).error(), server_->Describe(key_));
    const bool same = answer->object && answer->object->info.size == info_.size &&
                      CanBeSameVersion(validators_, answer->object->validators);
    switch (answer->kind) {
      case Kind::kPart:
        if (!same) return Changed(info_);
        return Found(info_, wanted.size == 0 ? Bytes() : answer->object->bytes);
      case Kind::kWhole:
        if (!same) return Changed(info_);
        return Found(info_, Cut(answer->object->bytes, wanted));
      case Kind::kTooLarge:
        if (!same) return Changed(info_);
        return Fail(ErrorCode::kUnavailable,
                    server_->Describe(key_) + ": the server ignores range requests now");
      case Kind::kUnchanged:
        return Fail(ErrorCode::kUnavailable,
                    server_->Describe(key_) + ": the server breaks HTTP: an answer 304 unasked");
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

class WholeVersion final : public ObjectVersion, public std::enable_shared_from_this<WholeVersion> {
 public:
  WholeVersion(std::shared_ptr<HttpServer> server, std::string key, HttpObject object)
      : server_(std::move(server)), key_(std::move(key)), object_(std::move(object)) {}

  const ObjectInfo& info() const override { return object_.info; }

  void StartRead(const RangeRequest& range, const Deadline& deadline, ReadDone done) override {
    HttpRequest request = server_->MakeRequest(key_, std::nullopt, deadline);
    AddRefreshCondition(object_.validators, request.headers);
    server_->Start(std::move(request), std::nullopt,
                   [self = shared_from_this(), range, done = std::move(done)](
                       Result<HttpAnswer> answer) { done(self->Read(std::move(answer), range)); });
  }

 private:
  [[nodiscard]] Result<ReadResult> Read(Result<HttpAnswer> answer,
                                        const RangeRequest& range) const {
    if (!answer) return Forward(std::move(answer).error(), server_->Describe(key_));
    const bool same = answer->kind == Kind::kUnchanged ||
                      (answer->kind == Kind::kWhole &&
                       answer->object->info.generation == object_.info.generation);
    if (!same) return Changed(object_.info);
    return Found(object_.info, Cut(object_.bytes, ClipRange(range, object_.info.size)));
  }

  const std::shared_ptr<HttpServer> server_;
  const std::string key_;
  const HttpObject object_;
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
