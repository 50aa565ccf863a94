// What can be had from the kernel only behind libfuse's back.
#pragma once

#include "fs/kernel/operations.h"

namespace unshard {

// Watches for the reply to the kernel's first request and
//  - adds to it that look-ups and listings of one directory may run side by side: libfuse before
//    3.17 accepts that wish and does not pass it on, and the kernel takes them one after another;
//  - adds that there are no file handles for servers of NFS;
//  - then raises the mount's read-ahead, so that the kernel asks for a whole chunk of usual size at
//    once. Only root may; for others nothing happens.
// To be called once, between mounting and serving. The session's user data must be a FuseContext.
void TuneFirstReply(fuse_session* session);

}  // namespace unshard
