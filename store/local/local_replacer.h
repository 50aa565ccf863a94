// Replacing files of this machine, so that several writers, TensorStore among them, may write one
// dataset.
#pragma once

#include <memory>

#include "store/local/file_system.h"
#include "store/local/shard_lock.h"
#include "store/object/object_replacement.h"

namespace unshard {

std::shared_ptr<ObjectReplacer> MakeLocalReplacer(std::shared_ptr<FileSystem> files,
                                                  const LockTimeouts& timeouts = {});

}  // namespace unshard
