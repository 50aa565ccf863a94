// Settings of the FUSE connection that libfuse does not pass on to the kernel.
#pragma once

#include "fs/kernel/operations.h"

namespace unshard {

// Intercepts the reply to FUSE_INIT and
//  - adds FUSE_PARALLEL_DIROPS: look-ups and listings of one directory may run side by side.
//    libfuse before 3.17 accepts that flag and does not pass it on, and the kernel sends them one
//    at a time;
//  - adds FUSE_NO_EXPORT_SUPPORT: no file handles for NFS servers;
//  - then raises the mount's read-ahead, so that one READ asks for a whole chunk of usual size.
//    Only root may; for other users the read-ahead stays.
// Call it once, between mounting and serving. The session's user data must be a FuseContext.
void TuneFirstReply(fuse_session* session);

}  // namespace unshard
