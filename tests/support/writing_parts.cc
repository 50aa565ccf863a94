#include "tests/support/writing_parts.h"

#include <algorithm>

#include "tests/support/sharded_source.h"

namespace unshard {
namespace {

const ShardedSource& SourceOf() {
  static const ShardedSource source = ZarrSource({8}, {1}, {4}, {ChunkKeyEncoding::Kind::kV2, '.'});
  return source;
}

std::string Text(const Result<ContentPtr>& content) {
  if (!content) return content.error().message;
  if (!*content) return "-";
  const auto bytes = ReadAll(**content, 1 << 20);
  return bytes ? std::string(AsText(bytes->span())) : bytes.error().message;
}

std::shared_ptr<DatasetTree> SearchedTree(const std::shared_ptr<ObjectStore>& store,
                                          const std::shared_ptr<CommittedVersions>& written) {
  DatasetTreeOptions options;
  options.written = written;
  options.shards.ttl_milliseconds = 0;
  const auto reader = std::make_shared<ChunkReader>(std::make_shared<ByteBudgetCache>(1 << 20),
                                                    1 << 20, std::make_shared<ReadCounters>());
  auto tree = std::make_shared<DatasetTree>(store, nullptr, std::make_shared<IndexCache>(1 << 20),
                                            reader, options);
  const Status found = tree->Discover();
  EXPECT_TRUE(found) << found.error().message;
  return tree;
}

}  // namespace

WritingParts::Parts::Parts(const WritingParts& test, std::unique_ptr<Spool> opened)
    : datasets(SearchedTree(test.store_, written)),
      spool(std::move(opened)),
      checks(written, test.limits_),
      current(written),
      versions(
          written, {spool},
          [this](const DirtyShard& shard, std::int64_t chunks, std::int64_t bytes, bool complete) {
            dirty.push_back({shard, chunks, bytes, complete});
          }),
      committer(spool, written, datasets->index(), checks, current, versions,
                ChunkCommitter::Replaced::kRead),
      attempts(std::make_shared<AttemptRecords>(test.replacer_)),
      publishing({test.replacer_,
                  datasets,
                  written,
                  &versions,
                  &current,
                  [this](const std::string& key) { renewed.push_back(key); },
                  test.limits_,
                  attempts,
                  test.strict_,
                  {},
                  test.remembered_}) {}

WritingParts::WritingParts() {
  memory_->Put("a/zarr.json", SourceOf().document);
  PutShard({{0, "a"}, {1, "b"}});
  std::string wrapped = SourceOf().document;
  wrapped.insert(wrapped.rfind("]}"), R"(,{"name":"gzip","configuration":{"level":1}})");
  memory_->Put("w/zarr.json", wrapped);
  memory_->Put("m/info",
               R"({"@type":"neuroglancer_multilod_draco","vertex_quantization_bits":10,)"
               R"("transform":[1,0,0,0,0,1,0,0,0,0,1,0],"lod_scale_multiplier":1,"sharding":)" +
                   ShardingText({}) + "}");
  Restart();
}

void WritingParts::Restart() {
  parts_.reset();
  disk_ = disk_->AfterKill();
  SpoolOptions options;
  options.source = "test";
  auto spool = Spool::Open(disk_, options);
  ASSERT_TRUE(spool) << spool.error().message;
  parts_ = std::make_unique<Parts>(*this, *std::move(spool));
}

void WritingParts::PutShard(const std::map<std::uint64_t, std::string>& chunks) {
  for (const auto& [key, bytes] : SourceOf().Encode(chunks)) memory_->Put("a/" + key, bytes);
}

ChunkInTree WritingParts::Chunk(const std::string& path) {
  auto found = FindChunk(*parts_->datasets, path.substr(0, 1), path.substr(2));
  EXPECT_TRUE(found) << path;
  return found.value_or(ChunkInTree{});
}

Result<std::shared_ptr<StagedFile>> WritingParts::Staged(std::string_view text) {
  UNSHARD_ASSIGN_OR_RETURN(const auto staged, parts_->spool->Stage());
  UNSHARD_RETURN_IF_ERROR(staged->Write(0, AsBytes(text)));
  return staged;
}

Result<WrittenVersionPtr> WritingParts::Commit(const std::string& path, std::string_view text) {
  const ChunkInTree chunk = Chunk(path);
  UNSHARD_ASSIGN_OR_RETURN(const auto staged, Staged(text));
  return parts_->committer.CommitBytes({chunk.tree, chunk.chunk}, *staged);
}

Result<WrittenVersionPtr> WritingParts::Remove(const std::string& path) {
  const ChunkInTree chunk = Chunk(path);
  return parts_->committer.CommitRemoval({chunk.tree, chunk.chunk});
}

DirtyShard WritingParts::ShardOf(const std::string& path) {
  const ChunkInTree chunk = Chunk(path);
  return ChunkId::Of(*chunk.tree, chunk.chunk).shard();
}

std::string WritingParts::Current(const std::string& path) {
  const ChunkInTree chunk = Chunk(path);
  return Text(parts_->current.Current(chunk.tree, chunk.chunk));
}

std::string WritingParts::Stored(const std::string& path) {
  const ChunkInTree chunk = Chunk(path);
  return Text(parts_->current.Stored(chunk.tree, chunk.chunk));
}

std::string WritingParts::FilesIn(const std::string& folder) const {
  std::vector<std::string> names;
  for (const std::string& path : disk_->Paths()) {
    const std::size_t slash = path.rfind('/');
    const auto chunk = ParseSealedName(path.substr(slash + 1));
    if (path.rfind(folder, 0) != 0 || !chunk) continue;
    names.push_back(path.substr(folder.size(), slash + 1 - folder.size()) + chunk->chunk);
  }
  std::sort(names.begin(), names.end());
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : " ") + name;
  return all;
}

}  // namespace unshard
