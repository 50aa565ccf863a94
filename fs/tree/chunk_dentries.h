// The kernel's dentries of chunks: which may have a time to live although the chunk changes, and
// how they are dropped.
#pragma once

#include "fs/tree/entry.h"
#include "fs/write/staged_inode.h"
#include "store/chunks/chunk_tree.h"

namespace unshard {

struct Superblock;

// Whether the kernel may have a dentry of this name that it uses without a look-up: one of a
// version that was looked up while the array had no writers. Names with ".gz" never have a time to
// live.
bool MayBeRemembered(Superblock& superblock, const StagedInode::Chunk& chunk);
// To be called before a chunk is written or removed under its name with ".gz": whether the kernel
// may have such a dentry of the name without ".gz". It has none of an absent chunk, and from now on
// gets none of any chunk of the array.
bool PlainNameIsRemembered(Superblock& superblock, const StagedInode::Chunk& chunk);
// After a chunk was written under its name with ".gz": has the dentry of the name without ".gz"
// dropped. Where a reader has the version before open, the kernel's node of that name keeps that
// version's attributes, because GETATTR does not say whether it is for fstat(2) or stat(2).
void DropPlainName(Superblock& superblock, const ChunkTree& tree, const ChunkRef& chunk);
// A writer that opened by descriptor has taken over the node that the kernel's dentry leads to, and
// readers of the name would see its uncommitted bytes: has the dentry dropped, and returns when it
// is, or after a while. The kernel holds no lock of the directory during OPEN, so
// FUSE_NOTIFY_INVAL_ENTRY does not wait for this request.
void AwaitDrop(Superblock& superblock, const ChunkTree& tree, const ChunkRef& chunk);

}  // namespace unshard
