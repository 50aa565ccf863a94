// OPEN and CREATE of chunk files, and of documents: readers open one version, writers write the
// next one.
//
// An open for reading is given what the node stands for (ChunkNode::OpenVersion). Where that is
// gone, or may be the past, the kernel is answered with ESTALE and looks the name up again, which
// leads it to a node of its own. There it is given what is committed by the time of the open, if
// the version of the look-up is gone already: with direct I/O, since the kernel has that one's
// size.
//
// An open for writing
//   1. joins the staged inode of another writer, unless it truncates;
//   2. takes the node over, where a look-up of the same open(2) has led there;
//   3. is answered with ESTALE otherwise. The kernel's second attempt is the last one: without
//      O_TRUNC a staged inode is reserved for it, which its look-up leads to, so that no writer
//      that comes in between is in the way; with O_TRUNC its look-up leads to a node that is its
//      own;
//   4. takes the node over at its second attempt, where it comes to a remembered node again and so
//      has no name to look up: it waits until no other file is open on the node, and no writer has
//      the chunk.
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

// The following are the steps above; `of` is under which writers of the file are counted.

// From now on each look-up leads to a node that no other look-up is given.
tl::unexpected<Error> SendAway(Superblock& superblock, const ChunkId& of, NodeId node,
                               const OpenRequest& request);
// Leads the thread to the node of `staged`, which counts as being written until it is there. Takes
// over the caller's hold.
tl::unexpected<Error> Join(Superblock& superblock, const ChunkId& of,
                           const std::shared_ptr<StagedInode>& staged, NodeId node,
                           const OpenRequest& request);
// Takes over the caller's hold on `staged`.
Result<OpenFilePtr> TakeOver(Superblock& superblock, NodeId node, const ChunkId& of,
                             const std::shared_ptr<StagedInode>& staged,
                             const OpenRequest& request);
// A node that a writer has taken over after it was looked up. A writer of the same version shares
// it; every other caller is led to another one.
Result<OpenFilePtr> OpenTaken(Superblock& superblock, NodeId node, const ChunkId& of,
                              const std::shared_ptr<StagedInode>& staged,
                              const OpenRequest& request);

}  // namespace unshard
