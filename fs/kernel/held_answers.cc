#include "fs/kernel/held_answers.h"

#include <memory>
#include <utility>

#include "fs/kernel/interrupts.h"
#include "fs/kernel/replies.h"
#include "fs/kernel/ring_queues.h"
#include "fs/write/request_epoch.h"

namespace unshard {

bool MustWait(fuse_req_t request, Room::Cap cap) {
  WritePipeline* const writes = ContextOf(request).fs->volume().writes();
  return writes != nullptr && writes->room().IsOver(cap);
}

void AnswerWithRoom(fuse_req_t request, Room::Cap cap, std::function<void()> answer) {
  if (!MustWait(request, cap)) return answer();
  Room& room = ContextOf(request).fs->volume().writes()->room();
  if (RingQueues::Current() == nullptr) {
    auto stop = std::make_shared<InterruptStop>(request);
    room.Hold(cap, stop->token(), [stop, send = std::move(answer)] { send(); });
    return;
  }
  if (const RingQueues::Waiting waiting; waiting.allowed()) {
    const InterruptStop stop(request);
    RequestEpoch::Outside([&] { room.Wait(cap, stop.token()); });
  }
  answer();
}

void AnswerWithRoom(fuse_req_t request, const OpenFile& file, std::function<void()> answer) {
  // Files of a directory are written in place.
  if (file.staged() == nullptr && !ContextOf(request).is_remote) return answer();
  AnswerWithRoom(request, Room::Cap::kOnce, std::move(answer));
}

}  // namespace unshard
