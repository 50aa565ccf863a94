// What is below a mount can be exchanged as a whole: a store in memory that replaces objects on
// conditions, as remote ones do, and a view whose chunks are computed from the stored ones.
#include <gtest/gtest.h>

#include <algorithm>

#include "fs/volume_fs.h"
#include "store/files/document_replacer.h"
#include "store/local/inotify_watcher.h"
#include "store/local/posix_file_system.h"
#include "store/object/error_number.h"
#include "store/volume/spool_folder.h"
#include "tests/support/memory_replacer.h"
#include "tests/support/memory_store.h"
#include "tests/support/sharded_source.h"
#include "tests/support/temporary_directory.h"

namespace unshard {
namespace {

// The chunks of another store, each byte negated.
class NegatedChunks final : public ChunkStore {
 public:
  explicit NegatedChunks(ChunkStore& stored) : stored_(stored) {}

  Result<ChunkGeneration> Current(const ChunkRef& chunk, const Deadline& deadline) override {
    return stored_.Current(chunk, deadline);
  }
  std::optional<ChunkGeneration> Find(const ChunkRef& chunk, std::uint32_t number) override {
    return stored_.Find(chunk, number);
  }
  void AddReference(const ChunkGeneration& generation) override {
    stored_.AddReference(generation);
  }
  void DropReferences(const ChunkRef& chunk, std::uint32_t number,
                      std::uint64_t references) override {
    stored_.DropReferences(chunk, number, references);
  }
  Result<std::optional<ChunkFacts>> Latest(const ChunkRef& chunk) override {
    return stored_.Latest(chunk);
  }
  Result<std::optional<ChunkFacts>> LatestIn(const ChunkRef& chunk,
                                             const ChunkGeneration& generation) override {
    return stored_.LatestIn(chunk, generation);
  }
  [[nodiscard]] bool SizeIsFree(const ChunkRef& chunk) const override {
    return stored_.SizeIsFree(chunk);
  }
  Result<std::optional<ChunkLocation>> Locate(const ChunkRef&, const ChunkGeneration&) override {
    return std::nullopt;
  }
  std::optional<ObjectRange> NextRead(const ChunkFacts&) override { return std::nullopt; }
  Result<FilePiece> Read(const ChunkRef& chunk, const ChunkGeneration& generation,
                         std::uint64_t offset, std::uint64_t size) override {
    UNSHARD_ASSIGN_OR_RETURN(const FilePiece piece, stored_.Read(chunk, generation, offset, size));
    ByteVector bytes;
    if (const auto* in_memory = std::get_if<Bytes>(&piece)) {
      bytes.assign(in_memory->span().begin(), in_memory->span().end());
    } else {
      const FileSlice& slice = std::get<FileSlice>(piece);
      bytes.resize(slice.range.size);
      UNSHARD_RETURN_IF_ERROR(ReadSlice(slice, bytes));
    }
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(~byte);
    return FilePiece(Bytes(std::move(bytes)));
  }
  Status ForEachPresent(const ChunkGeneration& generation, const ChunkVisitor& visitor) override {
    return stored_.ForEachPresent(generation, visitor);
  }
  ChunkChanges Invalidate(const std::string& key) override { return stored_.Invalidate(key); }

 private:
  ChunkStore& stored_;
};

// The names and listings of another tree.
class NegatedTree final : public ChunkTree {
 public:
  NegatedTree(std::uint32_t ordinal, std::shared_ptr<ShardedTree> stored)
      : ChunkTree(ordinal, stored->directory()),
        stored_(std::move(stored)),
        chunks_(stored_->chunks()) {}

  ChunkStore& chunks() override { return chunks_; }
  std::uint32_t layout_digest() const override { return stored_->layout_digest(); }
  const ChunkNames& names() const override { return stored_->names(); }
  ChunkRef RefOf(const ChunkFile& file) const override { return stored_->RefOf(file); }
  std::optional<ChunkFile> FileOf(const ChunkRef& chunk) const override {
    return stored_->FileOf(chunk);
  }
  std::string StoreDirectory(const GridDirectory& in) const override {
    return stored_->StoreDirectory(in);
  }
  bool IsStoreDirectory(const GridDirectory& in) const override {
    return stored_->IsStoreDirectory(in);
  }
  bool IsShardKey(std::string_view key) const override { return stored_->IsShardKey(key); }
  Status List(const GridDirectory& in, std::uint64_t cookie, ListMode mode,
              const ListVisitor& visitor, const DamageVisitor& damaged,
              const std::vector<GridDirectory>& others) override {
    return stored_->List(in, cookie, mode, visitor, damaged, others);
  }
  Result<std::optional<timespec>> Modified(const GridDirectory& in) override {
    return stored_->Modified(in);
  }
  std::optional<std::uint64_t> Position(const ChunkRef& chunk) const override {
    return stored_->Position(chunk);
  }
  std::optional<std::uint64_t> Position(const GridDirectory& directory) const override {
    return stored_->Position(directory);
  }
  Match AtPosition(std::uint64_t position) const override { return stored_->AtPosition(position); }

 protected:
  const ChunkCheck& check() const override { return *check_; }

 private:
  const std::shared_ptr<ShardedTree> stored_;
  NegatedChunks chunks_;
  const std::shared_ptr<const ChunkCheck> check_ = MakeNotEmptyCheck();
};

class NegatedView final : public View {
 public:
  [[nodiscard]] std::string_view name() const override { return "negated"; }
  [[nodiscard]] Result<Presentation> Present(const StoredDataset& dataset,
                                             const TreeParts& parts) const override {
    Presentation shown;
    shown.documents.push_back({dataset.path, dataset.document, dataset.unsharded_text});
    for (const auto& stored : dataset.arrays) {
      shown.chunks.push_back({std::make_shared<NegatedTree>(parts.ordinal(), stored), stored});
    }
    return shown;
  }
};

class Seams : public testing::Test {
 protected:
  static constexpr std::size_t kCache = std::size_t{1} << 24;

  Seams() : store_(std::make_shared<MemoryStore>(Capabilities{.keeps_replaced_versions = false})) {}

  void SetUp() override {
    const ShardedSource array = ZarrSource({4}, {1}, {4}, {ChunkKeyEncoding::Kind::kV2, '.'});
    store_->Put("a/zarr.json", array.document);
    // Passthrough files and documents of a writable mount are those of a file system.
    local_.Write("a/zarr.json", array.document);
    for (const auto& [key, bytes] : array.Encode({{0, "a"}, {1, "b"}})) {
      store_->Put("a/" + key, bytes);
    }
  }

  void Mount(const View& view, bool writable) {
    MountOptions options;
    options.spool = spool_.path();
    options.source = local_.path();
    options.publish_after_milliseconds = 600'000;
    options.read_only = !writable;
    options.ttl_milliseconds = 0;
    VolumeParts parts;
    parts.store = store_;
    parts.watcher = std::make_shared<WatchMonitor>(MakeNullWatcher());
    parts.indexes = std::make_shared<IndexCache>(kCache);
    parts.decoded = std::make_shared<ByteBudgetCache>(kCache);
    parts.reader = std::make_shared<ChunkReader>(parts.decoded, kCache, parts.reads);
    DatasetTreeOptions tree;
    tree.view = &view;
    tree.shards.ttl_milliseconds = 0;
    if (writable) {
      parts.replacer = std::make_shared<MemoryReplacer>(store_);
      parts.object_files =
          std::make_shared<ObjectFiles>(store_, parts.replacer, std::chrono::milliseconds(0));
      parts.files = parts.object_files;
      parts.documents = std::make_shared<DocumentReplacer>(parts.object_files);
      parts.store = parts.object_files->over();
      parts.written = std::make_shared<CommittedVersions>();
      tree.written = parts.written;
    }
    parts.datasets = std::make_shared<DatasetTree>(parts.store, parts.watcher, parts.indexes,
                                                   parts.reader, tree);
    const Status found = parts.datasets->Discover();
    ASSERT_TRUE(found) << found.error().message;
    auto volume = std::make_unique<Volume>(std::move(parts), options);
    if (writable) {
      auto spools = OpenSpools(options);
      ASSERT_TRUE(spools) << spools.error().message;
      volume->StartWriting(*std::move(spools), nullptr);
    }
    fs_ = std::make_unique<VolumeFs>(std::move(volume), options);
    if (!writable) return;
    VolumeFs::Writing writing;
    writing.drop_entry = [](NodeId, const std::string&) {};
    writing.await_drop = [](NodeId, const std::string&) {};
    writing.revalidate = [](const std::string&) {};
    fs_->StartWriting(std::move(writing));
  }

  NodeId Find(const std::string& name) {
    const auto directory = fs_->Lookup(kRootNode, "a");
    if (!directory || directory->node == 0) return 0;
    const auto entry = fs_->Lookup(directory->node, name);
    EXPECT_TRUE(entry) << entry.error().message;
    return entry ? entry->node : 0;
  }

  std::string Text(const std::string& name) {
    const NodeId node = Find(name);
    if (node == 0) return "ENOENT";
    auto file = fs_->Open(node, {});
    if (!file) return file.error().message;
    const auto piece = (*file)->Read(0, 100);
    std::string text = piece ? "" : piece.error().message;
    if (piece && std::holds_alternative<Bytes>(*piece)) {
      text = std::string(AsText(std::get<Bytes>(*piece).span()));
    } else if (piece) {
      ByteVector bytes(std::get<FileSlice>(*piece).range.size);
      EXPECT_TRUE(ReadSlice(std::get<FileSlice>(*piece), bytes));
      text.assign(bytes.begin(), bytes.end());
    }
    fs_->Release(*std::move(file));
    return text;
  }

  std::vector<std::string> Names() {
    std::vector<std::string> names;
    const auto directory = fs_->Lookup(kRootNode, "a");
    EXPECT_TRUE(fs_->ReadDirectory(directory->node, 0, false, [&](const DirectoryName& name) {
      if (name.name != "." && name.name != "..") names.emplace_back(name.name);
      return true;
    }));
    std::sort(names.begin(), names.end());
    return names;
  }

  void Put(const std::string& name, const std::string& text) {
    const auto directory = fs_->Lookup(kRootNode, "a");
    auto created = fs_->Create(directory->node, name, {.write = true, .truncate = true});
    ASSERT_TRUE(created) << created.error().message;
    ASSERT_TRUE(fs_->Write(*created->file, 0, AsBytes(text)));
    const Status closed = fs_->Flush(*created->file, 0);
    ASSERT_TRUE(closed) << closed.error().message;
    fs_->Release(std::move(created->file));
  }

  std::shared_ptr<MemoryStore> store_;
  TemporaryDirectory local_;
  TemporaryDirectory spool_;
  std::unique_ptr<VolumeFs> fs_;
};

TEST_F(Seams, AStoreInMemoryIsListedReadWrittenAndPublished) {
  Mount(NativeView(), true);
  EXPECT_EQ(Names(), (std::vector<std::string>{"0", "1", "zarr.json"}));
  EXPECT_EQ(Text("1"), "b");
  Put("2", "c");
  Put("0", "A");
  EXPECT_EQ(Text("2"), "c");
  EXPECT_EQ(Names(), (std::vector<std::string>{"0", "1", "2", "zarr.json"}));
  const Status flushed = fs_->FlushAll();
  ASSERT_TRUE(flushed) << flushed.error().message;
  EXPECT_EQ(fs_->write_status()->publishes, 1U);
  EXPECT_EQ(Text("0"), "A");
  // Another mount, which finds nothing in a spool.
  Mount(NativeView(), false);
  EXPECT_EQ(Text("0") + Text("1") + Text("2"), "Abc");
  EXPECT_EQ(Text("3"), "ENOENT");
}

TEST_F(Seams, FilesBesideTheDataAreStagedAndPutWhole) {
  Mount(NativeView(), true);
  auto created = fs_->Create(kRootNode, "notes.txt", {.write = true, .truncate = true});
  ASSERT_TRUE(created) << created.error().message;
  ASSERT_TRUE(fs_->Write(*created->file, 0, AsBytes("one")));
  ASSERT_TRUE(fs_->Write(*created->file, OpenFile::kAppend, AsBytes(" two")));
  ASSERT_TRUE(fs_->Flush(*created->file, 0));
  fs_->Release(std::move(created->file));
  ASSERT_TRUE(fs_->Rename(kRootNode, "notes.txt", kRootNode, "renamed.txt", true));
  const auto gone = fs_->Lookup(kRootNode, "notes.txt");
  ASSERT_TRUE(gone);
  EXPECT_EQ(gone->node, 0U);
  const auto entry = fs_->Lookup(kRootNode, "renamed.txt");
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->attributes.size, 7U);
  EXPECT_EQ(entry->node, created->entry.node) << "the kernel's inode goes with it";
  const auto linked = fs_->Link(entry->node, kRootNode, "linked");
  ASSERT_TRUE(linked) << linked.error().message;
  AttributeChange shorter;
  shorter.size = 3;
  ASSERT_TRUE(fs_->SetAttributes(entry->node, nullptr, shorter, 0));
  const auto directory = fs_->MakeDirectory(kRootNode, "folder", 0777);
  ASSERT_TRUE(directory) << directory.error().message;
  EXPECT_EQ(fs_->write_status()->dirty_chunks, 2U);
  const Status flushed = fs_->FlushAll();
  ASSERT_TRUE(flushed) << flushed.error().message;
  const auto stored = ReadWhole(*store_, "renamed.txt", 100, Deadline::None());
  ASSERT_TRUE(stored && *stored);
  EXPECT_EQ((*stored)->text, "one");
  const auto copied = ReadWhole(*store_, "linked", 100, Deadline::None());
  ASSERT_TRUE(copied && *copied);
  EXPECT_EQ((*copied)->text, "one two") << "a link is a copy";
  const auto never = ReadWhole(*store_, "notes.txt", 100, Deadline::None());
  ASSERT_TRUE(never);
  EXPECT_FALSE(*never);
  ASSERT_TRUE(fs_->Remove(kRootNode, "renamed.txt"));
  ASSERT_TRUE(fs_->RemoveDirectory(kRootNode, "folder"));
  ASSERT_TRUE(fs_->FlushAll());
  const auto removed = ReadWhole(*store_, "renamed.txt", 100, Deadline::None());
  ASSERT_TRUE(removed);
  EXPECT_FALSE(*removed);
}

TEST_F(Seams, AViewPresentsChunksThatAreComputedFromTheStoredOnes) {
  Mount(NegatedView(), false);
  EXPECT_EQ(Names(), (std::vector<std::string>{"0", "1", "zarr.json"}));
  EXPECT_EQ(Text("0"), std::string(1, static_cast<char>(~'a')));
  EXPECT_EQ(Text("1"), std::string(1, static_cast<char>(~'b')));
  EXPECT_EQ(Text("2"), "ENOENT");
}

TEST_F(Seams, ChunksThatAreComputedAreNotWritten) {
  Mount(NegatedView(), true);
  EXPECT_EQ(Text("0"), std::string(1, static_cast<char>(~'a')));
  const auto directory = fs_->Lookup(kRootNode, "a");
  const auto created = fs_->Create(directory->node, "2", {.write = true, .truncate = true});
  ASSERT_FALSE(created);
  EXPECT_EQ(ErrnoOf(created.error()), EROFS);
  const auto opened = fs_->Open(Find("0"), {.write = true, .truncate = true});
  ASSERT_FALSE(opened);
  EXPECT_EQ(ErrnoOf(opened.error()), EROFS);
}

}  // namespace
}  // namespace unshard
