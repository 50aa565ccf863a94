// OPEN and CREATE of chunk files, and of documents: a reader opens one version, a writer writes the
// next one.
//
// An open for reading is given the node's version (ChunkNode::OpenVersion). If that is gone, or may
// be outdated, we answer ESTALE: the kernel looks the name up again, which leads it to a node of
// its own. If the version of that look-up is gone at the open too, the open is given the latest
// version instead, with direct I/O, since the kernel has the i_size of the version that is gone.
//
// An open for writing
//   1. joins the staged inode of another writer, unless it truncates;
//   2. takes the node over, where a look-up of the same open(2) has led there;
//   3. is answered with ESTALE otherwise. The kernel's second attempt is its last: without O_TRUNC
//      a staged inode is reserved for it, and its look-up leads to that, so that a writer that
//      comes in between does not stop it; with O_TRUNC its look-up leads to a node of its own;
//   4. takes the node over at its second attempt, where that reaches the same cached node and so
//      had no name to look up: it waits until no other file is open on the node, and the chunk has
//      no writer.
#pragma once

#include <memory>

#include "codec/core/error.h"
#include "fs/tree/name.h"
#include "fs/tree/node.h"
#include "fs/write/staged_inode.h"
#include "store/chunks/chunk_content.h"
#include "store/chunks/committed_versions.h"

namespace unshard {

class ChunkNode;

Result<OpenFilePtr> OpenChunk(Superblock& superblock, ChunkNode& node, const OpenRequest& request);
// A chunk is created by its name, or opened with O_CREAT.
Result<Created> CreateChunk(Superblock& superblock, const StagedInode::Chunk& chunk,
                            const OpenRequest& request);

// Fails where chunks of the tree cannot be written (kReadOnly), or the shard of this one cannot be
// replaced.
Status CanWriteChunk(Superblock& superblock, ChunkTree& tree, const ChunkRef& chunk);
// The plain bytes of a chunk as its shard stores them: what "<chunk>.gz" shows.
Result<ContentPtr> EncodedContent(Superblock& superblock, ChunkTree& tree, ChunkContent& plain);

// The steps above. `of`: the id under which writers of the file are counted.

// Answers ESTALE: from now on each look-up leads to a node of its own.
tl::unexpected<Error> AnswerStale(Superblock& superblock, const ChunkId& of, NodeId node,
                                  const OpenRequest& request);
// Redirects the thread to the node of `staged`, which counts as being written until the thread has
// opened it. Takes over the caller's hold.
tl::unexpected<Error> Join(Superblock& superblock, const ChunkId& of,
                           const std::shared_ptr<StagedInode>& staged, NodeId node,
                           const OpenRequest& request);
// EBUSY: another writer has the file, and this open cannot be led to the version of that writer.
tl::unexpected<Error> BeingWritten();
// Takes over the caller's hold on `staged`.
Result<OpenFilePtr> TakeOver(Superblock& superblock, NodeId node, const ChunkId& of,
                             const std::shared_ptr<StagedInode>& staged,
                             const OpenRequest& request);
// Opens a node that a writer has taken over after it was looked up. A writer of the same version
// shares it; every other caller is led to another node.
Result<OpenFilePtr> OpenTaken(Superblock& superblock, NodeId node, const ChunkId& of,
                              const std::shared_ptr<StagedInode>& staged,
                              const OpenRequest& request);

// Before an OPEN of any node: whether the look-up led to `node` because of a redirect that was left
// by an earlier open(2) of the thread, which failed in the kernel (fs/write/open_writers.h). This
// function ends the redirect; if it returns true, the OPEN is to be answered with ESTALE.
bool WasLedAstray(Superblock& superblock, NodeId node, const OpenRequest& request);
// After an OPEN, CREATE or SETATTR by `thread`, or a LOOKUP that has failed; `failure`: null where
// it succeeded. At ESTALE the kernel tries once more; with every other answer the open(2), or
// truncate(2), is over.
void EndOpen(Superblock& superblock, pid_t thread, const Error* failure);

}  // namespace unshard
