// Answers that are held back while the spool is beyond its cap: what was asked for is done.
#pragma once

#include <functional>

#include "fs/kernel/operations.h"
#include "store/volume/room.h"

namespace unshard {

// Whether AnswerWithRoom() would hold an answer back now. Never on read-only mounts.
bool MustWait(fuse_req_t request, Room::Cap cap);

// Calls `answer`, which sends the answer of `request`: at once, or from another thread once there
// is room, or a signal ends the wait of the calling program. `answer` must not refer to what ends
// with the callback. The thread of a request that came over io_uring waits itself, since no other
// thread can answer; half of the threads of its queue at most, later answers are not held back.
void AnswerWithRoom(fuse_req_t request, Room::Cap cap, std::function<void()> answer);
// The same for a request on an open file, which waits only if its bytes are in the spool.
void AnswerWithRoom(fuse_req_t request, const OpenFile& file, std::function<void()> answer);

}  // namespace unshard
