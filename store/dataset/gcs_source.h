// Sources in Google Cloud Storage: without events.
#pragma once

#include "store/dataset/source.h"

namespace unshard {

// Sends one request, as the environment says (store/gcs/environment.h).
Result<SourceParts> OpenGcsSource(const VolumeOptions& options,
                                  const ChangeWatcher::Listener& on_change);

// "gs://bucket/prefix"; of an emulator its URL, the bucket and the prefix.
Result<std::string> LocateGcsSource(const VolumeOptions& options);

}  // namespace unshard
