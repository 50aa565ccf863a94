#include "store/volume/chunk_committer.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>

#include "codec/codecs/gzip.h"
#include "store/chunks/presented_tree.h"

namespace unshard {
namespace {

// By gzip, of chunks whose size is not known before.
constexpr std::uint64_t kUsualInflation = 4;

}  // namespace

// A file that was opened before the array's metadata were replaced may be closed after that.
Result<ChunkCommit> ChunkCommitter::InServedTree(const ChunkCommit& commit) const {
  if (!commit.tree->retired()) return commit;
  ChunkCommit now = commit;
  now.replaces.reset();
  now.tree = index_.SuccessorOf(*commit.tree);
  const auto place = now.tree ? FindChunk(now.tree, commit.tree->Path(commit.chunk)) : std::nullopt;
  if (!place) {
    return Fail(ErrorCode::kConflict,
                JoinPath(commit.tree->directory(), commit.tree->Path(commit.chunk)),
                ": the array was removed, or its metadata changed, since this file was opened: "
                "write it again");
  }
  now.chunk = place->chunk;
  return now;
}

Status ChunkCommitter::Check(const ChunkCommit& commit, StagedFile& staged) const {
  UNSHARD_RETURN_IF_ERROR(checks_.CheckShardFits(*commit.tree, commit.chunk, staged.size()));
  return checks_.CheckBytes(*commit.tree, commit.chunk, staged.size(),
                            [&](std::span<std::uint8_t> to) { return staged.Read(0, to); });
}

ChunkCommit ChunkCommitter::AsStored(const ChunkCommit& commit) {
  const auto elsewhere = commit.tree->stored_elsewhere();
  if (!elsewhere) return commit;
  ChunkCommit stored = commit;
  stored.tree = elsewhere;
  stored.chunk.part = WrittenPart(commit.chunk.part);
  stored.gzipped = false;
  stored.pages_doubtful = true;  // the node's bytes are not those that are stored
  stored.replaces.reset();
  return stored;
}

Result<std::shared_ptr<StagedFile>> ChunkCommitter::Staged(ByteSpan bytes) {
  UNSHARD_ASSIGN_OR_RETURN(std::shared_ptr<StagedFile> staged, spool_->Stage());
  UNSHARD_RETURN_IF_ERROR(staged->Write(0, bytes));
  return staged;
}

Result<ChunkCommitter::StoredCommits> ChunkCommitter::WithBytes(
    const ChunkCommit& commit, const std::vector<ByteVector>& bytes) {
  const std::vector<ChunkRef> chunks = commit.tree->StoredChunks(commit.chunk);
  StoredCommits commits;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    StoredCommit& one = commits.emplace_back();
    one.commit = AsStored(commit);
    one.commit.chunk = chunks[i].With(WrittenPart(chunks[i].part));
    UNSHARD_ASSIGN_OR_RETURN(one.restored, Staged(bytes[i]));
    one.bytes = one.restored.get();
  }
  return commits;
}

Result<ChunkCommitter::StoredCommits> ChunkCommitter::Stored(const ChunkCommit& commit,
                                                             StagedFile& staged) {
  const auto presented = AsPresented(commit.tree);
  if (!presented) return StoredCommits{{AsStored(commit), nullptr, &staged}};
  // The voxels, and what they are made of or become.
  UNSHARD_ASSIGN_OR_RETURN(const auto room,
                           checks_.RoomFor(2 * presented->presented().voxel_bytes()));
  UNSHARD_ASSIGN_OR_RETURN(const Bytes shown, WholeOf(commit, staged));
  const ChunkRef chunk = commit.chunk.With(WrittenPart(commit.chunk.part));
  const auto stored = presented->presented().Restore(chunk, shown.span());
  if (!stored) {
    return Forward(stored.error(), JoinPath(presented->directory(), presented->Path(chunk)));
  }
  return WithBytes(commit, *stored);
}

Result<ChunkCommitter::StoredCommits> ChunkCommitter::StoredRemoval(const ChunkCommit& commit) {
  if (RemovalIsChunk(commit)) {
    const ChunkRef chunk = commit.chunk.With(WrittenPart(commit.chunk.part));
    const PresentedChunks& presented = AsPresented(commit.tree)->presented();
    UNSHARD_ASSIGN_OR_RETURN(const auto room, checks_.RoomFor(2 * presented.voxel_bytes()));
    UNSHARD_ASSIGN_OR_RETURN(const std::vector<ByteVector> bytes, presented.RestoreRemoved(chunk));
    return WithBytes(commit, bytes);
  }
  StoredCommits commits;
  for (const ChunkRef& chunk : commit.tree->StoredChunks(commit.chunk)) {
    StoredCommit& one = commits.emplace_back();
    one.commit = AsStored(commit);
    one.commit.chunk = chunk;
  }
  return commits;
}

bool ChunkCommitter::RemovalIsChunk(const ChunkCommit& commit) const {
  const auto presented = AsPresented(commit.tree);
  if (!presented) return false;
  const bool has_index = presented->stored()->shards().format().fixed_index_bytes() != 0;
  return presented->presents_absent() || (!has_index && !removes_objects_);
}

Result<Bytes> ChunkCommitter::WholeOf(const ChunkCommit& commit, StagedFile& staged) const {
  const std::uint64_t most = checks_.max_chunk_bytes();
  if (staged.size() > most) {
    return tl::unexpected<Error>(
        Error{ErrorCode::kInvalidArgument,
              commit.tree->Path(commit.chunk) + ": more bytes than a chunk may have", EFBIG});
  }
  ByteVector bytes(staged.size());
  UNSHARD_ASSIGN_OR_RETURN(const std::size_t read, staged.Read(0, bytes));
  bytes.resize(read);
  return Bytes(std::move(bytes));
}

Result<std::shared_ptr<StagedFile>> ChunkCommitter::Inflated(const ChunkCommit& commit,
                                                             StagedFile& staged) {
  const std::uint64_t plain_bytes =
      commit.tree->FixedSize(commit.chunk).value_or(kUsualInflation * staged.size());
  UNSHARD_ASSIGN_OR_RETURN(const auto room, checks_.RoomFor(staged.size() + plain_bytes));
  UNSHARD_ASSIGN_OR_RETURN(const Bytes stored, WholeOf(commit, staged));
  auto plain = GzipDecode(stored.span(), checks_.max_chunk_bytes());
  if (!plain) {
    return Fail(ErrorCode::kInvalidArgument,
                "expected a gzip file under this name: ", plain.error().message);
  }
  return Staged(*plain);
}

Result<WrittenVersionPtr> ChunkCommitter::CommitBytes(const ChunkCommit& to, StagedFile& staged) {
  UNSHARD_ASSIGN_OR_RETURN(const ChunkCommit commit, InServedTree(to));
  std::shared_ptr<StagedFile> inflated;
  if (commit.gzipped) {
    UNSHARD_ASSIGN_OR_RETURN(inflated, Inflated(commit, staged));
  }
  StagedFile& plain = inflated ? *inflated : staged;
  UNSHARD_ASSIGN_OR_RETURN(const StoredCommits stored, Stored(commit, plain));
  for (const StoredCommit& one : stored) {
    UNSHARD_RETURN_IF_ERROR(Check(one.commit, *one.bytes));
  }
  return Seal(stored);
}

Result<WrittenVersionPtr> ChunkCommitter::CommitRemoval(const ChunkCommit& of) {
  UNSHARD_ASSIGN_OR_RETURN(const ChunkCommit commit, InServedTree(of));
  UNSHARD_ASSIGN_OR_RETURN(const StoredCommits stored, StoredRemoval(commit));
  return Seal(stored);
}

Status ChunkCommitter::CommitMove(const ChunkCommit& to, StagedFile& staged,
                                  const ChunkCommit& of) {
  UNSHARD_ASSIGN_OR_RETURN(const ChunkCommit shown, InServedTree(to));
  UNSHARD_ASSIGN_OR_RETURN(const ChunkCommit gone_in, InServedTree(of));
  if (RemovalIsChunk(gone_in) || gone_in.tree->joins() || shown.tree->joins()) {
    UNSHARD_RETURN_IF_ERROR(CommitBytes(shown, staged));
    UNSHARD_RETURN_IF_ERROR(CommitRemoval(gone_in));
    return {};
  }
  UNSHARD_ASSIGN_OR_RETURN(const StoredCommits copies, Stored(shown, staged));
  const StoredCommit& copy = copies.front();
  UNSHARD_RETURN_IF_ERROR(Check(copy.commit, *copy.bytes));
  UNSHARD_ASSIGN_OR_RETURN(const Prepared put, Prepare(copy.commit));
  UNSHARD_ASSIGN_OR_RETURN(const Prepared gone, Prepare(AsStored(gone_in)));
  const auto end = [](const Prepared& prepared) {
    const WrittenVersion& version = *prepared.version;
    return Spool::MoveEnd{version.tree->Path(version.chunk), prepared.terms};
  };
  UNSHARD_ASSIGN_OR_RETURN(
      Spool::SealedMove sealed,
      spool_->SealMove(*copy.bytes, DatasetOf(*copy.commit.tree), end(put), end(gone)));
  versions_.MakeLatest(put.version, {spool_, std::move(sealed.copy)});
  versions_.MakeLatest(gone.version, {spool_, std::move(sealed.removal)});
  return {};
}

Result<WrittenVersionPtr> ChunkCommitter::Seal(const StoredCommits& commits) {
  const ChunkCommit& first = commits.front().commit;
  std::optional<PathLocks::Guard> one_writer;
  if (commits.size() > 1) {
    one_writer.emplace(sealing_, JoinPath(first.tree->directory(), first.tree->Path(first.chunk)));
  }
  std::vector<WrittenVersionPtr> versions;
  std::vector<Spool::Part> parts;
  for (const StoredCommit& one : commits) {
    UNSHARD_ASSIGN_OR_RETURN(const Prepared prepared, Prepare(one.commit));
    const WrittenVersionPtr& version = versions.emplace_back(prepared.version);
    parts.push_back({one.bytes, version->tree->Path(version->chunk), prepared.terms});
  }
  UNSHARD_ASSIGN_OR_RETURN(std::vector<SpooledChunk> sealed,
                           spool_->SealTogether(DatasetOf(*first.tree), parts));
  std::vector<SpooledVersions::Sealed> all;
  for (std::size_t i = 0; i < versions.size(); ++i) {
    all.push_back({versions[i], {spool_, std::move(sealed[i])}});
  }
  versions_.MakeLatest(std::move(all));
  return versions.back();
}

std::string ChunkCommitter::DatasetOf(const ChunkTree& tree) const {
  return tree.directory().substr(std::min(root_.size(), tree.directory().size()));
}

Result<ChunkCommitter::Prepared> ChunkCommitter::Prepare(const ChunkCommit& commit) {
  ChunkCommit to = commit;
  to.chunk.part = WrittenPart(commit.chunk.part);
  const WrittenVersionPtr before = written_->Find(ChunkId::Of(*to.tree, to.chunk));
  UNSHARD_ASSIGN_OR_RETURN(const ReplacedBytes replaced, WhatIsReplaced(before, to));
  // The seal outlives this process: the version before may be published from now on until this one
  // takes its place.
  std::optional<ChunkFingerprint> other = replaced.other;
  if (!other && before && written_->SpooledOf(*before)) other = FingerprintOf(*before);
  auto version = std::make_shared<WrittenVersion>();
  version->tree = to.tree;
  version->chunk = to.chunk;
  const bool known_absent = replaced.base.absent && !replaced.base.unknown;
  version->first = !before && known_absent && !to.pages_doubtful && root_.empty();
  version->inode = to.inode;
  version->modified = to.modified;
  version->replaces.seen_in = replaced.seen_in;
  return Prepared{std::move(version), {replaced.base, other, to.tree->layout_digest()}};
}

// A store that is away keeps no chunk from being committed.
Result<StoredChunkPrint> ChunkCommitter::StoredPrint(const ChunkCommit& commit) const {
  if (commit.replaces) return *commit.replaces;
  StoredChunkPrint unknown;
  unknown.fingerprint.unknown = true;
  if (store_away_.is_away && store_away_.is_away()) return unknown;
  auto stored = replaced_ == Replaced::kOnlyFound
                    ? current_.StoredVersion(commit.tree, commit.chunk)
                    : current_.StoredFingerprint(commit.tree, commit.chunk);
  // No reader has been given the bytes of a damaged chunk.
  if (!stored && stored.error().code == ErrorCode::kDataLoss) {
    return current_.StoredVersion(commit.tree, commit.chunk);
  }
  if (stored || !store_away_.found) return stored;
  const Error& error = stored.error();
  const bool away = error.code == ErrorCode::kUnavailable || error.system_errno == ETIMEDOUT;
  if (!away) return stored;
  store_away_.found(error);
  return unknown;
}

// What the store may hold for this chunk when the new version is published: what the version before
// was to replace, or, if that is published in between, the version before itself.
Result<ReplacedBytes> ChunkCommitter::WhatIsReplaced(const WrittenVersionPtr& before,
                                                     const ChunkCommit& commit) const {
  if (before) return written_->ReplacedAfter(*before);
  UNSHARD_ASSIGN_OR_RETURN(const StoredChunkPrint stored, StoredPrint(commit));
  return ReplacedBytes{stored.fingerprint, std::nullopt, stored.in};
}

}  // namespace unshard
