#include "store/object/read_through.h"

#include <unistd.h>

#include <cerrno>
#include <new>

namespace unshard {
namespace {

class ReadThrough final : public ObjectVersion {
 public:
  ReadThrough(const ObjectInfo& info, std::string described, ReadBytes read)
      : info_(info), described_(std::move(described)), read_(std::move(read)) {}

  const ObjectInfo& info() const override { return info_; }
  void StartRead(const RangeRequest& range, const Deadline&, ReadDone done) override {
    done(ReadNow(range));
  }

 private:
  Result<ReadResult> ReadNow(const RangeRequest& range) const {
    const ByteRange wanted = ClipRange(range, info_.size);
    UNSHARD_ASSIGN_OR_RETURN(ByteVector bytes, ReadRange(wanted, described_, read_));
    ReadResult result{ReadResult::State::kConditionFailed, {}, info_.size, info_.generation};
    if (bytes.size() == wanted.size) {
      result.state = ReadResult::State::kFound;
      result.value = Bytes(std::move(bytes));
    }
    return result;
  }

  const ObjectInfo info_;
  const std::string described_;
  const ReadBytes read_;
};

class InMemory final : public ObjectVersion {
 public:
  InMemory(const ObjectInfo& info, Bytes bytes) : info_(info), bytes_(std::move(bytes)) {}

  const ObjectInfo& info() const override { return info_; }
  void StartRead(const RangeRequest& range, const Deadline&, ReadDone done) override {
    const ByteRange part = ClipRange(range, bytes_.size());
    done(ReadResult{
        ReadResult::State::kFound,
        bytes_.Slice(static_cast<std::size_t>(part.begin), static_cast<std::size_t>(part.size)),
        info_.size, info_.generation});
  }

 private:
  const ObjectInfo info_;
  const Bytes bytes_;
};

}  // namespace

Result<std::size_t> ReadDescriptor(int descriptor, std::uint64_t at, std::span<std::uint8_t> to,
                                   const std::string& described) {
  std::size_t done = 0;
  while (done < to.size()) {
    const ssize_t size =
        ::pread(descriptor, to.data() + done, to.size() - done, static_cast<off_t>(at + done));
    if (size > 0) {
      done += static_cast<std::size_t>(size);
    } else if (size == 0) {
      break;
    } else if (errno != EINTR) {
      return FailErrno(errno, described + ": reading");
    }
  }
  return done;
}

Result<ByteVector> ReadRange(const ByteRange& range, const std::string& described,
                             const ReadBytes& read) {
  ByteVector bytes;
  try {
    if (range.size > bytes.max_size()) throw std::bad_alloc();
    bytes.resize(static_cast<std::size_t>(range.size));
  } catch (const std::bad_alloc&) {
    return Fail(ErrorCode::kResourceExhausted, described, ": out of memory for ", range.size,
                " bytes");
  }
  UNSHARD_ASSIGN_OR_RETURN(const std::size_t size, read(range.begin, bytes));
  bytes.resize(size);
  return bytes;
}

std::shared_ptr<ObjectVersion> MakeObjectOf(const ObjectInfo& info, std::string described,
                                            ReadBytes read) {
  return std::make_shared<ReadThrough>(info, std::move(described), std::move(read));
}

std::shared_ptr<ObjectVersion> MakeObjectOf(const ObjectInfo& info, Bytes bytes) {
  return std::make_shared<InMemory>(info, std::move(bytes));
}

}  // namespace unshard
