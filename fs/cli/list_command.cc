#include "fs/cli/list_command.h"

#include <cerrno>
#include <cstring>
#include <iostream>

#include "codec/core/escaped_text.h"
#include "codec/json/json.h"
#include "codec/json/writer.h"
#include "fs/cli/mount_command.h"
#include "fs/common/bounded_read.h"
#include "fs/common/readable.h"

namespace unshard {
namespace {

// The name of a state for programs, and its text for people, in which MOUNT and WHY are replaced by
// the mount point and the reason. The text of a serving mount has more.
struct StateWords {
  const char* name;
  const char* text;
};

StateWords WordsOf(ListedMount::State state) {
  switch (state) {
    case ListedMount::State::kServing:
      return {"serving", ""};
    case ListedMount::State::kDead:
      return {"dead",
              "dead: its process is gone; `unshard umount MOUNT` removes it, and `unshard spool "
              "list` shows its unpublished chunks"};
    case ListedMount::State::kSilent:
      return {"silent",
              "does not answer: its process is stopped, overloaded or waits for its disk"};
    case ListedMount::State::kUnreadable:
      return {"unreadable", "not readable: it belongs to another user"};
    case ListedMount::State::kHidden:
      return {"hidden", "hidden by another mount, or a part of a mount"};
    case ListedMount::State::kUnknown:
      return {"unknown", "its status cannot be read: WHY"};
  }
  return {"", ""};
}

std::string ServingText(const MountStatus& status) {
  const std::string process = "process " + std::to_string(status.pid);
  if (!status.write) return "read-only, " + process;
  const SpoolStatus& write = *status.write;
  std::string text = "read-write, " + process + ": ";
  if (write.dirty_chunks == 0) {
    text += "all is published";
  } else {
    text += Counted(write.dirty_chunks, "chunk") + " (" + ReadableBytes(write.dirty_bytes) +
            ") not published";
    if (write.oldest_milliseconds) text += ", oldest " + ReadableAge(*write.oldest_milliseconds);
  }
  if (write.conflicts > 0) text += ", " + Counted(write.conflicts, "conflict");
  return text;
}

std::string StateText(const ListedMount& mount) {
  if (mount.status) return ServingText(*mount.status);
  const std::string text = WordsOf(mount.state).text;
  const std::string at = Replaced(text, "MOUNT", Printable(mount.entry.mount_point));
  return Replaced(at, "WHY", Printable(mount.reason));
}

JsonValue UnpublishedObject(const SpoolStatus& write) {
  JsonValue object = JsonValue::Object();
  object.Set("chunks", JsonValue::Number(write.dirty_chunks));
  object.Set("bytes", JsonValue::Number(write.dirty_bytes));
  object.Set("shards", JsonValue::Number(write.dirty_shards));
  object.Set("oldest_milliseconds", write.oldest_milliseconds
                                        ? JsonValue::Number(*write.oldest_milliseconds)
                                        : JsonValue());
  object.Set("conflicts", JsonValue::Number(write.conflicts));
  object.Set("spool", JsonValue::String(EscapeBytes(write.spool)));
  return object;
}

JsonValue MountObject(const ListedMount& mount) {
  JsonValue object = JsonValue::Object();
  object.Set("mount_point", JsonValue::String(EscapeBytes(mount.entry.mount_point)));
  object.Set("source", JsonValue::String(EscapeBytes(mount.entry.source)));
  object.Set("state", JsonValue::String(WordsOf(mount.state).name));
  object.Set("read_only", JsonValue::Boolean(mount.entry.read_only));
  if (!mount.status) return object;
  object.Set("pid", JsonValue::Number(static_cast<std::uint64_t>(mount.status->pid)));
  const auto& write = mount.status->write;
  object.Set("unpublished", write ? UnpublishedObject(*write) : JsonValue());
  return object;
}

void TakeAnswer(const BoundedRead& answer, ListedMount& mount) {
  using State = ListedMount::State;
  if (answer.state == BoundedRead::State::kSilent) return;
  if (answer.state == BoundedRead::State::kFailed) {
    const bool dead = answer.error == ENOTCONN || answer.error == ECONNABORTED;
    const bool refused = answer.error == EACCES || answer.error == EPERM;
    mount.state = dead ? State::kDead : refused ? State::kUnreadable : State::kUnknown;
    mount.reason = std::strerror(answer.error);
    return;
  }
  auto status = ParseMountStatus(answer.text);
  mount.state = status ? State::kServing : State::kUnknown;
  if (status) {
    mount.status = *std::move(status);
  } else {
    mount.reason = status.error().message;
  }
}

Result<std::vector<ListedMount>> ListMounts() {
  UNSHARD_ASSIGN_OR_RETURN(const auto table, ReadMountTable());
  std::vector<ListedMount> mounts;
  std::vector<std::string> asked;
  std::vector<std::size_t> asked_of;
  for (const MountEntry& entry : table) {
    if (!IsOurs(entry)) continue;
    ListedMount mount{entry, ListedMount::State::kSilent, std::nullopt, ""};
    const auto top = TopMountAt(table, entry.mount_point);
    if (entry.root != "/" || !top || top->id != entry.id) {
      mount.state = ListedMount::State::kHidden;
    } else {
      asked_of.push_back(mounts.size());
      asked.push_back(entry.mount_point + "/.unshard/status.json");
    }
    mounts.push_back(std::move(mount));
  }
  const auto answers = ReadWithin(asked, kControlFileMilliseconds);
  for (std::size_t i = 0; i < answers.size(); ++i) TakeAnswer(answers[i], mounts[asked_of[i]]);
  return mounts;
}

}  // namespace

std::string DescribeMounts(const std::vector<ListedMount>& mounts) {
  if (mounts.empty()) return "no mounts of unshard on this machine\n";
  std::string text;
  for (const ListedMount& mount : mounts) {
    text += Printable(mount.entry.mount_point) + "\n    source " + Printable(mount.entry.source) +
            "\n    " + StateText(mount) + "\n";
  }
  return text;
}

std::string MountsJson(const std::vector<ListedMount>& mounts) {
  std::vector<JsonValue> items;
  for (const ListedMount& mount : mounts) items.push_back(MountObject(mount));
  JsonValue object = JsonValue::Object();
  object.Set("mounts", JsonValue::Array(std::move(items)));
  return WriteJson(object) + "\n";
}

int RunList(bool json) {
  const auto mounts = ListMounts();
  if (!mounts) return ReportFailure(mounts.error());
  std::cout << (json ? MountsJson(*mounts) : DescribeMounts(*mounts));
  return 0;
}

}  // namespace unshard
