#include "store/object/gzipped_objects.h"

#include <utility>

#include "codec/compression/gzip.h"

namespace unshard {
namespace {

constexpr std::string_view kSuffix = ".gz";

// One version of a compressed object, inflated.
class InflatedVersion final : public ObjectVersion {
 public:
  InflatedVersion(ObjectInfo info, Bytes bytes) : info_(std::move(info)), bytes_(std::move(bytes)) {
    info_.size = bytes_.size();
  }

  const ObjectInfo& info() const override { return info_; }
  void StartRead(const RangeRequest& range, const Deadline&, ReadDone done) override {
    ReadResult result;
    result.value = Read(range);
    result.object_size = info_.size;
    result.generation = info_.generation;
    done(std::move(result));
  }
  Bytes Read(const RangeRequest& range) const {
    const ByteRange clipped = ClipRange(range, info_.size);
    return bytes_.Slice(clipped.begin, clipped.size);
  }

 private:
  ObjectInfo info_;
  const Bytes bytes_;
};

}  // namespace

std::string_view WithoutGzipSuffix(std::string_view name) {
  if (name.ends_with(kSuffix)) name.remove_suffix(kSuffix.size());
  return name;
}

Result<bool> GzippedObjects::IsCompressed(std::string_view key, const Deadline& deadline) {
  UNSHARD_ASSIGN_OR_RETURN(const auto plain, below_->Stat(key, deadline));
  if (plain) return false;
  UNSHARD_ASSIGN_OR_RETURN(const auto compressed,
                           below_->Stat(std::string(key) + std::string(kSuffix), deadline));
  return compressed.has_value();
}

Result<ObjectStore::Opened> GzippedObjects::Open(std::string_view key, const RangeRequest& first,
                                                 const Deadline& deadline) {
  UNSHARD_ASSIGN_OR_RETURN(Opened plain, below_->Open(key, first, deadline));
  if (plain.version) return plain;
  const std::string compressed = std::string(key) + std::string(kSuffix);
  UNSHARD_ASSIGN_OR_RETURN(const auto object, ReadWhole(*below_, compressed, max_bytes_, deadline));
  if (!object) return Opened{};
  auto inflated = GzipDecode(AsBytes(object->text), max_bytes_);
  if (!inflated) return Forward(std::move(inflated).error(), below_->Describe(compressed));
  const auto version = std::make_shared<InflatedVersion>(object->info, Bytes(*std::move(inflated)));
  return Opened{version, version->Read(first)};
}

Result<std::optional<ObjectInfo>> GzippedObjects::Stat(std::string_view key,
                                                       const Deadline& deadline) {
  UNSHARD_ASSIGN_OR_RETURN(auto plain, below_->Stat(key, deadline));
  if (plain) return plain;
  UNSHARD_ASSIGN_OR_RETURN(const Opened opened, Open(key, RangeRequest::At(0, 0), deadline));
  if (!opened.version) return std::nullopt;
  return opened.version->info();
}

Status GzippedObjects::List(std::string_view key, const Deadline& deadline,
                            const ListVisitor& visitor) {
  return below_->List(key, deadline, [&](const ListEntry& entry) {
    ListEntry shown = entry;
    if (entry.kind == ObjectInfo::Kind::kFile) shown.name = WithoutGzipSuffix(entry.name);
    return visitor(shown);
  });
}

}  // namespace unshard
