#include "store/spool/owner.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <thread>

#include "codec/core/escaped_text.h"
#include "codec/json/cursor.h"
#include "codec/json/json.h"
#include "codec/json/parser.h"
#include "codec/json/writer.h"
#include "store/local/named_file.h"
#include "store/object/log.h"
#include "store/spool/spool.h"

namespace unshard {
namespace {

constexpr std::uint64_t kMaxOwnerBytes = std::uint64_t{64} << 10;
// Checksums of version 1 were the crc32c.
constexpr const char* kLayoutVersion = "2";
constexpr int kAttempts = 20;
// A process that tests whether a spool has an owner holds its lock for a moment: try again.
constexpr std::chrono::milliseconds kLookerPause{10};

std::string HostName() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

std::string BootId() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  return std::getline(file, id) ? id : "unknown";
}

JsonValue IdentityObject(const SourceIdentity& identity) {
  JsonValue object = JsonValue::Object();
  object.Set("machine", JsonValue::String(identity.machine));
  object.Set("device", JsonValue::Number(identity.device));
  object.Set("inode", JsonValue::Number(identity.inode));
  object.Set("born", JsonValue::String(identity.born));
  object.Set("document", JsonValue::String(identity.document));
  if (!identity.url.empty()) object.Set("url", JsonValue::String(identity.url));
  return object;
}

std::string WriteOwner(const SpoolOwner& owner) {
  JsonValue document = JsonValue::Object();
  document.Set("source", JsonValue::String(EscapeBytes(owner.source)));
  if (owner.identity) document.Set("identity", IdentityObject(*owner.identity));
  document.Set("host", JsonValue::String(owner.host));
  document.Set("boot", JsonValue::String(owner.boot));
  document.Set("process", JsonValue::String(owner.process));
  document.Set("version", JsonValue::String(owner.version));
  return WriteJson(document) + '\n';
}

Result<SourceIdentity> ParseIdentity(const JsonCursor& cursor) {
  SourceIdentity identity;
  UNSHARD_ASSIGN_OR_RETURN(identity.machine, cursor.StringMember("machine"));
  UNSHARD_ASSIGN_OR_RETURN(identity.device, cursor.UnsignedMember("device"));
  UNSHARD_ASSIGN_OR_RETURN(identity.inode, cursor.UnsignedMember("inode"));
  UNSHARD_ASSIGN_OR_RETURN(identity.born, cursor.StringMember("born"));
  UNSHARD_ASSIGN_OR_RETURN(identity.document, cursor.StringMember("document"));
  UNSHARD_ASSIGN_OR_RETURN(const auto url, cursor.OptionalMember("url"));
  if (url) {
    UNSHARD_ASSIGN_OR_RETURN(identity.url, url->String());
  }
  return identity;
}

Result<SpoolOwner> ParseOwner(std::string_view text) {
  UNSHARD_ASSIGN_OR_RETURN(const JsonValue value, ParseJson(text, {kMaxOwnerBytes, 4}));
  const JsonCursor document(value, "owner");
  SpoolOwner owner;
  UNSHARD_ASSIGN_OR_RETURN(owner.version, document.StringMember("version"));
  if (owner.version != kLayoutVersion) {
    return Fail(ErrorCode::kNotSupported, "owner.version: expected ", kLayoutVersion, ", found ",
                owner.version, "; publish it with the release that made this spool");
  }
  UNSHARD_ASSIGN_OR_RETURN(owner.source, document.EscapedMember("source"));
  UNSHARD_ASSIGN_OR_RETURN(const auto identity, document.OptionalMember("identity"));
  if (identity) {
    UNSHARD_ASSIGN_OR_RETURN(owner.identity, ParseIdentity(*identity));
  }
  UNSHARD_ASSIGN_OR_RETURN(owner.host, document.StringMember("host"));
  UNSHARD_ASSIGN_OR_RETURN(owner.boot, document.StringMember("boot"));
  UNSHARD_ASSIGN_OR_RETURN(owner.process, document.StringMember("process"));
  return owner;
}

std::string OwnerPath(const std::string& directory) {
  return directory.empty() ? kOwnerFile : directory + '/' + kOwnerFile;
}

// Step 1. Null where another process holds the lock; `present` is unset where there is no owner
// file.
struct Locked {
  std::shared_ptr<File> file;
  bool present = false;
};
Result<Locked> LockOwner(FileSystem& files, const std::string& path) {
  for (int i = 0; i < kAttempts; ++i) {
    UNSHARD_ASSIGN_OR_RETURN(std::shared_ptr<File> file, files.Open(path, {.write = true}));
    if (!file) return Locked{};
    UNSHARD_ASSIGN_OR_RETURN(const bool locked, file->Lock(false));
    if (!locked) return Locked{nullptr, true};
    UNSHARD_ASSIGN_OR_RETURN(const bool named, IsNamed(files, path, *file));
    if (named) return Locked{std::move(file), true};
  }
  return Fail(ErrorCode::kUnavailable, files.Describe(path), ": kept being replaced");
}

Result<Locked> LockOwnerPatiently(FileSystem& files) {
  for (int i = 0; i < kAttempts; ++i) {
    UNSHARD_ASSIGN_OR_RETURN(Locked locked, LockOwner(files, kOwnerFile));
    if (locked.file || !locked.present) return locked;
    std::this_thread::sleep_for(kLookerPause);
  }
  UNSHARD_ASSIGN_OR_RETURN(const auto owner, ReadOwner(files, ""));
  return Fail(ErrorCode::kUnavailable, files.Describe(""), ": in use by ",
              owner ? DescribeOwner(*owner) : "another process");
}

// Step 3. Two processes that meet in an empty directory meet at the lock of the new file.
Result<std::shared_ptr<File>> ReplaceOwner(FileSystem& files, const SpoolOwner& owner) {
  UNSHARD_ASSIGN_OR_RETURN(std::shared_ptr<File> file,
                           files.Open(kNewOwnerFile, {.write = true, .create = true}));
  UNSHARD_ASSIGN_OR_RETURN(const bool locked, file->Lock(false));
  if (!locked) {
    return Fail(ErrorCode::kUnavailable, files.Describe(""), ": another process is taking it over");
  }
  // Where it has been renamed between opening and locking, it is no longer ours to cut.
  UNSHARD_ASSIGN_OR_RETURN(const bool named, IsNamed(files, kNewOwnerFile, *file));
  if (!named) {
    return Fail(ErrorCode::kUnavailable, files.Describe(""), ": another process has taken it over");
  }
  UNSHARD_RETURN_IF_ERROR(file->Truncate(0));
  UNSHARD_RETURN_IF_ERROR(file->Write(0, AsBytes(WriteOwner(owner))));
  UNSHARD_RETURN_IF_ERROR(file->Sync());
  UNSHARD_RETURN_IF_ERROR(files.Rename(kNewOwnerFile, kOwnerFile));
  UNSHARD_RETURN_IF_ERROR(files.SyncDirectory(""));
  return file;
}

bool IsFull(const Error& error) {
  return error.system_errno == ENOSPC || error.system_errno == EDQUOT;
}

}  // namespace

SpoolOwner ThisProcess(const std::string& source, const std::optional<SourceIdentity>& identity) {
  return {source, HostName(), BootId(), std::to_string(::getpid()), kLayoutVersion, identity};
}

std::optional<std::string> WhyOfAnotherSource(const SpoolOwner& recorded,
                                              const SpoolOwner& present) {
  if (recorded.source != present.source) {
    // A URL may have several spellings.
    const bool known = recorded.identity && present.identity;
    if (known && IsMovedSource(*recorded.identity, *present.identity)) return std::nullopt;
    return "this spool belongs to the source " + recorded.source + ", not to " + present.source;
  }
  if (!present.identity) return std::nullopt;
  if (recorded.identity) {
    if (IsSameSource(*recorded.identity, *present.identity)) return std::nullopt;
    if (!present.identity->url.empty()) {
      return "its chunks belong to " + recorded.identity->url + ", and " + present.source + " is " +
             present.identity->url + " now";
    }
    return "its chunks belong to an earlier directory " + recorded.source + " on " + recorded.host +
           "; another directory has that path now";
  }
  if (recorded.host == present.host || IsNetworkSource(*present.identity)) return std::nullopt;
  return "its chunks belong to " + recorded.source + " of the host " + recorded.host;
}

std::string DescribeOwner(const SpoolOwner& owner) {
  return "process " + owner.process + " on " + owner.host;
}

Result<std::optional<SpoolOwner>> ReadOwner(FileSystem& files, const std::string& directory) {
  const std::string path = OwnerPath(directory);
  UNSHARD_ASSIGN_OR_RETURN(const std::shared_ptr<File> file, files.Open(path, {}));
  if (!file) return std::nullopt;
  UNSHARD_ASSIGN_OR_RETURN(const FileStatus status, file->Stat());
  if (status.size > kMaxOwnerBytes) {
    return Fail(ErrorCode::kDataLoss, files.Describe(path), ": expected at most ", kMaxOwnerBytes,
                " bytes");
  }
  ByteVector bytes(static_cast<std::size_t>(status.size));
  UNSHARD_ASSIGN_OR_RETURN(const std::size_t size, file->Read(0, bytes));
  auto owner = ParseOwner(AsText(ByteSpan(bytes).first(size)));
  if (!owner) return Forward(std::move(owner).error(), files.Describe(path));
  return *std::move(owner);
}

Result<std::shared_ptr<File>> AcquireOwnership(FileSystem& files, const SpoolOwner& owner) {
  UNSHARD_ASSIGN_OR_RETURN(const Locked old, LockOwnerPatiently(files));
  if (old.present) {
    // Step 2.
    UNSHARD_ASSIGN_OR_RETURN(const auto before, ReadOwner(files, ""));
    const auto why = before ? WhyOfAnotherSource(*before, owner) : std::nullopt;
    if (why) return Fail(ErrorCode::kInvalidArgument, files.Describe(""), ": ", *why);
  }
  auto file = ReplaceOwner(files, owner);
  if (file || !old.present || !IsFull(file.error())) return file;
  UNSHARD_ASSIGN_OR_RETURN(const bool kept, IsNamed(files, kOwnerFile, *old.file));
  if (kept) {
    LogWarning(file.error().message + "; the spool keeps the name of its last owner");
    return old.file;
  }
  return file;
}

Result<std::vector<FoundSpool>> FindSpools(FileSystem& folder) {
  std::vector<std::string> names;
  UNSHARD_RETURN_IF_ERROR(folder.List("", [&](std::string_view name) {
    names.emplace_back(name);
    return true;
  }));
  std::sort(names.begin(), names.end());
  std::vector<FoundSpool> found;
  for (const std::string& name : names) {
    const auto owner = ReadOwner(folder, name);
    if (!owner) LogWarning(owner.error().message + "; this spool is left alone");
    if (!owner || !*owner) continue;
    // In a folder that several users share, those of the others may not be taken over.
    const auto locked = LockOwner(folder, OwnerPath(name));
    if (!locked) LogWarning(locked.error().message + "; this spool is left alone");
    if (!locked || !locked->present) continue;
    found.push_back(
        {name, (*owner)->source, DescribeOwner(**owner), **owner, locked->file == nullptr});
  }
  return found;
}

}  // namespace unshard
