#include "store/http/http_store.h"

#include <cerrno>
#include <chrono>
#include <optional>
#include <utility>

#include "store/http/authorization.h"
#include "store/http/curl_transport.h"
#include "store/http/hedging.h"
#include "store/http/http_answer.h"
#include "store/http/http_server.h"
#include "store/http/http_version.h"
#include "store/http/retry.h"

namespace unshard {
namespace {

using Kind = HttpAnswer::Kind;

// Of one Open or Stat: what a server does to us costs no more.
constexpr int kMostRequests = 5;
constexpr AskedRange kOneByte{0, 1};
// What is assumed of an object that is stored compressed, for the memory that it takes.
constexpr std::uint64_t kMostGrowth = 8;

Deadline Bounded(Deadline deadline, const HttpStoreOptions& options) {
  // All requests of one call end at the same time.
  const auto latest = std::chrono::steady_clock::now() + options.request_timeout;
  if (deadline.at == std::chrono::steady_clock::time_point::max()) deadline.at = latest;
  return deadline;
}

// Learns the current version of one object, with a range of its bytes: one request, and more only
// where the server cannot answer it or answers it wrongly. Used by one thread.
class Opening {
 public:
  Opening(std::shared_ptr<HttpServer> server, std::string_view key, const RangeRequest& first,
          const Deadline& deadline)
      : server_(std::move(server)),
        key_(key),
        first_(first),
        deadline_(Bounded(deadline, server_->options())) {}

  Result<ObjectStore::Opened> Open();
  // As ObjectStore::OpenUnlessKnown. Does nothing where the generation is not that of a strong tag.
  void SetKnown(const ObjectInfo& known);
  // The same without the bytes.
  Result<std::optional<ObjectInfo>> Stat();

 private:
  enum class Next { kDone, kAskAgain };

  // Asks until there is an answer that says what the object is: never kEncoded or kUnsatisfied.
  Result<HttpAnswer> Learn();
  Result<HttpAnswer> Ask();
  // An answer 200 without a byte, which is also what broken servers send in place of an error.
  [[nodiscard]] bool IsUnprovedEmpty(const HttpObject& object) const;
  // Whether another request may bring what this answer, or its failure, does not.
  bool AsksOtherwise(const Result<HttpAnswer>& answer);
  bool AsksWithoutSuffix();
  bool AsksForAll(const HttpObject& object);
  [[nodiscard]] bool IsTheSuffix(const HttpObject& object) const;
  [[nodiscard]] tl::unexpected<Error> TooLarge(const HttpObject& object) const;
  [[nodiscard]] tl::unexpected<Error> IsDirectory() const;
  [[nodiscard]] ObjectStore::Opened MakeOpened(HttpObject object, bool whole) const;

  const std::shared_ptr<HttpServer> server_;
  const std::string key_;
  const RangeRequest first_;
  const Deadline deadline_;
  std::optional<AskedRange> asked_;  // nothing: the whole object
  std::optional<HttpObject> kept_;   // whole, from an earlier request
  std::optional<HttpObject> known_;  // its bytes are with the caller
  std::uint64_t whole_bytes_ = 0;    // about, where all is asked for; 0: unknown
  bool wants_size_ = false;          // of the object, to ask for its end without a suffix
  bool only_stat_ = false;
  bool repeated_ = false;
  bool knows_ranges_ = false;  // the server, as an answer has shown
  // After an answer 416 to a range at the start: the size of the object, 0 where it does not tell.
  std::optional<std::uint64_t> unsatisfied_size_;
};

bool Opening::AsksWithoutSuffix() {
  if (!asked_ || !asked_->suffix) return false;
  server_->NoteBrokenSuffixes();
  asked_ = kOneByte;
  wants_size_ = true;
  return true;
}

// Where `object` is larger than what is taken in place of a range.
bool Opening::AsksForAll(const HttpObject& object) {
  if (!asked_) return false;
  const std::uint64_t size = object.info.size;  // 0: unknown
  const bool has_validator = object.validators.tag || !object.validators.modified_text.empty();
  if (only_stat_ && size > 0 && has_validator) return false;
  const bool fits = size > 0 && size <= server_->options().whole_object_bytes;
  if (!fits && AsksWithoutSuffix()) return true;
  if (!fits && size > 0 && !only_stat_) return false;
  asked_.reset();
  whole_bytes_ = size;
  return true;
}

bool Opening::IsTheSuffix(const HttpObject& object) const {
  const ByteRange end = ClipRange(first_, object.info.size);
  return object.range == end;
}

// An empty object has a validator, or refuses a range at its start.
bool Opening::IsUnprovedEmpty(const HttpObject& object) const {
  if (object.info.size > 0) return false;
  if (unsatisfied_size_) return *unsatisfied_size_ > 0;
  return !object.validators.tag && object.validators.modified_text.empty();
}

Result<HttpAnswer> Opening::Ask() {
  if (!asked_) return server_->AskWhole(key_, whole_bytes_, deadline_);
  HttpRequest request = server_->MakeRequest(key_, asked_, deadline_);
  if (kept_ || known_) {
    AddRefreshCondition((kept_ ? kept_ : known_)->validators, request.headers);
  }
  // Where the header fields say everything, no body is waited for.
  if (only_stat_) request.max_whole_body = 0;
  return server_->Ask(std::move(request), asked_);
}

bool Opening::AsksOtherwise(const Result<HttpAnswer>& answer) {
  if (!answer) {
    const Error& error = answer.error();
    if (error.system_errno != EPROTO) return false;
    if (AsksWithoutSuffix()) return true;
    return !std::exchange(repeated_, true);  // it may be the answer of one server of several
  }
  switch (answer->kind) {
    case Kind::kEncoded:
      knows_ranges_ = true;
      asked_.reset();
      whole_bytes_ = kMostGrowth * answer->total.value_or(0);
      return true;
    case Kind::kUnsatisfied:
      knows_ranges_ = true;
      // At the start of an object: it is empty, and only a request without a range tells more.
      if (asked_ && asked_->begin > 0) {
        asked_ = kOneByte;
      } else {
        asked_.reset();
        unsatisfied_size_ = answer->total.value_or(0);
      }
      return true;
    case Kind::kWhole:
      return IsUnprovedEmpty(*answer->object) && !std::exchange(repeated_, true);
    case Kind::kTooLarge:
      return AsksForAll(*answer->object);
    case Kind::kPart:
      if (!wants_size_ || IsTheSuffix(*answer->object)) return false;
      {
        const ByteRange end = ClipRange(first_, answer->object->info.size);
        asked_ = AskedRange{end.begin, end.size};
      }
      return true;
    default:
      return false;
  }
}

Result<HttpAnswer> Opening::Learn() {
  // A range of no bytes needs one byte: only a range tells the size and the validators at once.
  asked_ = AskedRange{first_.begin, first_.size, first_.suffix};
  if (first_.size == 0 || first_.begin >> 62 != 0) asked_ = kOneByte;
  if (server_->suffixes_are_broken()) AsksWithoutSuffix();
  kept_ = server_->whole_objects().Find(key_);
  for (int requests = 0; requests < kMostRequests; ++requests) {
    auto answer = Ask();
    if (AsksOtherwise(answer)) continue;
    if (!answer || answer->kind != Kind::kWhole || !IsUnprovedEmpty(*answer->object)) return answer;
    return FailWith(
        EPROTO, ErrorCode::kUnavailable, "the server breaks HTTP: its answer 200 is empty, but ",
        unsatisfied_size_ ? "the object has " + std::to_string(*unsatisfied_size_) + " bytes"
                          : std::string("has neither ETag nor Last-Modified"));
  }
  return Fail(ErrorCode::kConflict, "the object or its server kept changing while it was opened");
}

Result<ObjectStore::Opened> Opening::Open() {
  auto answer = Learn();
  if (!answer) return Forward(std::move(answer).error(), server_->Describe(key_));
  WholeObjects& whole_objects = server_->whole_objects();
  switch (answer->kind) {
    case Kind::kPart:
      whole_objects.Erase(key_);
      return MakeOpened(*std::move(answer->object), false);
    case Kind::kWhole:
      // Nothing proves the length of plain bytes, and their tag is that of the object: cut short
      // once, they would be kept for ever. A server that knows ranges can be asked for one again.
      if (knows_ranges_ && !answer->was_encoded && answer->object->info.size > 0) {
        whole_objects.Erase(key_);
      } else {
        whole_objects.Put(key_, *answer->object);
      }
      return MakeOpened(*std::move(answer->object), true);
    case Kind::kUnchanged:
      if (kept_) return MakeOpened(*std::move(kept_), true);
      if (known_) return MakeOpened(*std::move(known_), false);
      break;
    case Kind::kMissing:
      whole_objects.Erase(key_);
      return ObjectStore::Opened{};
    case Kind::kDirectory:
      return IsDirectory();
    case Kind::kTooLarge:
      return TooLarge(*answer->object);
    default:
      break;
  }
  return Fail(ErrorCode::kUnavailable, server_->Describe(key_),
              ": the server breaks HTTP: it answers as if the request had a condition");
}

void Opening::SetKnown(const ObjectInfo& known) {
  auto validators = StrongValidatorsOf(known.generation, known.size);
  if (validators) known_ = HttpObject{known, *std::move(validators), {}, {}};
}

Result<std::optional<ObjectInfo>> Opening::Stat() {
  only_stat_ = true;
  auto answer = Learn();
  if (!answer) return Forward(std::move(answer).error(), server_->Describe(key_));
  if (answer->kind == Kind::kMissing) return std::nullopt;
  if (answer->kind == Kind::kDirectory) {
    ObjectInfo info;
    info.kind = ObjectInfo::Kind::kDirectory;
    return info;
  }
  if (answer->kind == Kind::kUnchanged && kept_) return kept_->info;
  if (answer->kind == Kind::kTooLarge && !asked_) return TooLarge(*answer->object);
  if (answer->object) return answer->object->info;
  return Fail(ErrorCode::kUnavailable, server_->Describe(key_),
              ": the server breaks HTTP: it answers as if the request had a condition");
}

ObjectStore::Opened Opening::MakeOpened(HttpObject object, bool whole) const {
  ObjectStore::Opened opened;
  const ByteRange wanted = ClipRange(first_, object.info.size);
  if (wanted.size > 0 && wanted.begin >= object.range.begin && wanted.end() <= object.range.end()) {
    opened.first = PartOf(object.bytes, wanted.begin - object.range.begin, wanted.size);
  }
  opened.version = whole ? MakeWholeVersion(server_, key_, std::move(object))
                         : MakeRangedVersion(server_, key_, std::move(object));
  return opened;
}

tl::unexpected<Error> Opening::TooLarge(const HttpObject& object) const {
  const std::string size =
      object.info.size > 0 ? std::to_string(object.info.size) + " bytes" : "unknown size";
  return Fail(ErrorCode::kNotSupported, server_->Describe(key_),
              ": the server does not support range requests (it answers HTTP 200 instead of 206), "
              "and the object of ",
              size, " is larger than the ", server_->options().whole_object_bytes,
              " bytes up to which objects are read whole");
}

tl::unexpected<Error> Opening::IsDirectory() const {
  return Fail(ErrorCode::kDataLoss, server_->Describe(key_),
              ": expected a file, found a directory");
}

class HttpStore final : public ObjectStore {
 public:
  explicit HttpStore(std::shared_ptr<HttpServer> server) : server_(std::move(server)) {}

  Capabilities capabilities() const override {
    Capabilities capabilities;
    capabilities.lists = false;
    capabilities.keeps_replaced_versions = false;
    return capabilities;
  }

  Result<std::optional<ObjectInfo>> Stat(std::string_view key, const Deadline& deadline) override {
    UNSHARD_RETURN_IF_ERROR(CheckKey(key));
    if (!key.empty()) return Opening(server_, key, RangeRequest::At(0, 0), deadline).Stat();
    ObjectInfo root;
    root.kind = ObjectInfo::Kind::kDirectory;
    return root;
  }

  Result<Opened> Open(std::string_view key, const RangeRequest& first,
                      const Deadline& deadline) override {
    UNSHARD_RETURN_IF_ERROR(CheckKey(key));
    if (!key.empty()) return Opening(server_, key, first, deadline).Open();
    return Fail(ErrorCode::kDataLoss, Describe(key), ": expected a file, found a directory");
  }

  Result<Opened> OpenUnlessKnown(std::string_view key, const RangeRequest& first,
                                 const ObjectInfo& known, const Deadline& deadline) override {
    UNSHARD_RETURN_IF_ERROR(CheckKey(key));
    if (key.empty()) return Open(key, first, deadline);
    Opening opening(server_, key, first, deadline);
    opening.SetKnown(known);
    return opening.Open();
  }

  std::shared_ptr<ObjectVersion> Recall(std::string_view key, const ObjectInfo& info) override {
    auto validators = StrongValidatorsOf(info.generation, info.size);
    if (key.empty() || !CheckKey(key) || !validators) return nullptr;
    return MakeRangedVersion(server_, std::string(key), {info, *std::move(validators), {}, {}});
  }

  std::string Identity() const override { return server_->Identity(); }

  Status List(std::string_view key, const Deadline&, const ListVisitor&) override {
    return CheckKey(key);
  }

  std::string Describe(std::string_view key) const override { return server_->Describe(key); }

 private:
  const std::shared_ptr<HttpServer> server_;
};

}  // namespace

std::shared_ptr<HttpTransport> MakeHttpTransport(const HttpStoreOptions& options,
                                                 std::shared_ptr<HttpAuthorization> authorization) {
  CurlOptions curl;
  curl.connections_per_host = options.connections_per_host;
  curl.connect_timeout = options.connect_timeout;
  curl.stall_timeout = options.stall_timeout;
  curl.contact = options.contact;
  RetryOptions retry;
  retry.timeout = options.request_timeout;
  HedgingOptions hedging;
  hedging.first_delay = options.hedging_delay;
  auto transport = WithHedging(MakeCurlTransport(curl), hedging);
  if (authorization) {
    transport = WithAuthorization(std::move(transport), std::move(authorization));
  }
  return WithRetries(std::move(transport), retry);
}

std::shared_ptr<ObjectStore> MakeHttpStore(std::shared_ptr<HttpServer> server) {
  return std::make_shared<HttpStore>(std::move(server));
}

Result<std::shared_ptr<ObjectStore>> OpenHttpStore(const std::string& url,
                                                   const HttpStoreOptions& options) {
  UNSHARD_ASSIGN_OR_RETURN(HttpUrl base, ParseHttpUrl(url));
  if (!base.is_https() && !options.allow_http) {
    return Fail(ErrorCode::kInvalidArgument, base.Described(),
                ": plain http is not allowed here; expected https");
  }
  return MakeHttpStore(
      std::make_shared<HttpServer>(std::move(base), options, MakeHttpTransport(options, nullptr)));
}

}  // namespace unshard
