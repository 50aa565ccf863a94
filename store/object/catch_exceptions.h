// Makes an exception in a call its outcome, so that threads that wait for the outcome get one.
#pragma once

#include <cerrno>
#include <exception>
#include <new>

#include "codec/core/error.h"
#include "store/object/call_failed.h"

namespace unshard {

// What `call` returns, a Result or Status; the error of a CallFailed, kResourceExhausted with
// ENOMEM where memory ran out, and kInternal for any other exception.
template <typename Call>
auto CatchExceptions(const Call& call) -> decltype(call()) {
  try {
    return call();
  } catch (const CallFailed& failed) {
    return tl::unexpected<Error>(failed.error());
  } catch (const std::bad_alloc&) {
    return FailWith(ENOMEM, ErrorCode::kResourceExhausted, "out of memory");
  } catch (const std::exception& exception) {
    return Fail(ErrorCode::kInternal, exception.what());
  }
}

}  // namespace unshard
