#include "store/remote/remembered_version.h"

#include <algorithm>
#include <list>
#include <mutex>
#include <optional>
#include <utility>

namespace unshard {
namespace {

class RememberedVersion final : public ObjectVersion,
                                public std::enable_shared_from_this<RememberedVersion> {
 public:
  RememberedVersion(std::shared_ptr<ObjectVersion> version, const ReadAheadOptions& options)
      : version_(std::move(version)), options_(options), window_(options.least) {}

  const ObjectInfo& info() const override { return version_->info(); }

  void StartRead(const RangeRequest& range, const Deadline& deadline, ReadDone done) override {
    const ByteRange wanted = ClipRange(range, info().size);
    // A read of no bytes asks whether the version is the current one.
    if (wanted.size == 0) return version_->StartRead(range, deadline, std::move(done));
    if (auto held = Find(wanted)) return done(*std::move(held));
    const std::uint64_t left = info().size - wanted.begin;
    const ByteRange asked{wanted.begin, std::min(left, std::max(wanted.size, Window(wanted)))};
    version_->StartRead(RangeRequest::At(asked.begin, asked.size), deadline,
                        [self = shared_from_this(), wanted, asked,
                         done = std::move(done)](Result<ReadResult> read) {
                          if (!read || read->state != ReadResult::State::kFound ||
                              read->value.size() < wanted.size) {
                            return done(std::move(read));
                          }
                          self->Keep(asked.begin, read->value);
                          read->value = read->value.Slice(0, static_cast<std::size_t>(wanted.size));
                          done(std::move(read));
                        });
  }

 private:
  struct Block {
    std::uint64_t begin = 0;
    Bytes bytes;
  };

  std::optional<ReadResult> Find(const ByteRange& wanted) {
    const std::lock_guard lock(mutex_);
    for (const Block& block : blocks_) {
      if (wanted.begin < block.begin || wanted.end() > block.begin + block.bytes.size()) {
        continue;
      }
      last_end_ = wanted.end();
      return ReadResult{ReadResult::State::kFound,
                        block.bytes.Slice(static_cast<std::size_t>(wanted.begin - block.begin),
                                          static_cast<std::size_t>(wanted.size)),
                        info().size, info().generation};
    }
    return std::nullopt;
  }

  std::uint64_t Window(const ByteRange& wanted) {
    const std::lock_guard lock(mutex_);
    const bool follows =
        last_end_ > 0 && wanted.begin >= last_end_ && wanted.begin - last_end_ <= window_;
    window_ = follows ? std::min(2 * window_, options_.most) : options_.least;
    last_end_ = wanted.end();
    // Long reads are those of chunks, which are read once.
    return wanted.size > window_ ? 0 : window_;
  }

  void Keep(std::uint64_t begin, const Bytes& bytes) {
    const std::lock_guard lock(mutex_);
    blocks_.push_front({begin, bytes});
    kept_ += bytes.size();
    while (kept_ > options_.kept) {
      kept_ -= blocks_.back().bytes.size();
      blocks_.pop_back();
    }
  }

  const std::shared_ptr<ObjectVersion> version_;
  const ReadAheadOptions options_;
  std::mutex mutex_;
  // All guarded by mutex_.
  std::list<Block> blocks_;  // the latest first
  std::uint64_t kept_ = 0;   // bytes of blocks_
  std::uint64_t window_;
  std::uint64_t last_end_ = 0;
};

}  // namespace

std::shared_ptr<ObjectVersion> MakeRememberedVersion(std::shared_ptr<ObjectVersion> version,
                                                     const ReadAheadOptions& options) {
  return std::make_shared<RememberedVersion>(std::move(version), options);
}

}  // namespace unshard
