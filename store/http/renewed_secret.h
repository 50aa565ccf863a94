// A secret that expires, such as a token: fetched when it is first needed, and again before its
// end.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "codec/core/error.h"
#include "store/object/deadline.h"

namespace unshard {

struct RenewalTimes {
  // A secret is fetched again so long before it expires, while the old one is still used.
  std::chrono::seconds early{300};
  // But only in this last part of its life: a secret that lives for a minute is not fetched with
  // each request.
  double early_part = 0.25;
  // The most that one fetch takes.
  std::chrono::milliseconds fetch_timeout{20000};
  // After a failed fetch requests fail with its error for so long, and no other fetch begins.
  std::chrono::milliseconds failure_kept{1000};
  // A secret that has expired already when it is fetched, by the clock of this machine, is used for
  // so long: the clock may be ahead, and the service is to judge. It is not used if it was fetched
  // after a refusal.
  std::chrono::seconds doubtful_kept{60};
};

// What RenewedSecret does, whatever the secret is.
class SecretRenewal {
 public:
  using Held = std::shared_ptr<const void>;
  struct Fetched {
    Held secret;
    std::optional<std::chrono::system_clock::time_point> expires;  // nothing: it does not
  };
  using Fetch = std::function<Result<Fetched>(const Deadline&)>;
  using Done = std::function<void(Result<Held>)>;

  SecretRenewal(Fetch fetch, const RenewalTimes& times);
  ~SecretRenewal();
  SecretRenewal(const SecretRenewal&) = delete;
  SecretRenewal& operator=(const SecretRenewal&) = delete;

  void Get(const Deadline& deadline, Done done);
  Held Current();
  void Refuse(const Held& refused);

 private:
  class State;
  const std::shared_ptr<State> state_;
  std::once_flag started_;
  std::thread thread_;
};

// Thread-safe. At most one fetch runs at a time; all callers that need a secret wait for that one.
template <class Secret>
class RenewedSecret {
 public:
  using Held = std::shared_ptr<const Secret>;
  struct Fetched {
    Secret secret;
    std::optional<std::chrono::system_clock::time_point> expires;  // nothing: it does not
  };
  // Blocks, on a thread of its own, until the deadline at the latest or until its stop. An
  // exception is a failure (CatchExceptions), and so is a thread that cannot be started.
  using Fetch = std::function<Result<Fetched>(const Deadline&)>;
  // Must not block.
  using Done = std::function<void(Result<Held>)>;

  explicit RenewedSecret(Fetch fetch, const RenewalTimes& times = {})
      : renewal_(
            [fetch = std::move(fetch)](const Deadline& deadline) -> Result<SecretRenewal::Fetched> {
              UNSHARD_ASSIGN_OR_RETURN(Fetched fetched, fetch(deadline));
              return SecretRenewal::Fetched{
                  std::make_shared<const Secret>(std::move(fetched.secret)), fetched.expires};
            },
            times) {}
  // The destructor ends a fetch, and whoever waits for it with kUnavailable; it may run in `done`.

  // Calls `done` exactly once: before it returns where a secret is at hand, or the last fetch has
  // failed just now; else on another thread, soon after the deadline at the latest.
  void Get(const Deadline& deadline, Done done) {
    renewal_.Get(deadline, [done = std::move(done)](Result<SecretRenewal::Held> held) {
      if (!held) return done(tl::unexpected<Error>(std::move(held).error()));
      done(std::static_pointer_cast<const Secret>(*std::move(held)));
    });
  }
  // The secret that Get would give at once; null where there is none.
  Held Current() { return std::static_pointer_cast<const Secret>(renewal_.Current()); }
  // The service has refused `refused`: the next Get fetches another, unless that has happened.
  void Refuse(const Held& refused) { renewal_.Refuse(refused); }

 private:
  SecretRenewal renewal_;
};

}  // namespace unshard
