#include "tests/support/replaceable_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <utility>

#include "store/gcs/gcs_store.h"
#include "store/local/file_object.h"
#include "store/local/local_replacer.h"
#include "store/local/posix_file_system.h"
#include "store/object/key.h"
#include "store/s3/s3_store.h"
#include "tests/support/fake_gcs.h"
#include "tests/support/s3_server.h"
#include "tests/support/simulated_disk.h"

namespace unshard {
namespace {

class FilesOfTest final : public ReplaceableStore {
 public:
  explicit FilesOfTest(std::shared_ptr<FileSystem> files) : files_(std::move(files)) {}

  std::shared_ptr<ObjectReplacer> Replacer(const LockTimeouts& timeouts) override {
    return MakeLocalReplacer(files_, timeouts);
  }
  std::optional<std::string> Text(const std::string& key) override {
    const auto file = files_->Open(key, {});
    if (!file || !*file) return std::nullopt;
    std::string text((*file)->Stat()->size, ' ');
    EXPECT_TRUE((*file)->Read(0, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()}));
    return text;
  }
  std::optional<ObjectInfo> Info(const std::string& key) override {
    const auto status = files_->Stat(key);
    if (!status || !*status) return std::nullopt;
    return InfoOf(**status);
  }
  void Put(const std::string& key, std::string_view text) override {
    const std::string part = key + ".part";
    ASSERT_TRUE(MakeDirectories(*files_, ParentPath(key)));
    const auto file = files_->Open(part, {.write = true, .create = true, .truncate = true});
    ASSERT_TRUE(file) << file.error().message;
    ASSERT_TRUE((*file)->Write(0, AsBytes(text)));
    ASSERT_TRUE(files_->Rename(part, key));
  }
  void Remove(const std::string& key) override { ASSERT_TRUE(files_->Remove(key)); }
  std::vector<std::string> Names(const std::string& directory) override {
    return *SortedNames(*files_, directory);
  }
  std::shared_ptr<FileSystem> files() const override { return files_; }

 private:
  const std::shared_ptr<FileSystem> files_;
};

class MemoryOfTest final : public ReplaceableStore {
 public:
  explicit MemoryOfTest(bool starts_from_base)
      : replacer_(std::make_shared<MemoryReplacer>(store_, starts_from_base)) {}

  std::shared_ptr<ObjectReplacer> Replacer(const LockTimeouts&) override { return replacer_; }
  std::optional<std::string> Text(const std::string& key) override {
    const auto whole = ReadWhole(*store_, key, std::uint64_t{1} << 30, Deadline::None());
    if (!whole || !*whole) return std::nullopt;
    return (*whole)->text;
  }
  std::optional<ObjectInfo> Info(const std::string& key) override {
    return store_->Stat(key, Deadline::None()).value_or(std::nullopt);
  }
  void Put(const std::string& key, std::string_view text) override { store_->Put(key, text); }
  void Remove(const std::string& key) override { store_->Remove(key); }
  std::vector<std::string> Names(const std::string& directory) override {
    std::vector<std::string> names;
    EXPECT_TRUE(store_->List(directory, Deadline::None(), [&](const ListEntry& entry) {
      names.emplace_back(entry.name);
      return true;
    }));
    return names;
  }
  MemoryReplacer* memory() override { return replacer_.get(); }

 private:
  const std::shared_ptr<MemoryStore> store_ = std::make_shared<MemoryStore>();
  const std::shared_ptr<MemoryReplacer> replacer_;
};

RemoteOptions QuickOptions() {
  RemoteOptions options;
  options.least_delay = std::chrono::milliseconds(1);
  return options;
}

// A store over a network, whose server all tests of the process share: each has a directory of its
// own there.
class RemoteOfTest final : public ReplaceableStore {
 public:
  using PutObject = std::function<void(const std::string& key, std::string_view text)>;
  using RemoveObject = std::function<void(const std::string& key)>;

  RemoteOfTest(std::shared_ptr<ObjectStore> objects, std::shared_ptr<ObjectReplacer> replacer,
               std::string directory, PutObject put, RemoveObject remove)
      : objects_(std::move(objects)),
        replacer_(std::move(replacer)),
        directory_(std::move(directory)),
        put_(std::move(put)),
        remove_(std::move(remove)) {}

  std::shared_ptr<ObjectReplacer> Replacer(const LockTimeouts&) override { return replacer_; }
  std::optional<std::string> Text(const std::string& key) override {
    const auto whole = ReadWhole(*objects_, key, std::uint64_t{1} << 30, Deadline::None());
    EXPECT_TRUE(whole) << whole.error().message;
    if (!whole || !*whole) return std::nullopt;
    return (*whole)->text;
  }
  std::optional<ObjectInfo> Info(const std::string& key) override {
    return objects_->Stat(key, Deadline::None()).value_or(std::nullopt);
  }
  void Put(const std::string& key, std::string_view text) override {
    put_(directory_ + '/' + key, text);
  }
  void Remove(const std::string& key) override { remove_(directory_ + '/' + key); }
  std::vector<std::string> Names(const std::string& directory) override {
    std::vector<std::string> names;
    EXPECT_TRUE(objects_->List(directory, Deadline::None(), [&](const ListEntry& entry) {
      names.emplace_back(entry.name);
      return true;
    }));
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  const std::shared_ptr<ObjectStore> objects_;
  const std::shared_ptr<ObjectReplacer> replacer_;
  const std::string directory_;
  const PutObject put_;
  const RemoveObject remove_;
};

std::string NewDirectory() {
  static std::atomic<int> directories{0};
  return "replaced-" + std::to_string(++directories);
}

std::unique_ptr<ReplaceableStore> OfS3(S3Server& server) {
  const std::string directory = NewDirectory();
  S3Options options;
  options.environment = server.ClientEnvironment();
  options.remote = QuickOptions();
  const auto store = OpenS3Store("s3://bucket/" + directory, options);
  EXPECT_TRUE(store) << store.error().message;
  if (!store) return nullptr;
  return std::make_unique<RemoteOfTest>(
      store->objects, store->replacer, directory,
      [&](const std::string& key, std::string_view text) { server.Put(key, text); },
      [&](const std::string& key) { server.Remove(key); });
}

std::unique_ptr<ReplaceableStore> OfGcs(FakeGcs& server) {
  const std::string directory = NewDirectory();
  GcsStoreOptions options;
  options.remote = QuickOptions();
  const auto store = OpenGcsStore("gs://bucket/" + directory, server.environment(), options);
  EXPECT_TRUE(store) << store.error().message;
  if (!store) return nullptr;
  return std::make_unique<RemoteOfTest>(
      store->objects, store->replacer, directory,
      [&](const std::string& key, std::string_view text) { server.Put(key, text); },
      [&](const std::string& key) { server.Remove(key); });
}

std::unique_ptr<ReplaceableStore> MakeRemote(StoreKind kind) {
  if (kind == StoreKind::kVersitygw) {
    if (!HasVersitygw()) return nullptr;
    static Versitygw server;
    return OfS3(server);
  }
  if (kind == StoreKind::kRadosgw) {
    // ctest runs each test in a process of its own, and each would start the gateway.
    if (std::getenv("UNSHARD_RADOSGW") == nullptr) return nullptr;
    static Radosgw server;
    return server.is_missing() ? nullptr : OfS3(server);
  }
  static FakeGcs server;
  return server.is_missing() ? nullptr : OfGcs(server);
}

}  // namespace

std::string NameOf(StoreKind kind) {
  constexpr std::array kNames = {"Posix",          "Simulated", "Cloning", "Memory",
                                 "MemoryAppended", "Versitygw", "Radosgw", "FakeGcs"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::unique_ptr<ReplaceableStore> ReplaceableStore::Over(std::shared_ptr<FileSystem> files) {
  return std::make_unique<FilesOfTest>(std::move(files));
}

std::unique_ptr<ReplaceableStore> ReplaceableStore::Make(StoreKind kind,
                                                         const std::string& directory) {
  if (kind == StoreKind::kMemory || kind == StoreKind::kMemoryAppended) {
    return std::make_unique<MemoryOfTest>(kind == StoreKind::kMemoryAppended);
  }
  if (IsRemote(kind)) return MakeRemote(kind);
  if (kind == StoreKind::kPosix) {
    auto opened = OpenPosixFileSystem(directory);
    EXPECT_TRUE(opened) << opened.error().message;
    return Over(*std::move(opened));
  }
  SimulatedDiskOptions options;
  options.clones = kind == StoreKind::kCloning;
  return Over(std::make_shared<SimulatedDisk>(options));
}

}  // namespace unshard
