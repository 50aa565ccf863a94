// Reading through a shard set: index pages and stored bytes of one generation.
#include <functional>

#include "store/shard/set.h"

namespace unshard {
namespace {

// Where the decoded object of a wrapped format stands among the pages of its generation.
constexpr std::uint64_t kDecodedObject = ~std::uint64_t{0};
// No format asks this often; one that would never end must not hang a thread.
constexpr int kMaxRequests = 256;

}  // namespace

Result<std::shared_ptr<const IndexPage>> ShardSet::Page(const ShardGenerationPtr& generation,
                                                        std::uint64_t page) {
  static const auto empty = std::make_shared<const IndexPage>();
  if (!generation->object) return empty;
  if (page == kDecodedObject && format_->is_wrapped()) {
    return Fail(ErrorCode::kInvalidArgument, generation->key + ": no such index page");
  }
  // Passed by reference, so that the loader needs no memory of its own where the page is cached.
  const auto walk = [&]() -> Result<IndexCache::Loaded> {
    UNSHARD_ASSIGN_OR_RETURN(IndexPage loaded, Walk(*generation, page));
    auto shared = std::make_shared<const IndexPage>(std::move(loaded));
    const std::uint64_t bytes = shared->memory_bytes();
    return IndexCache::Loaded{std::move(shared), bytes};
  };
  UNSHARD_ASSIGN_OR_RETURN(IndexCache::Value value,
                           cache_->Get({cache_owner_, generation->shard, generation->serial, page},
                                       CallerDeadline(), std::ref(walk)));
  return std::static_pointer_cast<const IndexPage>(std::move(value));
}

Result<IndexPage> ShardSet::Walk(const ShardGeneration& generation, std::uint64_t page) {
  const std::unique_ptr<IndexWalk> walk =
      format_->Walk(generation.shard, page, options_.max_index_bytes);
  RangeRequest request = walk->Start();
  for (int i = 0; i < kMaxRequests; ++i) {
    if (request.size > options_.max_index_bytes) {
      return Fail(ErrorCode::kResourceExhausted,
                  store_->Describe(generation.key) + ": an index of " +
                      std::to_string(request.size) + " bytes is above the cap of " +
                      std::to_string(options_.max_index_bytes));
    }
    index_reads_.fetch_add(1, std::memory_order_relaxed);
    UNSHARD_ASSIGN_OR_RETURN(const ReadResult read, ReadObject(generation, request));
    auto step = walk->Feed(read.value.span(), read.object_size);
    if (!step) return Forward(std::move(step).error(), store_->Describe(generation.key));
    if (auto* loaded = std::get_if<IndexPage>(&*step)) return std::move(*loaded);
    request = std::get<RangeRequest>(*step);
  }
  return Fail(ErrorCode::kDataLoss,
              store_->Describe(generation.key) + ": its index is nested without end");
}

// Reads the object that index ranges refer to. Always kFound.
Result<ReadResult> ShardSet::ReadObject(const ShardGeneration& generation,
                                        const RangeRequest& range) {
  if (format_->is_wrapped()) {
    UNSHARD_ASSIGN_OR_RETURN(const Bytes decoded, DecodedObject(generation));
    const ByteRange part = ClipRange(range, decoded.size());
    return ReadResult{
        ReadResult::State::kFound,
        decoded.Slice(static_cast<std::size_t>(part.begin), static_cast<std::size_t>(part.size)),
        decoded.size(), generation.object->info().generation};
  }
  UNSHARD_ASSIGN_OR_RETURN(ReadResult read, generation.object->Read(range));
  if (read.state == ReadResult::State::kFound) return read;
  MarkStale(generation);
  return Fail(ErrorCode::kConflict,
              store_->Describe(generation.key) + ": changed while it was read");
}

Result<Bytes> ShardSet::DecodedObject(const ShardGeneration& generation) {
  const auto decode = [&]() -> Result<IndexCache::Loaded> {
    const std::uint64_t size = generation.object->info().size;
    if (size > options_.max_wrapped_bytes) {
      return Fail(ErrorCode::kResourceExhausted,
                  store_->Describe(generation.key) +
                      ": is compressed as a whole and above the cap of " +
                      std::to_string(options_.max_wrapped_bytes) + " bytes");
    }
    UNSHARD_ASSIGN_OR_RETURN(ReadResult read, generation.object->Read(RangeRequest::At(0, size)));
    if (read.state != ReadResult::State::kFound) {
      MarkStale(generation);
      return Fail(ErrorCode::kConflict,
                  store_->Describe(generation.key) + ": changed while it was read");
    }
    auto decoded = format_->DecodeShard(std::move(read.value), options_.max_wrapped_bytes);
    if (!decoded) return Forward(std::move(decoded).error(), store_->Describe(generation.key));
    auto shared = std::make_shared<const Bytes>(*std::move(decoded));
    const std::uint64_t bytes = shared->size();
    return IndexCache::Loaded{std::move(shared), bytes};
  };
  UNSHARD_ASSIGN_OR_RETURN(
      const IndexCache::Value value,
      cache_->Get({cache_owner_, generation.shard, generation.serial, kDecodedObject},
                  CallerDeadline(), std::ref(decode)));
  return *std::static_pointer_cast<const Bytes>(value);
}

Result<std::uint64_t> ShardSet::DecodedSize(const ShardGenerationPtr& generation) {
  if (!format_->is_wrapped()) return generation->object->info().size;
  UNSHARD_ASSIGN_OR_RETURN(const Bytes decoded, DecodedObject(*generation));
  return decoded.size();
}

Result<Bytes> ShardSet::ReadStored(const ShardGenerationPtr& generation, const ByteRange& range) {
  if (!generation->object) {
    return Fail(ErrorCode::kNotFound, store_->Describe(generation->key) + ": expected a shard");
  }
  const auto beyond = [&] {
    return Fail(ErrorCode::kDataLoss,
                store_->Describe(generation->key) + ": an index entry reaches beyond the end");
  };
  if (range == kDamagedRange) return beyond();
  if (!format_->is_wrapped() &&
      !MakeByteRange(range.begin, range.size, generation->object->info().size)) {
    return beyond();
  }
  UNSHARD_ASSIGN_OR_RETURN(ReadResult read,
                           ReadObject(*generation, RangeRequest::At(range.begin, range.size)));
  if (!MakeByteRange(range.begin, range.size, read.object_size) ||
      read.value.size() != range.size) {
    return beyond();
  }
  return std::move(read.value);
}

std::optional<FileSlice> ShardSet::SliceStored(const ShardGenerationPtr& generation,
                                               const ByteRange& range) {
  if (!generation->object || format_->is_wrapped()) return std::nullopt;
  return generation->object->Slice(range);
}

}  // namespace unshard
