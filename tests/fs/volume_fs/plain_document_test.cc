// The plain document of a group, opened for writing request by request as the kernel does.
#include <cerrno>
#include <fstream>
#include <iterator>

#include "fs/common/request_failures.h"
#include "fs/mount/mount.h"
#include "store/object/error_number.h"
#include "tests/support/sharded_source.h"
#include "tests/support/temporary_directory.h"

namespace unshard {
namespace {

constexpr pid_t kElsewhere = 0;  // of all threads in other pid namespaces
constexpr const char* kGroup = R"({"zarr_format":3,"node_type":"group","attributes":{"a":1}})";
constexpr const char* kEdited = R"({"zarr_format":3,"node_type":"group","attributes":{"a":23}})";

// A group with one array, on a writable mount.
class PlainDocument : public testing::Test {
 protected:
  void SetUp() override {
    const ShardedSource array = ZarrSource({4}, {1}, {4}, {ChunkKeyEncoding::Kind::kV2, '.'});
    source_.Write("zarr.json", kGroup);
    source_.Write("image/zarr.json", array.document);
    options_.source = source_.path();
    options_.spool = spool_.path();
    options_.watch = WatchMode::kOff;
    auto fs = OpenVolume(options_, changes_);
    ASSERT_TRUE(fs) << fs.error().message;
    fs_ = *std::move(fs);
  }
  void TearDown() override { changes_.Close(); }

  NodeId Find() {
    const auto entry = fs_->Lookup(kRootNode, "zarr.json", kElsewhere);
    EXPECT_TRUE(entry) << entry.error().message;
    return entry ? entry->node : 0;
  }
  Result<OpenFilePtr> Open(NodeId node, pid_t thread, bool truncate) {
    return fs_->Open(node, {.write = true, .truncate = truncate, .thread = thread});
  }
  std::string Stored() {
    std::ifstream file(source_.At("zarr.json"));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void WriteAndClose(OpenFilePtr file, const std::string& text, pid_t thread) {
    const Status written = fs_->Write(*file, 0, AsBytes(text));
    ASSERT_TRUE(written) << written.error().message;
    const Status closed = fs_->Flush(*file, thread);
    EXPECT_TRUE(closed) << closed.error().message;
    fs_->Release(std::move(file));
  }

  TemporaryDirectory source_;
  TemporaryDirectory spool_;
  MountOptions options_;
  ChangeQueue changes_;
  std::unique_ptr<VolumeFs> fs_;
};

TEST_F(PlainDocument, IsWrittenFromAnotherPidNamespace) {
  for (const bool truncate : {true, false}) {
    auto file = Open(Find(), kElsewhere, truncate);
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ((*file)->page_use(), PageUse::kDirect) << "readers have pages of the same node";
    EXPECT_EQ(Stored(), truncate ? kGroup : kEdited) << "nothing is stored before the close";
    WriteAndClose(*std::move(file), kEdited, kElsewhere);
    EXPECT_EQ(Stored(), kEdited);
  }
}

TEST_F(PlainDocument, IsWrittenThroughADescriptorThatIsOpenedAgain) {
  const NodeId node = Find();
  ASSERT_FALSE(Open(node, 5, true)) << "the name is to be looked up once more";
  auto file = Open(node, 5, true);
  ASSERT_TRUE(file) << "there is no name: " << file.error().message;
  WriteAndClose(*std::move(file), kEdited, 5);
  EXPECT_EQ(Stored(), kEdited);
}

TEST_F(PlainDocument, KeepsItsAttributesWhileItsWriterGoesOn) {
  const NodeId node = Find();
  auto file = Open(node, kElsewhere, true);
  ASSERT_TRUE(file);
  ASSERT_TRUE(fs_->Write(**file, 0, AsBytes(std::string(kEdited))));
  ASSERT_TRUE(fs_->Sync(**file));
  EXPECT_EQ(Stored(), kEdited);
  const auto now = fs_->GetAttributes(node);
  ASSERT_TRUE(now) << now.error().message;
  EXPECT_EQ(now->attributes.size, std::string(kEdited).size());
  fs_->Release(*std::move(file));
  EXPECT_FALSE(fs_->GetAttributes(node)) << "the commit has stored another file";
}

TEST_F(PlainDocument, IsNotMixedWithWhatAnotherWriterHasNotCommitted) {
  auto first = Open(Find(), kElsewhere, true);
  ASSERT_TRUE(first);
  ASSERT_TRUE(fs_->Write(**first, 0, AsBytes("{")));
  const auto joined = Open(Find(), kElsewhere, false);
  ASSERT_FALSE(joined);
  EXPECT_EQ(ErrnoOf(joined.error()), EBUSY);
  auto second = Open(Find(), kElsewhere, true);
  ASSERT_TRUE(second) << "with O_TRUNC it begins a version of its own";
  WriteAndClose(*std::move(first), kGroup, kElsewhere);
  WriteAndClose(*std::move(second), kEdited, kElsewhere);
  EXPECT_EQ(Stored(), kEdited);
}

}  // namespace
}  // namespace unshard
