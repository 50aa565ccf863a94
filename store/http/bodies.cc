#include "store/http/bodies.h"

#include <algorithm>
#include <utility>

#include "codec/core/bytes.h"

namespace unshard {
namespace {

class TextBody final : public HttpBody {
 public:
  explicit TextBody(std::string bytes) : bytes_(std::move(bytes)) {}
  std::uint64_t size() const override { return bytes_.size(); }
  Result<std::size_t> Read(std::uint64_t at, std::span<std::uint8_t> to) const override {
    const ByteSpan all = AsBytes(bytes_);
    const ByteSpan left = all.subspan(static_cast<std::size_t>(std::min(at, size())));
    const std::size_t count = std::min(left.size(), to.size());
    std::copy_n(left.begin(), count, to.begin());
    return count;
  }

 private:
  const std::string bytes_;
};

class JoinedBody final : public HttpBody {
 public:
  explicit JoinedBody(std::vector<HttpBodyPtr> bodies) : bodies_(std::move(bodies)) {
    for (const HttpBodyPtr& each : bodies_) size_ += each->size();
  }
  std::uint64_t size() const override { return size_; }
  Result<std::size_t> Read(std::uint64_t at, std::span<std::uint8_t> to) const override {
    std::size_t done = 0;
    for (const HttpBodyPtr& each : bodies_) {
      if (at < each->size()) {
        UNSHARD_ASSIGN_OR_RETURN(const std::size_t found, each->Read(at, to.subspan(done)));
        done += found;
        at += found;
      }
      if (at < each->size() || done == to.size()) break;
      at -= each->size();
    }
    return done;
  }

 private:
  const std::vector<HttpBodyPtr> bodies_;
  std::uint64_t size_ = 0;
};

class PartOfBody final : public HttpBody {
 public:
  PartOfBody(HttpBodyPtr body, const ByteRange& range) : body_(std::move(body)), range_(range) {}
  std::uint64_t size() const override { return range_.size; }
  Result<std::size_t> Read(std::uint64_t at, std::span<std::uint8_t> to) const override {
    const std::uint64_t left = range_.size - std::min(at, range_.size);
    return body_->Read(
        range_.begin + at,
        to.first(static_cast<std::size_t>(std::min<std::uint64_t>(to.size(), left))));
  }

 private:
  const HttpBodyPtr body_;
  const ByteRange range_;
};

}  // namespace

HttpBodyPtr BodyOf(std::string bytes) { return std::make_shared<TextBody>(std::move(bytes)); }

HttpBodyPtr JoinBodies(std::vector<HttpBodyPtr> bodies) {
  return std::make_shared<JoinedBody>(std::move(bodies));
}

HttpBodyPtr PartOf(HttpBodyPtr body, const ByteRange& range) {
  return std::make_shared<PartOfBody>(std::move(body), range);
}

}  // namespace unshard
