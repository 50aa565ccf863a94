#include "codec/shard/single_chunk.h"

#include <utility>

#include "codec/codecs/file_suffixes.h"

namespace unshard {
namespace {

class SingleChunkWalk final : public IndexWalk {
 public:
  RangeRequest Start() override { return RangeRequest::At(0, 0); }
  Result<IndexStep> Feed(ByteSpan, std::uint64_t object_size) override {
    return IndexPage(std::vector<IndexEntry>{{0, {0, object_size}}});
  }
};

class SingleChunkAssembly final : public ShardAssembly {
 public:
  explicit SingleChunkAssembly(std::size_t chunks) : chunks_(chunks) {}
  Result<AssemblyStep> Next(const PutChunk& put) override {
    size_ += put.stored;
    if (chunks_ > 1) return Fail(ErrorCode::kInternal, "an object of one chunk is given several");
    AssemblyStep step;
    if (begun_ || chunks_ == 0) {
      step.at = size_;
      return step;
    }
    begun_ = true;
    step.kind = AssemblyStep::Kind::kChunk;
    return step;
  }

 private:
  const std::size_t chunks_;
  bool begun_ = false;
  std::uint64_t size_ = 0;
};

class SingleChunkFormat : public ShardFormat {
 public:
  std::unique_ptr<IndexWalk> Walk(std::uint64_t, std::uint64_t, std::uint64_t) const override {
    return std::make_unique<SingleChunkWalk>();
  }
  RangeRequest opening_range() const override { return RangeRequest::At(0, 0); }
  std::uint64_t page_count() const override { return 1; }
  bool stored_is_plain() const override { return true; }
  Result<Bytes> DecodeEntry(Bytes stored, std::uint64_t) const override { return stored; }
  Status CanWrite() const override { return {}; }
  std::uint64_t fixed_index_bytes() const override { return 0; }
  std::unique_ptr<ShardAssembly> Assemble(std::uint64_t,
                                          std::vector<AssembledChunk> chunks) const override {
    return std::make_unique<SingleChunkAssembly>(chunks.size());
  }
  std::unique_ptr<ShardAssembly> Append(std::uint64_t, std::vector<AssembledChunk>,
                                        std::vector<std::uint64_t>, std::uint64_t) const override {
    return nullptr;
  }
  Result<Bytes> EncodeEntry(Bytes plain) const override { return plain; }
  Result<Bytes> EncodeShard(Bytes body, std::uint64_t) const override { return body; }
};

class CompressedChunkFormat final : public SingleChunkFormat {
 public:
  explicit CompressedChunkFormat(std::string_view suffix) : codec_(CodecOfSuffix(suffix)) {}

  Status CanWrite() const override { return codec_->CanEncode(); }
  bool has_outer_codecs() const override { return true; }
  Result<Bytes> DecodeShard(Bytes stored, std::uint64_t max_bytes) const override {
    UNSHARD_ASSIGN_OR_RETURN(ByteVector plain, codec_->Decode(stored.span(), max_bytes));
    return Bytes(std::move(plain));
  }
  Result<Bytes> EncodeShard(Bytes body, std::uint64_t) const override {
    UNSHARD_ASSIGN_OR_RETURN(ByteVector stored, codec_->Encode(body.span()));
    return Bytes(std::move(stored));
  }

 private:
  const BytesCodecPtr codec_;
};

class SingleChunkLocator final : public ChunkLocator {
 public:
  explicit SingleChunkLocator(const ChunkGrid& grid) : grid_(grid) {}

  ShardSlot Locate(std::span<const std::uint64_t> cell) const override {
    return {LinearIndex(grid_.grid_shape(), cell), 0, 0};
  }
  bool CellAt(const ShardSlot& slot, std::span<std::uint64_t> cell) const override {
    if (slot.shard >= grid_.cell_count() || slot.page != 0 || slot.slot != 0) return false;
    CellOfLinearIndex(grid_.grid_shape(), slot.shard, cell);
    return true;
  }

 private:
  const ChunkGrid grid_;
};

}  // namespace

std::shared_ptr<const ShardFormat> MakeSingleChunkFormat() {
  static const auto format = std::make_shared<const SingleChunkFormat>();
  return format;
}

std::shared_ptr<const ShardFormat> MakeCompressedChunkFormat(std::string_view suffix) {
  return std::make_shared<const CompressedChunkFormat>(suffix);
}

std::shared_ptr<const ChunkLocator> MakeSingleChunkLocator(const ChunkGrid& grid) {
  return std::make_shared<SingleChunkLocator>(grid);
}

}  // namespace unshard
