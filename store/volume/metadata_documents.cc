#include "store/volume/metadata_documents.h"

#include <cerrno>
#include <memory>
#include <utility>

#include "codec/precomputed/merge.h"
#include "store/dataset/layout.h"
#include "store/local/named_file.h"
#include "store/object/key.h"
#include "store/object/log.h"

namespace unshard {
namespace {

// Before kConflict: in each another process has stored a document first.
constexpr int kAttempts = 8;

tl::unexpected<Error> TooLarge() {
  return FailWith(EFBIG, ErrorCode::kInvalidArgument, "expected at most 64 MiB of metadata");
}

Status RefuseComputed(const std::string& path) {
  return FailWith(EPERM, ErrorCode::kPermissionDenied, path,
                  ": the view computes it from the metadata of the source: change them there, or "
                  "mount with view=native");
}

// Whether the first component of a chunk key may have this name: "c", "c.0.0", "0".
bool MayHoldChunks(std::string_view name) {
  const bool number = !name.empty() && name.front() >= '0' && name.front() <= '9';
  return number || name == "c" || name.starts_with("c.");
}

Result<std::string> ReadText(StagedFile& file) {
  if (file.size() > kMaxDocumentBytes) return TooLarge();
  std::string text(file.size(), '\0');
  UNSHARD_ASSIGN_OR_RETURN(
      const std::size_t read,
      file.Read(0, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()}));
  text.resize(read);
  return text;
}

}  // namespace

Status MetadataDocuments::Commit(const EditedDocument& document, StagedFile& bytes,
                                 const timespec& modified) {
  UNSHARD_ASSIGN_OR_RETURN(const std::string text, ReadText(bytes));
  const std::string path = JoinPath(document.directory, document.name);
  if (const auto computed = ComputedText(path)) {
    return SameJson(text, *computed) ? Status() : RefuseComputed(path);
  }
  const std::lock_guard lock(mutex_);
  for (int i = 0; i < kAttempts; ++i) {
    UNSHARD_ASSIGN_OR_RETURN(const auto stored,
                             ReadWhole(store_, path, kMaxDocumentBytes, CallerDeadline()));
    UNSHARD_ASSIGN_OR_RETURN(const bool committed, CommitOver(stored, document, text, modified));
    if (committed) return {};
  }
  return Fail(ErrorCode::kConflict, path, ": other processes keep replacing it");
}

Result<bool> MetadataDocuments::CommitOver(const std::optional<WholeObject>& stored,
                                           const EditedDocument& document, const std::string& text,
                                           const timespec& modified) {
  const std::string path = JoinPath(document.directory, document.name);
  if (document.plain && datasets_.HoldsPlainDocument(path)) {
    const Replaces replaces = stored ? Replaces::kStored : Replaces::kNothing;
    UNSHARD_ASSIGN_OR_RETURN(const std::string complete, Complete(path, text, replaces));
    return Store(path, complete, stored, modified);
  }
  if (!stored) {
    return FailWith(EPERM, ErrorCode::kPermissionDenied, path,
                    ": is gone from the source, so it is not known how chunks are stored");
  }
  return Merge(path, *stored, text);
}

std::optional<std::string> MetadataDocuments::ComputedText(const std::string& path) const {
  const auto overlay = datasets_.Find(ParentPath(path));
  const Document* const computed = overlay ? overlay->FindComputed(BaseName(path)) : nullptr;
  if (computed != nullptr) return *computed->text;
  const bool shown = overlay && overlay->document && overlay->document->name == BaseName(path);
  if (!shown || !datasets_.IsBesideShards(path)) return std::nullopt;
  return *overlay->document->text;
}

Result<bool> MetadataDocuments::Merge(const std::string& path, const WholeObject& stored,
                                      const std::string& text) {
  const std::string directory = ParentPath(path);
  const bool info = BaseName(path) == kInfoDocument;
  const auto merged =
      info ? MergeNeuroglancerInfo(stored.text, text, changes_.InDirectoriesBelow(directory))
           : MergeZarrMetadata(stored.text, text, NodesBelow(directory));
  if (!merged) return Forward(merged.error(), path);
  const auto trees = changes_.TreesOf(directory);
  if (!info && *merged != stored.text) {
    UNSHARD_RETURN_IF_ERROR(changes_.RemoveOutside(directory, stored.text, *merged));
  }
  UNSHARD_ASSIGN_OR_RETURN(const bool committed, Store(path, *merged, stored, std::nullopt));
  if (committed) changes_.LeaveRetired(trees);
  return committed;
}

// Removals of its chunks may still wait to be published.
Status MetadataDocuments::Remove(const std::string& path) {
  if (ComputedText(path)) return RefuseComputed(path);
  const std::lock_guard lock(mutex_);
  UNSHARD_RETURN_IF_ERROR(changes_.RemoveDocument(ParentPath(path), BaseName(path)));
  Reload(path);
  return {};
}

Result<bool> MetadataDocuments::Store(const std::string& path, const std::string& text,
                                      const std::optional<WholeObject>& stored,
                                      const std::optional<timespec>& modified) {
  // What copies of arrays are merged into can make them longer.
  if (text.size() > kMaxDocumentBytes) return TooLarge();
  if (!stored || text != stored->text) {
    UNSHARD_ASSIGN_OR_RETURN(const bool replaced,
                             ReplaceVersion(replacer_, path, stored, AsBytes(text)));
    if (!replaced) return false;
  }
  if (modified) {
    OpenFlags flags;
    flags.write = true;
    UNSHARD_ASSIGN_OR_RETURN(const std::shared_ptr<File> file, files_.Open(path, flags));
    if (file) UNSHARD_RETURN_IF_ERROR(file->SetModified(*modified));
  }
  Reload(path);
  return true;
}

void MetadataDocuments::Reload(const std::string& path) {
  datasets_.Reload(ParentPath(path));
  if (refresh_) refresh_(path);
}

// What is to be stored at `path` for `text`, which takes the place of none or of a plain document.
Result<std::string> MetadataDocuments::Complete(const std::string& path, const std::string& text,
                                                Replaces replaces) const {
  if (BaseName(path) == kInfoDocument) {
    const Status plain = CheckNewInfo(text);
    if (!plain) return Forward(plain.error(), path);
    return text;
  }
  auto complete = CompleteZarrMetadata(text, NodesBelow(ParentPath(path)));
  if (!complete) return Forward(complete.error(), path);
  if (replaces == Replaces::kStored) return complete;
  return InShards(path, *std::move(complete));
}

// The document of a new array with the shards that the mount gives it, unless a chunk is there
// already: it would be read as a shard.
Result<std::string> MetadataDocuments::InShards(const std::string& path, std::string text) const {
  if (!shards_ || BaseName(path) != kZarrDocument) return text;
  auto sharded = WithShards(text, *shards_);
  if (!sharded) return text;
  bool alone = true;
  UNSHARD_RETURN_IF_ERROR(
      store_.List(ParentPath(path), CallerDeadline(), [&](const ListEntry& entry) {
        alone = !MayHoldChunks(entry.name);
        return alone;
      }));
  return alone ? *std::move(sharded) : text;
}

// For one merge: what it reads is bounded.
StoredNodes MetadataDocuments::NodesBelow(const std::string& directory) const {
  struct Spent {
    std::size_t nodes = 0;
    std::uint64_t bytes = 0;
  };
  return [this, directory, spent = std::make_shared<Spent>()](
             std::string_view node_path) -> Result<std::optional<std::string>> {
    constexpr std::size_t kMostNodes = 65536;
    constexpr std::uint64_t kMostBytes = 4 * kMaxDocumentBytes;
    if (++spent->nodes > kMostNodes || spent->bytes > kMostBytes) {
      return FailWith(EFBIG, ErrorCode::kInvalidArgument,
                      "expected at most 65536 new copies of arrays, and 256 MiB of documents of "
                      "their own");
    }
    // An array outside is found neither through this mount nor through the source.
    const auto path = ResolvePath(directory, node_path);
    if (!path) return std::nullopt;
    UNSHARD_ASSIGN_OR_RETURN(auto object, ReadWhole(store_, JoinPath(*path, kZarrDocument),
                                                    kMaxDocumentBytes, CallerDeadline()));
    if (!object) return std::nullopt;
    spent->bytes += object->text.size();
    return std::move(object->text);
  };
}

Result<bool> MetadataDocuments::IsComplete(const std::string& path, const std::string& to) const {
  UNSHARD_ASSIGN_OR_RETURN(const auto object,
                           ReadWhole(store_, path, kMaxDocumentBytes, CallerDeadline()));
  if (!object) return true;
  UNSHARD_ASSIGN_OR_RETURN(const auto replaced, files_.Stat(to));
  UNSHARD_ASSIGN_OR_RETURN(
      const std::string complete,
      Complete(to, object->text, replaced ? Replaces::kStored : Replaces::kNothing));
  return complete == object->text;
}

// A new document is written in place, since there is no earlier version that readers could go on
// seeing. Readers may have used its bytes already.
Status MetadataDocuments::CompleteInPlace(const std::string& path, File& file) {
  if (!IsDocumentName(BaseName(path)) || datasets_.index().IsBelowOpaque(ParentPath(path))) {
    return {};
  }
  const std::lock_guard lock(mutex_);
  UNSHARD_ASSIGN_OR_RETURN(const FileStatus written, file.Stat());
  UNSHARD_ASSIGN_OR_RETURN(const auto status, files_.Stat(path));
  if (!status || !IsSameFile(*status, written)) return {};
  UNSHARD_ASSIGN_OR_RETURN(const auto object,
                           ReadWhole(store_, path, kMaxDocumentBytes, CallerDeadline()));
  if (!object) return {};
  const auto complete = Complete(path, object->text, Replaces::kNothing);
  if (!complete) {
    // As with other files, a document that is refused does not stay.
    const auto removed = files_.Remove(path);
    if (!removed) LogWarning(removed.error().message);
    Reload(path);
    return tl::unexpected<Error>(complete.error());
  }
  if (*complete == object->text) return {};
  UNSHARD_RETURN_IF_ERROR(Store(path, *complete, object, status->modified));
  return {};
}

}  // namespace unshard
