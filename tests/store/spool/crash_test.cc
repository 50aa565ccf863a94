// Crash points of the spool: a scripted run is cut off at its 1st, 2nd, 3rd … file operation until
// it finishes untouched; after each the spool is opened as the next process finds it, and every
// promise is checked.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <random>

#include "store/object/log.h"
#include "store/spool/spool.h"
#include "tests/support/full_run.h"
#include "tests/support/simulated_disk.h"

namespace unshard {
namespace {

constexpr const char* kSource = "file:///data/segmentation";
constexpr int kSteps = 14;
constexpr std::uint64_t kSeedsAtEachPoint = 5;

using ChunkName = std::pair<std::string, std::string>;  // dataset, chunk
const std::vector<ChunkName> kChunks = {{"8_8_8", "0-64_0-64_0-64"}, {"8_8_8", "x"}, {"", "c/0/1"}};

enum class Progress { kNotYet, kTried, kDone };

// One version of a chunk, as far as its writer knows.
struct Version {
  std::string text;
  bool removed = false;
  std::optional<SpooledChunk> sealed;  // acknowledged
  bool synced = false;                 // acknowledged
  Progress published = Progress::kNotYet;
  Progress set_aside = Progress::kNotYet;
};

using Model = std::map<ChunkName, std::vector<Version>>;

// What stands in a spool, by name.
struct Found {
  bool removed = false;
  std::string text;
};

std::string TextOf(Spool& spool, const SpooledChunk& chunk) {
  const auto file = spool.Open(chunk);
  if (!file) return "(" + file.error().message + ")";
  ByteVector bytes(chunk.size);
  bytes.resize((*file)->Read(0, bytes).value_or(0));
  return std::string(AsText(bytes));
}

// Plays a script, the same for equal seeds, and keeps the model of what has been promised.
class ScriptedRun {
 public:
  ScriptedRun(std::shared_ptr<SimulatedDisk> disk, std::uint64_t script)
      : disk_(std::move(disk)), random_(script) {}

  // Plays all steps, or, unless it `goes_on_after_failures`, those before the first failure.
  void Play(bool goes_on_after_failures) {
    if (!Reopen() && !(goes_on_after_failures && Reopen())) return;
    for (int i = 0; i < kSteps; ++i) {
      const bool done = Step();
      if (disk_->crashed() || !spool_ || (!done && !goes_on_after_failures)) return;
    }
  }
  [[nodiscard]] const Model& model() const { return model_; }
  // What was done, for messages.
  [[nodiscard]] const std::string& history() const { return history_; }

 private:
  bool Reopen() {
    spool_.reset();
    auto opened = Spool::Open(disk_, {.source = kSource});
    if (!opened) return false;
    spool_ = *std::move(opened);
    const auto recovered = spool_->TakeRecovered();
    for (auto& [name, versions] : model_) {
      for (Version& version : versions) {
        const bool is_here =
            version.sealed &&
            std::any_of(recovered.begin(), recovered.end(), [&](const SpooledChunk& chunk) {
              return chunk.sequence == version.sealed->sequence;
            });
        // Nobody asks for what is not recovered. What was promised about it remains.
        if (!is_here) version.sealed.reset();
      }
    }
    return true;
  }

  bool Step() {
    std::vector<Version>& versions = model_[kChunks[random_() % kChunks.size()]];
    const ChunkName name = std::find_if(model_.begin(), model_.end(), [&](const auto& entry) {
                             return &entry.second == &versions;
                           })->first;
    const auto kind = random_() % 12;
    const auto before = disk_->operations();
    const bool done = Do(kind, name, versions);
    history_ += " " + std::to_string(kind) + ':' + name.second + '@' + std::to_string(before) +
                (done ? "" : "!");
    return done;
  }

  bool Do(std::uint64_t kind, const ChunkName& name, std::vector<Version>& versions) {
    switch (kind) {
      case 0:
      case 1:
      case 2:
      case 3:
        return Write(name, versions) && Supersede(versions);
      case 4:
        return Write(name, versions);  // the earlier version stays beside it
      case 5:
        return Remove(name, versions) && Supersede(versions);
      case 6:
      case 7:
        return Sync(versions);
      case 8:
      case 9:
        return Publish(versions);
      case 10:
        return random_() % 4 == 0 ? SetAside(versions) : Abandon();
      default:
        return Reopen();
    }
  }

  std::string FreshText() {
    const std::size_t size = random_() % 3 * 700 + random_() % 9;
    std::string text = "version " + std::to_string(++texts_) + ':';
    while (text.size() < size) text += static_cast<char>('a' + random_() % 26);
    return text;
  }

  bool Write(const ChunkName& name, std::vector<Version>& versions) {
    Version version;
    version.text = FreshText();
    versions.push_back(version);
    const auto staged = spool_->Stage();
    if (!staged) return false;
    const ByteSpan bytes = AsBytes(version.text);
    const std::size_t half = bytes.size() / 2;
    const bool backwards = random_() % 4 == 0;
    if (backwards && !(*staged)->Write(half, bytes.subspan(half))) return false;
    if (!(*staged)->Write(0, bytes.first(half))) return false;
    if (!backwards && !(*staged)->Write(half, bytes.subspan(half))) return false;
    return Acknowledge(spool_->Seal(staged->get(), name.first, name.second, {}), versions);
  }

  bool Remove(const ChunkName& name, std::vector<Version>& versions) {
    versions.push_back({});
    versions.back().removed = true;
    return Acknowledge(spool_->Seal(nullptr, name.first, name.second, {}), versions);
  }

  static bool Acknowledge(Result<SpooledChunk> sealed, std::vector<Version>& versions) {
    if (sealed) versions.back().sealed = *sealed;
    return sealed.has_value();
  }

  // Discards what a later version stands for.
  bool Supersede(std::vector<Version>& versions) {
    bool done = true;
    for (std::size_t i = 0; i + 1 < versions.size(); ++i) {
      if (versions[i].sealed) done &= spool_->Discard(*versions[i].sealed).has_value();
    }
    return done;
  }

  // The latest version that the spool has been asked to keep, and still keeps.
  static Version* Latest(std::vector<Version>& versions) {
    const auto latest = std::find_if(versions.rbegin(), versions.rend(),
                                     [](const Version& each) { return each.sealed.has_value(); });
    if (latest == versions.rend() || latest->published != Progress::kNotYet ||
        latest->set_aside != Progress::kNotYet) {
      return nullptr;
    }
    return &*latest;
  }

  bool Sync(std::vector<Version>& versions) {
    Version* const latest = Latest(versions);
    if (latest == nullptr) return true;
    latest->synced |= spool_->Sync({*latest->sealed}).has_value();
    return latest->synced;
  }

  bool Publish(std::vector<Version>& versions) {
    Version* const latest = Latest(versions);
    if (latest == nullptr) return true;
    // Earlier versions that are still there go first, as they would when their successor came.
    if (!Supersede(versions) || !spool_->PrepareToPublish({*latest->sealed})) return false;
    latest->published = Progress::kTried;
    if (!spool_->Discard(*latest->sealed)) return false;
    latest->published = Progress::kDone;
    return true;
  }

  bool SetAside(std::vector<Version>& versions) {
    Version* const latest = Latest(versions);
    if (latest == nullptr) return true;
    if (!Supersede(versions)) return false;
    latest->set_aside = Progress::kTried;
    if (!spool_->Quarantine(*latest->sealed)) return false;
    latest->set_aside = Progress::kDone;
    return true;
  }

  bool Abandon() {
    const auto staged = spool_->Stage();
    return staged && (*staged)->Write(0, AsBytes("never sealed"));
  }

  const std::shared_ptr<SimulatedDisk> disk_;
  std::mt19937_64 random_;
  std::unique_ptr<Spool> spool_;
  Model model_;
  int texts_ = 0;
  std::string history_;
};

// Checks one chunk after the crash. `kept`: the process died, but the machine did not.
void CheckChunk(const std::vector<Version>& versions, const Found* found, const Found* aside,
                bool kept) {
  int floor = -1;  // no earlier version than this may be there
  bool may_be_absent = true;
  for (int i = 0; i < static_cast<int>(versions.size()); ++i) {
    const Version& version = versions[static_cast<std::size_t>(i)];
    if (version.synced || (kept && version.sealed)) {
      floor = i;
      may_be_absent = false;
    }
    if (version.published != Progress::kNotYet) {
      floor = i;
      may_be_absent = true;
    }
    if (version.set_aside != Progress::kNotYet) {
      floor = i;
      may_be_absent = true;
      const bool is_aside = aside != nullptr && aside->text == version.text;
      const bool is_there = found != nullptr && found->text == version.text;
      const bool is_newest = i + 1 == static_cast<int>(versions.size());
      if (version.set_aside == Progress::kDone) {
        EXPECT_TRUE(is_aside) << "a conflict is lost";
      }
      if (version.synced && is_newest) {
        EXPECT_TRUE(is_aside || is_there) << "lost on its way";
      }
    }
  }
  if (found == nullptr) {
    EXPECT_TRUE(may_be_absent) << "version " << floor << " is lost";
    return;
  }
  const auto is_found = [&](const Version& version) {
    return version.removed == found->removed && version.text == found->text;
  };
  const auto from = versions.begin() + std::max(floor, 0);
  EXPECT_TRUE(std::any_of(from, versions.end(), is_found))
      << "found '" << found->text.substr(0, 20) << "', expected version " << floor << " or later";
}

// Opens the spool that stands on `disk`, and checks all of it.
void Check(const std::shared_ptr<SimulatedDisk>& disk, const Model& model, bool kept) {
  auto opened = Spool::Open(disk, {.source = kSource});
  ASSERT_TRUE(opened) << opened.error().message;
  Spool& spool = **opened;
  std::map<ChunkName, Found> found;
  std::map<ChunkName, Found> aside;
  std::uint64_t last = 0;
  for (const SpooledChunk& chunk : spool.TakeRecovered()) {
    EXPECT_GT(chunk.sequence, last) << "in order of sequence";
    last = chunk.sequence;
    const bool is_new =
        found.insert({{chunk.dataset, chunk.chunk}, {chunk.removed, TextOf(spool, chunk)}}).second;
    EXPECT_TRUE(is_new) << "two versions of " << chunk.chunk;
  }
  for (const SpooledChunk& chunk : spool.Conflicts()) {
    last = std::max(last, chunk.sequence);
    const std::string path = "conflicts/" + std::string(chunk.dataset.empty() ? "%2E" : "8_8_8");
    aside[{chunk.dataset, chunk.chunk}] = {
        chunk.removed, disk->Text(path + '/' + SealedName(chunk)).value_or("(missing)")};
  }
  for (const auto& [name, chunk] : found) {
    EXPECT_TRUE(model.contains(name)) << name.second << " was never sealed";
  }
  for (const auto& [name, versions] : model) {
    SCOPED_TRACE(name.second);
    const auto here = found.find(name);
    const auto there = aside.find(name);
    CheckChunk(versions, here == found.end() ? nullptr : &here->second,
               there == aside.end() ? nullptr : &there->second, kept);
  }
  // And it works.
  const auto staged = spool.Stage();
  ASSERT_TRUE(staged);
  const auto sealed = spool.Seal(staged->get(), "8_8_8", "new", {});
  ASSERT_TRUE(sealed) << sealed.error().message;
  EXPECT_GT(sealed->sequence, last);
  EXPECT_TRUE(spool.Sync({*sealed}));
}

// The disk after the process that recovers it has crashed as well, now and then.
std::shared_ptr<SimulatedDisk> AfterCrashOfRecovery(std::shared_ptr<SimulatedDisk> disk,
                                                    std::uint64_t seed) {
  if (seed % 3 == 0) return disk;
  disk->CrashAt(1 + seed % 17);
  (void)Spool::Open(disk, {.source = kSource});
  if (seed % 3 == 1) return disk->AfterPowerLoss(Survival::kRandom, seed);
  return disk->AfterKill();
}

class SpoolCrash : public testing::TestWithParam<std::uint64_t> {
 protected:
  // Thousands of torn files are expected here.
  static void SetUpTestSuite() { StartLog(LogSink::kStandardError, LogLevel::kError); }
  static void TearDownTestSuite() { StartLog(LogSink::kStandardError, LogLevel::kInfo); }
};

INSTANTIATE_TEST_SUITE_P(Scripts, SpoolCrash,
                         testing::Range<std::uint64_t>(1, InFullRun(12U, 4U) + 1));

TEST_P(SpoolCrash, EveryPromiseHoldsAtEveryOperation) {
  std::uint64_t states = 0;
  std::uint64_t point = 1;
  for (bool finished = false; !finished; ++point) {
    const auto disk = std::make_shared<SimulatedDisk>(SimulatedDiskOptions{.seed = point});
    disk->CrashAt(point);
    ScriptedRun run(disk, GetParam());
    run.Play(false);
    finished = !disk->crashed();
    SCOPED_TRACE("operation " + std::to_string(point) + run.history());
    Check(disk->AfterKill(), run.model(), true);
    Check(disk->AfterPowerLoss(Survival::kNothing, point), run.model(), false);
    Check(disk->AfterPowerLoss(Survival::kEverything, point), run.model(), false);
    states += 3;
    for (std::uint64_t i = 0; i < kSeedsAtEachPoint; ++i, ++states) {
      const std::uint64_t seed = point * kSeedsAtEachPoint + i;
      SCOPED_TRACE("seed " + std::to_string(seed));
      Check(AfterCrashOfRecovery(disk->AfterPowerLoss(Survival::kRandom, seed), seed), run.model(),
            false);
      if (HasFailure()) return;
    }
  }
  ASSERT_GT(point, 40U) << "the script does too little";
  RecordProperty("states", std::to_string(states));
}

TEST_P(SpoolCrash, FailuresBreakNoPromise) {
  std::uint64_t points = 0;
  for (const int failure : {EIO, ENOSPC}) {
    for (const bool lasting : {false, true}) {
      for (std::uint64_t point = 1;; ++point, ++points) {
        const bool evicts = point % 2 == 0;
        const auto disk = std::make_shared<SimulatedDisk>(
            SimulatedDiskOptions{.failed_sync_evicts = evicts, .seed = point});
        disk->FailAt(point, failure, lasting);
        ScriptedRun run(disk, GetParam());
        run.Play(true);
        SCOPED_TRACE("operation " + std::to_string(point) + (lasting ? " lasting" : "") +
                     (evicts ? " evicts" : "") + run.history());
        const bool reached = disk->operations() >= point;
        Check(disk->AfterPowerLoss(Survival::kNothing, point), run.model(), false);
        Check(disk->AfterPowerLoss(Survival::kRandom, point), run.model(), false);
        if (HasFailure()) return;
        if (!reached) break;
      }
    }
  }
  RecordProperty("points", std::to_string(points));
}

}  // namespace
}  // namespace unshard
