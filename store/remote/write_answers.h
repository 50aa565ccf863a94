// What S3 and GCS have in common in their answers to writes, and how long these are waited for.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>

#include "store/http/transport.h"
#include "store/object/deadline.h"
#include "store/remote/object_writer.h"

namespace unshard {

// Of a request that was sent once and has ended with an error of the transport: not sent, lost, or,
// where nothing is ever sent (no credential, no trust in the certificate), refused.
WriteAnswer UnansweredWrite(const Error& error);

// What the Retry-After of an answer asks for: at most a minute.
std::chrono::milliseconds RetryAfterOf(const HttpResponse& response);

// When the version that an answer is about was made, as far as the answer tells; 0: it does not.
std::time_t ModifiedOf(const HttpResponse& response);

// Until when a request that sends, or puts together, so many bytes may take.
Deadline UploadDeadline(std::uint64_t bytes);

}  // namespace unshard
