// What a service really does with the conditions that it is sent, found out by writing to it: there
// are servers that accept a condition and ignore it.
//
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-requests.html
// https://cloud.google.com/storage/docs/request-preconditions
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "store/remote/object_writer.h"
#include "store/remote/settled_write.h"

namespace unshard {

struct Conduct {
  // What the service does not do that commits rely on, for messages; "": nothing.
  std::string missing;
  // Validators are compared without their quotes.
  bool unquoted = false;
  // Removals keep to their condition.
  bool removes_conditionally = false;
};

struct PartsConduct {
  // The completion of an upload in parts keeps to its condition.
  bool completes_conditionally = false;
  // Copies of ranges keep to theirs.
  bool copies_conditionally = false;
};

// How the name of an object begins that is written to find that out.
inline constexpr std::string_view kProbePrefix = ".unshard-probe-";

// Both write and remove an object kProbePrefix + ID at the root of the writer's store. Requests
// that fail in passing are repeated, and prove nothing. Fail as the requests do: then nothing is
// known. An object stays behind only where it cannot be removed.
Result<Conduct> ProbeConduct(ObjectWriter& writer, const WriteTries& tries);
// Requires: what ProbeConduct has found.
Result<PartsConduct> ProbePartsConduct(ObjectWriter& writer, const Conduct& conduct,
                                       const WriteTries& tries);

// A validator as this service takes it.
WriteCondition ConditionFor(const std::optional<RemoteObject>& base, const Conduct& conduct);

// What has been found, for one bucket of a service: once in the life of the process. Thread-safe.
class KnownConduct {
 public:
  // That of the bucket of `writer`, shared by all writers to it.
  static std::shared_ptr<KnownConduct> Of(const ObjectWriter& writer);

  // Probes where that has not succeeded yet; one thread at a time, while the others wait for it and
  // fail as it does. A failure, such as an exception, is remembered for some seconds, unless the
  // caller did not wait longer.
  Result<Conduct> Get(ObjectWriter& writer, const WriteTries& tries);
  Result<PartsConduct> GetParts(ObjectWriter& writer, const WriteTries& tries);
  // What is known already.
  [[nodiscard]] std::optional<Conduct> Known() const;

 private:
  template <class Found>
  struct Slot;
  struct State;
  template <class Found>
  Result<Found> GetOnce(Slot<Found>& slot, const std::function<Result<Found>()>& probe);

  KnownConduct();
  const std::shared_ptr<State> state_;
};

}  // namespace unshard
