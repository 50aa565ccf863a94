// One version of an object on an HTTP server.
#pragma once

#include <memory>
#include <string>

#include "store/http/http_answer.h"
#include "store/http/http_server.h"
#include "store/object/object_store.h"

namespace unshard {

// A version that is read by conditional range requests. Every answer is compared with the version
// as well: its size always, its validators where it has them.
std::shared_ptr<ObjectVersion> MakeRangedVersion(std::shared_ptr<HttpServer> server,
                                                 std::string key, HttpObject object);

// A version that is read as a whole, because the server has no ranges. Its bytes are kept in memory
// as long as there is room. Each read asks the server whether it is still the current one.
std::shared_ptr<ObjectVersion> MakeWholeVersion(std::shared_ptr<HttpServer> server, std::string key,
                                                HttpObject object);

}  // namespace unshard
