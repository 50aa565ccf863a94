// How the threads choose:
//
//   1. A shard that is due: a caller waits for it, it is complete, idle for long enough, or has
//      failed and its pause is over. Earliest first.
//   2. Above high water, or while writers wait for room: the largest that has not failed.
//   3. While writers wait for room and all that is left has failed: one of these, but not sooner
//      than the shortest pause after the last failure, so that a dead store is not asked at each
//      write.
//
// While the store is away (is_away) no shard is chosen before the common pause is over, which grows
// to a minute. Sooner comes one attempt for each caller that begins to wait, and for room as in 3.
// Only one attempt runs at a time. An attempt that the store answers ends this state. So does an
// answer to a request of others (6), unless such an answer ended it last time and no publish has
// succeeded since: the store may serve readers only. If nothing is dirty, the queue asks it (7).
//
// A waiter remembers the number of the last addition and of the last attempt (4). It is done once
// that addition is published, and has failed once an attempt with a larger number has (5): an
// attempt that ran when it came may have met a trouble that is over. While the store is away that
// may be an attempt of any shard.
#include "store/publish/queue.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

#include "store/object/catch_exceptions.h"
#include "store/object/log.h"
#include "store/object/thread_without_signals.h"
#include "store/publish/dirty_shards.h"

namespace unshard {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kShortestPause{500};
constexpr milliseconds kLongestPause{60000};
constexpr milliseconds kLongestPauseOfAsking{5000};
// What a store over a network denies it may allow without a word to this host: credentials that
// have expired are renewed, rights are granted. Each attempt may send a whole shard in vain.
constexpr milliseconds kShortestPauseOfDenied{10000};
constexpr milliseconds kLongestPauseOfDenied{600000};
// After these errors another attempt fails again, until a person has changed the source or an
// option.
bool IsPermanent(const Error& error) {
  // Without an errno: one of our caps, and not a disk that is full.
  const bool above_cap = error.code == ErrorCode::kResourceExhausted && error.system_errno == 0;
  return above_cap || error.code == ErrorCode::kNotSupported ||
         error.code == ErrorCode::kReadOnly || error.code == ErrorCode::kPermissionDenied;
}

// After so many failures in a row a writer that waits for room gets ENOSPC.
constexpr unsigned kHopelessFailures = 3;
// How long a writer waits for room while nothing is there to publish: others may be about to
// commit.
constexpr milliseconds kQuietTime{100};
// Room may come without a publish, where a version is discarded.
constexpr milliseconds kLookForRoom{50};
// An injected clock wakes no thread when it moves.
constexpr milliseconds kLookAtInjectedClock{1};
constexpr char kWaiting[] = "waiting until chunks are published";

}  // namespace

struct PublishQueue::State {
  using Time = DirtyShards::Time;

  State(Publish publish_shard, const PublishQueueOptions& queue_options, Clock queue_clock)
      : publish(std::move(publish_shard)),
        options(queue_options),
        injected(queue_clock != nullptr),
        clock(injected ? std::move(queue_clock) : [] { return std::chrono::steady_clock::now(); }),
        dirty(queue_options.publish_after) {}

  struct Ticket {
    DirtyShard shard;
    std::uint64_t addition, attempt;
    std::uint64_t latest;  // attempt of any shard
  };
  // The store is away since an attempt failed.
  struct Away {
    Error error;
    std::uint64_t attempt = 0;
    milliseconds pause{0};
    Time until{};
    bool asked = false;            // a caller waits, and no attempt has begun since
    bool despite_answers = false;  // it answers others: they do not shorten the pause
    bool answered = false;         // others, since
  };

  // All of these with the mutex held.
  [[nodiscard]] bool AboveHighWater() const;
  [[nodiscard]] bool RoomIsWanted() const { return writers_waiting > 0 || room_wanted; }
  [[nodiscard]] std::optional<DirtyShard> Choose(Time now) const;
  [[nodiscard]] std::optional<Time> NextLook() const;
  [[nodiscard]] bool MayAsk(Time now) const;
  void Run(const DirtyShard& shard, std::unique_lock<std::mutex>& lock);
  void MarkFailed(const DirtyShard& shard, Error error, Time now);
  void WaitForWork(Time now, std::unique_lock<std::mutex>& lock);
  void SetAway(std::optional<Away> now);
  void TakeAnswer();
  // Has a thread of the queue write a line to the log. Who calls may be the thread of the network.
  void Note(LogLevel level, std::string line);
  // Releases the mutex: whoever reads the log may be slow.
  void WriteNotes(std::unique_lock<std::mutex>& lock);
  [[nodiscard]] bool AsksForItself() const;
  void Ask(std::unique_lock<std::mutex>& lock);
  [[nodiscard]] std::optional<Status> Outcome(const Ticket& ticket) const;
  Status WaitForOutcome(const Ticket& ticket, std::unique_lock<std::mutex>& lock,
                        const Deadline& deadline);
  [[nodiscard]] bool IsHopeless(std::uint64_t failures_before, Time since) const;

  void Work();

  const Publish publish;
  const PublishQueueOptions options;
  const bool injected;
  const Clock clock;

  std::mutex mutex;
  std::condition_variable work;       // a shard may be due sooner than before
  std::condition_variable_any ended;  // an attempt has ended
  // All guarded by mutex:
  DirtyShards dirty;
  std::uint64_t publishes = 0, failures = 0;
  unsigned failures_in_a_row = 0;
  Time last_failure = Time::min();
  Time last_change = Time::min();  // the last addition or end of an attempt
  unsigned writers_waiting = 0;
  bool room_wanted = false;  // WantRoom() was called since the last attempt began
  bool stopping = false;
  std::optional<Away> away;
  // Of the last time when the store was away, until a publish succeeds; 0: it has.
  milliseconds unproven_pause{0};
  bool asking = false;
  std::vector<std::pair<LogLevel, std::string>> notes;  // for the log

  // `away`, and not answered; read without the mutex.
  std::atomic<bool> silent = false;
  std::vector<std::thread> threads;
};

bool PublishQueue::State::AboveHighWater() const {
  const auto above = [](std::int64_t amount, std::uint64_t limit) {
    return limit != 0 && amount > 0 && static_cast<std::uint64_t>(amount) > limit;
  };
  return above(dirty.waiting_bytes(), options.high_water_bytes) ||
         above(dirty.waiting_chunks(), options.high_water_files);
}

// Whether an attempt may begin, as far as the store is concerned.
bool PublishQueue::State::MayAsk(Time now) const {
  if (!away) return true;
  if (dirty.running() > 0) return false;
  const bool for_room = RoomIsWanted() && now - kShortestPause >= last_failure;
  return away->asked || for_room || now >= away->until;
}

std::optional<DirtyShard> PublishQueue::State::Choose(Time now) const {
  if (!MayAsk(now)) return std::nullopt;
  if (away) return dirty.Earliest();
  if (const auto due = dirty.Due(now)) return due;  // 1
  if (RoomIsWanted() || AboveHighWater()) {         // 2
    if (const auto largest = dirty.Largest()) return largest;
  }
  if (RoomIsWanted() && dirty.running() == 0 && now - kShortestPause >= last_failure) {  // 3
    return dirty.Earliest();
  }
  return std::nullopt;
}

std::optional<PublishQueue::State::Time> PublishQueue::State::NextLook() const {
  if (AsksForItself()) return away->until;
  std::optional<Time> next = dirty.NextDue();
  if (away && next) {
    if (dirty.running() > 0) return std::nullopt;  // its end wakes the threads
    next = away->asked ? Time::min() : away->until;
  }
  if (next && RoomIsWanted() && dirty.running() == 0) {
    next = std::min(*next, last_failure + kShortestPause);
  }
  return next;
}

void PublishQueue::State::WaitForWork(Time now, std::unique_lock<std::mutex>& lock) {
  const auto next = NextLook();
  if (!next || *next == Time::max()) return work.wait(lock);
  const Time soonest = now + milliseconds(1);
  const auto until_next = std::max(*next, soonest) - now;
  work.wait_for(lock, injected ? Time::duration(kLookAtInjectedClock) : until_next);
}

void PublishQueue::State::Run(const DirtyShard& shard, std::unique_lock<std::mutex>& lock) {
  dirty.Begin(shard);
  room_wanted = false;
  if (away) away->asked = false;
  // While this thread is busy another one has to wait for the next shard that is due.
  if (dirty.NextDue()) work.notify_one();
  lock.unlock();
  // An exception would end the process, and leave the shard running for ever.
  Result<Done> result = CatchExceptions([&] { return publish(shard); });
  lock.lock();
  const Time now = clock();
  last_change = now;
  if (result) {
    dirty.MarkPublished(shard, *result);
    if (result->rewritten) ++publishes;
    failures_in_a_row = 0;
    if (away) Note(LogLevel::kInfo, "the store answers again: publishing resumes");
    SetAway(std::nullopt);
    unproven_pause = milliseconds(0);
  } else {
    MarkFailed(shard, std::move(result).error(), now);
  }
  work.notify_all();
  WriteNotes(lock);  // before those are woken who wait for the outcome
  // Without the mutex, which a thread that wakes up takes first.
  lock.unlock();
  ended.notify_all();
  lock.lock();
}

void PublishQueue::State::MarkFailed(const DirtyShard& shard, Error error, Time now) {
  ++failures;
  ++failures_in_a_row;
  last_failure = now;
  const bool is_away = options.is_away && options.is_away(error);
  const milliseconds before =
      is_away ? (away ? away->pause : unproven_pause) : dirty.Find(shard)->pause;
  const bool denied = options.is_away && error.code == ErrorCode::kPermissionDenied;
  const milliseconds pause =
      denied ? std::clamp(before * 2, kShortestPauseOfDenied, kLongestPauseOfDenied)
             : std::clamp(before * 2, kShortestPause, kLongestPause);
  const bool permanent = !is_away && !denied && IsPermanent(error);
  // EINTR: the mount is ending, and says itself what is left.
  if (error.system_errno != EINTR) {
    Note(LogLevel::kWarning,
         error.message + "; publishing " +
             (permanent ? "is not retried before a flush or the next mount"
              : is_away ? "resumes in " + std::to_string(pause.count()) + " ms"
                        : "is retried in " + std::to_string(pause.count()) + " ms"));
  }
  if (is_away) {
    const bool asked = away && away->asked;
    SetAway(Away{error, dirty.Find(shard)->attempt, pause, now + pause, asked,
                 unproven_pause.count() != 0});
    // The common pause is enough: once that is over nothing waits any longer.
    return dirty.FailUntil(shard, std::move(error), milliseconds(0), now);
  }
  SetAway(std::nullopt);  // it has answered
  unproven_pause = milliseconds(0);
  dirty.FailUntil(shard, std::move(error), pause, permanent ? Time::max() : now + pause);
}

void PublishQueue::State::Note(LogLevel level, std::string line) {
  notes.emplace_back(level, std::move(line));
  work.notify_one();
}

void PublishQueue::State::WriteNotes(std::unique_lock<std::mutex>& lock) {
  const auto lines = std::exchange(notes, {});
  if (lines.empty()) return;
  lock.unlock();
  for (const auto& [level, line] : lines) Log(level, line);
  lock.lock();
}

void PublishQueue::State::SetAway(std::optional<Away> now) {
  away = std::move(now);
  silent = away && !away->answered;
}

// Step 6.
void PublishQueue::State::TakeAnswer() {
  if (!away) return;
  if (away->despite_answers) {
    away->answered = true;
    silent = false;
    return;
  }
  Note(LogLevel::kInfo, "the store answers again");
  // Where no publish has failed there is nothing to prove.
  if (away->attempt != 0) unproven_pause = away->pause;
  SetAway(std::nullopt);
  work.notify_all();
}

bool PublishQueue::State::AsksForItself() const {
  return options.ask && away && !away->answered && !asking && dirty.entries().empty();
}

// Step 7.
void PublishQueue::State::Ask(std::unique_lock<std::mutex>& lock) {
  asking = true;
  lock.unlock();
  const auto answered = CatchExceptions([&]() -> Result<bool> { return options.ask(); });
  lock.lock();
  asking = false;
  if (answered && *answered) return TakeAnswer();
  if (!away) return;
  away->pause = std::clamp(away->pause * 2, kShortestPause, kLongestPauseOfAsking);
  away->until = clock() + away->pause;
}

void PublishQueue::State::Work() {
  std::unique_lock lock(mutex);
  while (!stopping) {
    if (!notes.empty()) {
      WriteNotes(lock);
      continue;
    }
    const Time now = clock();
    if (const auto shard = Choose(now)) {
      Run(*shard, lock);
    } else if (AsksForItself() && now >= away->until) {
      Ask(lock);
    } else {
      WaitForWork(now, lock);
    }
  }
  WriteNotes(lock);
}

std::optional<Status> PublishQueue::State::Outcome(const Ticket& ticket) const {
  const DirtyShards::Entry* entry = dirty.Find(ticket.shard);
  if (entry == nullptr || entry->published >= ticket.addition) return Status{};
  if (entry->error && entry->failed_attempt > ticket.attempt) {  // 5
    return Status(tl::unexpected<Error>(*entry->error));
  }
  if (away && away->attempt > ticket.latest) return Status(tl::unexpected<Error>(away->error));
  if (stopping) return Status(Fail(ErrorCode::kUnavailable, "the mount is ending"));
  return std::nullopt;
}

Status PublishQueue::State::WaitForOutcome(const Ticket& ticket, std::unique_lock<std::mutex>& lock,
                                           const Deadline& deadline) {
  std::optional<Status> outcome;
  UNSHARD_RETURN_IF_ERROR(WaitUntil(ended, lock, deadline, kWaiting, [&] {
    outcome = Outcome(ticket);
    return outcome.has_value();
  }));
  return *std::move(outcome);
}

bool PublishQueue::State::IsHopeless(std::uint64_t failures_before, Time since) const {
  if (stopping) return true;
  const std::uint64_t failed = failures - failures_before;
  if (dirty.entries().empty()) {
    return clock() - std::max(since, last_change) >= Time::duration(kQuietTime);
  }
  const bool all_tried = dirty.running() == 0 && !dirty.Largest();
  return failed > 0 &&
         (all_tried || std::min<std::uint64_t>(failed, failures_in_a_row) >= kHopelessFailures);
}

PublishQueue::PublishQueue(Publish publish, const PublishQueueOptions& options, Clock clock)
    : state_(std::make_unique<State>(std::move(publish), options, std::move(clock))) {
  state_->threads.reserve(std::max(options.threads, 1u));
  try {
    for (unsigned i = 0; i < std::max(options.threads, 1u); ++i) {
      state_->threads.push_back(StartWithoutSignals([this] { state_->Work(); }));
    }
  } catch (const std::system_error&) {
    // The system allows no more threads: those that there are publish all shards.
    if (state_->threads.empty()) throw;
  }
}

PublishQueue::~PublishQueue() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
  }
  state_->work.notify_all();
  state_->ended.notify_all();
  for (std::thread& thread : state_->threads) thread.join();
}

void PublishQueue::Add(const DirtyShard& shard, std::int64_t chunks, std::int64_t bytes,
                       bool complete) {
  State& state = *state_;
  std::unique_lock lock(state.mutex);
  const auto before = state.dirty.NextDue();
  state.last_change = state.clock();
  state.dirty.Add(shard, chunks, bytes, complete, state.last_change);
  const auto after = state.dirty.NextDue();
  // Most additions make nothing due sooner: no thread is woken for them.
  const bool wake =
      (after && (!before || *after < *before)) || state.RoomIsWanted() || state.AboveHighWater();
  lock.unlock();
  if (wake) state.work.notify_one();
}

Status PublishQueue::Flush(const DirtyShard& shard, const Deadline& deadline) {
  State& state = *state_;
  std::unique_lock lock(state.mutex);
  const DirtyShards::Entry* entry = state.dirty.Find(shard);
  if (entry == nullptr) return {};
  const State::Ticket ticket{shard, entry->added, entry->attempt, state.dirty.last_attempt()};  // 4
  state.dirty.Force(shard);
  if (state.away) state.away->asked = true;
  lock.unlock();
  state.work.notify_one();
  lock.lock();
  return state.WaitForOutcome(ticket, lock, deadline);
}

Status PublishQueue::FlushAll(const Deadline& deadline) {
  State& state = *state_;
  std::unique_lock lock(state.mutex);
  std::vector<State::Ticket> tickets;
  for (const auto& [shard, entry] : state.dirty.entries()) {
    tickets.push_back({shard, entry.added, entry.attempt, state.dirty.last_attempt()});  // 4
  }
  if (state.away && !tickets.empty()) state.away->asked = true;
  for (const State::Ticket& ticket : tickets) state.dirty.Force(ticket.shard);
  lock.unlock();
  // A thread that begins a publish wakes the next one.
  if (!tickets.empty()) state.work.notify_one();
  lock.lock();
  Status first;
  for (const State::Ticket& ticket : tickets) {
    Status outcome = state.WaitForOutcome(ticket, lock, deadline);
    if (!outcome && !deadline.Check(kWaiting)) return outcome;
    if (first && !outcome) first = std::move(outcome);
  }
  return first;
}

Status PublishQueue::WaitForRoom(const std::function<bool()>& has_room, const Deadline& deadline) {
  // Without the mutex: `has_room` may take a lock whose holder waits for ours in Add.
  if (has_room()) return {};
  State& state = *state_;
  std::unique_lock lock(state.mutex);
  const std::uint64_t failures_before = state.failures;
  const State::Time since = state.clock();
  ++state.writers_waiting;
  state.work.notify_all();
  bool room = false;
  Status in_time;
  while (true) {
    // Read before has_room() is asked again, so that room made by the last success is seen.
    const bool hopeless = state.IsHopeless(failures_before, since);
    lock.unlock();
    room = has_room();
    lock.lock();
    in_time = deadline.Check(kWaiting);
    if (room || hopeless || !in_time) break;
    const auto pause = state.injected ? kLookAtInjectedClock : kLookForRoom;
    state.ended.wait_until(lock, deadline.stop,
                           std::min(deadline.at, std::chrono::steady_clock::now() + pause),
                           [&] { return false; });
  }
  --state.writers_waiting;
  if (room) return {};
  UNSHARD_RETURN_IF_ERROR(in_time);
  const std::optional<Error> error = state.dirty.LastError();
  Error full{ErrorCode::kResourceExhausted, "the spool is full", ENOSPC};
  if (error) full.message += ", and publishing fails: " + error->message;
  return tl::unexpected<Error>(std::move(full));
}

void PublishQueue::WantRoom() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->room_wanted = true;
  }
  state_->work.notify_one();
}

bool PublishQueue::StoreIsAway() const { return state_->silent; }

void PublishQueue::StoreAnswered() {
  if (!state_->silent) return;
  const std::lock_guard lock(state_->mutex);
  state_->TakeAnswer();
}

void PublishQueue::FoundStoreAway(const Error& error) {
  const std::lock_guard lock(state_->mutex);
  if (state_->away) {
    state_->away->answered = false;
    state_->silent = true;
    return;
  }
  state_->Note(LogLevel::kWarning, error.message + "; publishing waits for the store");
  state_->SetAway(State::Away{error, 0, kShortestPause, state_->clock() + kShortestPause});
  // Something has to find out when it is back.
  state_->work.notify_all();
}

PublishProgress PublishQueue::progress() const {
  State& state = *state_;
  const std::lock_guard lock(state.mutex);
  PublishProgress progress;
  const auto counted = [](std::int64_t amount) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(amount, 0));
  };
  progress.dirty_shards = state.dirty.entries().size();
  progress.dirty_chunks = counted(state.dirty.chunks());
  progress.dirty_bytes = counted(state.dirty.bytes());
  progress.running = state.dirty.running();
  std::optional<State::Time> oldest;
  for (const auto& [shard, entry] : state.dirty.entries()) {
    oldest = std::min(oldest.value_or(entry.first), entry.first);
  }
  if (oldest) {
    progress.oldest = std::chrono::duration_cast<milliseconds>(state.clock() - *oldest);
  }
  progress.publishes = state.publishes;
  progress.failures = state.failures;
  progress.last_error = state.dirty.LastError();
  return progress;
}

}  // namespace unshard
