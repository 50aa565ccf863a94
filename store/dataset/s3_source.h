// Sources behind s3:// URLs: with listings and without events.
#pragma once

#include "store/dataset/source.h"

namespace unshard {

// Sends no request.
Result<SourceParts> OpenS3Source(const VolumeOptions& options,
                                 const ChangeWatcher::Listener& on_change);

// The bucket's URL at its endpoint, and the prefix: "https://host/bucket/prefix"; "s3://bucket/…"
// on AWS itself.
Result<std::string> LocateS3Source(const VolumeOptions& options);

}  // namespace unshard
