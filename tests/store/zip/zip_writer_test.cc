// Archives that are written are read again, also where there are many entries.
#include "store/zip/zip_writer.h"

#include <gtest/gtest.h>

#include "store/local/memory_file.h"
#include "store/zip/zip_store.h"
#include "tests/support/memory_store.h"

namespace unshard {
namespace {

constexpr std::uint64_t kMost = std::uint64_t{1} << 30;

// Fails its reads after `size` bytes, which its status does not say.
class ShrunkFile final : public File {
 public:
  explicit ShrunkFile(std::uint64_t size) : size_(size) {}
  Result<std::size_t> Read(std::uint64_t offset, std::span<std::uint8_t> to) override {
    return offset >= size_ ? 0 : std::min<std::uint64_t>(to.size(), size_ - offset);
  }
  Result<FileStatus> Stat() override {
    FileStatus status;
    status.size = size_ + 1;
    return status;
  }
  Status Write(std::uint64_t, ByteSpan) override { return {}; }
  Status Append(ByteSpan) override { return {}; }
  Status CopyFrom(File&, const ByteRange&, std::uint64_t) override { return {}; }
  Result<bool> CloneFrom(File&) override { return false; }
  Status Truncate(std::uint64_t) override { return {}; }
  Status SetModified(const timespec&) override { return {}; }
  Status SetMode(std::uint32_t) override { return {}; }
  Status TakeAttributesOf(File&) override { return {}; }
  Status Sync() override { return {}; }
  Result<bool> Lock(bool) override { return true; }
  [[nodiscard]] int descriptor() const override { return -1; }

 private:
  const std::uint64_t size_;
};

Status Add(ZipWriter& writer, const std::string& name, std::string_view text) {
  MemoryFile source("source", kMost);
  UNSHARD_RETURN_IF_ERROR(source.Write(0, AsBytes(text)));
  return writer.Add(name, source);
}

std::shared_ptr<ZipStore> Opened(MemoryFile& archive) {
  const auto memory = std::make_shared<MemoryStore>();
  const Bytes bytes = archive.Take();
  memory->Put("a.zip", AsText(bytes.span()));
  return std::make_shared<ZipStore>(memory, "a.zip", "", ZipStoreOptions{});
}

std::string TextOf(ZipStore& store, const std::string& key) {
  const auto whole = ReadWhole(store, key, kMost, Deadline::None());
  return whole && *whole ? (*whole)->text : "";
}

TEST(ZipWriterTest, FilesOfAnySizeAreReadAgain) {
  const auto archive = std::make_shared<MemoryFile>("archive", kMost);
  ZipWriter writer(archive);
  std::map<std::string, std::string> files;
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, kPiece - 1, kPiece, kPiece + 1,
                                 3 * kPiece, 3 * kPiece + 7}) {
    std::string text(size, 'a');
    for (std::size_t i = 0; i < size; i += 1000) text[i] = static_cast<char>('b' + i % 20);
    files["d/" + std::to_string(size)] = text;
  }
  for (const auto& [name, text] : files) ASSERT_TRUE(Add(writer, name, text));
  ASSERT_TRUE(writer.Finish("of the archive"));
  EXPECT_EQ(writer.entries(), files.size());
  EXPECT_EQ(writer.bytes(), archive->Stat()->size);
  const auto store = Opened(*archive);
  for (const auto& [name, text] : files) EXPECT_TRUE(TextOf(*store, name) == text) << name;
  EXPECT_EQ((*store->Current(Deadline::None()))->comment(), "of the archive");
}

TEST(ZipWriterTest, MoreEntriesThan16BitsCountAreReadAgain) {
  const auto archive = std::make_shared<MemoryFile>("archive", kMost);
  ZipWriter writer(archive);
  constexpr int kEntries = 0x10002;
  for (int i = 0; i < kEntries; ++i) {
    const std::string name = std::to_string(i);
    ASSERT_TRUE(Add(writer, name, name));
  }
  ASSERT_TRUE(writer.Finish(""));
  const auto store = Opened(*archive);
  EXPECT_EQ((*store->Current(Deadline::None()))->directory().size(), std::size_t{kEntries});
  for (const char* name : {"0", "65535", "65537"}) EXPECT_EQ(TextOf(*store, name), name);
}

TEST(ZipWriterTest, AFileThatBecomesShorterAndANameThatIsTooLongEndThePacking) {
  for (const std::uint64_t size : {std::uint64_t{10}, std::uint64_t{3} << 20}) {
    ZipWriter writer(std::make_shared<MemoryFile>("archive", kMost));
    ShrunkFile shrunk(size);
    const Status added = writer.Add("name", shrunk);
    ASSERT_FALSE(added);
    EXPECT_EQ(added.error().code, ErrorCode::kConflict);
    EXPECT_NE(added.error().message.find("name: became shorter"), std::string::npos);
    EXPECT_TRUE(Add(writer, std::string(0xFFFF, 'x'), "text"));
    EXPECT_FALSE(Add(writer, std::string(0x10000, 'x'), "text"));
  }
}

}  // namespace
}  // namespace unshard
