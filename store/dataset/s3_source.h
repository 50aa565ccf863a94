// Sources behind s3:// URLs: read-only, with listings and without events.
#pragma once

#include "store/dataset/source.h"

namespace unshard {

// Sends no request.
Result<SourceParts> OpenS3Source(const VolumeOptions& options,
                                 const ChangeWatcher::Listener& on_change);

}  // namespace unshard
