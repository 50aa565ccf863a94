// Dentries of chunks in the kernel: which may be kept although the chunk changes, and dropping
// them.
#pragma once

#include "fs/tree/entry.h"
#include "fs/write/staged_inode.h"
#include "store/chunks/chunk_tree.h"

namespace unshard {

struct Superblock;

// Whether the kernel may have a dentry of this name that it does not look up before it uses it: of
// a version that was looked up while the array had no writers. Names with ".gz" never have a time
// to live.
bool MayBeRemembered(Superblock& superblock, const StagedInode::Chunk& chunk);
// Before a chunk is written or removed under its name with ".gz": whether that is so of the name
// without. Of an absent chunk it never is, and from now on of no chunk of the array.
bool BareNameIsRemembered(Superblock& superblock, const StagedInode::Chunk& chunk);
// A chunk was written under its name with ".gz": has the name without dropped. Where a reader has
// the version before open, the kernel's node of that name keeps that version's attributes, because
// GETATTR does not say whether it is for fstat(2) or stat(2).
void DropBareName(Superblock& superblock, const ChunkTree& tree, const ChunkRef& chunk);
// A writer without a name has taken over the node that the kernel's dentry leads to, which would
// show the bytes that it writes: has the dentry dropped, and returns when it is, or after a while.
// OPEN holds no lock of the directory, so that FUSE_NOTIFY_INVAL_ENTRY does not wait for ourselves.
void AwaitDrop(Superblock& superblock, const ChunkTree& tree, const ChunkRef& chunk);

}  // namespace unshard
