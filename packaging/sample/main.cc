// unshard-sample DIRECTORY [MEGABYTES]: writes the sample there.
#include <csignal>
#include <cstdio>
#include <optional>
#include <string>

#include "codec/grid/chunk_key.h"
#include "packaging/sample/volume.h"

namespace {

constexpr const char* kUsage =
    "Usage: unshard-sample DIRECTORY [MEGABYTES]\n"
    "Writes a sharded segmentation (precomputed) and the image that belongs to it (Zarr v3) into a "
    "new\n"
    "or empty directory: about 200 megabytes, or as many as are asked for.\n";

}  // namespace

int main(int argument_count, char** arguments) {
  const std::string first = argument_count > 1 ? arguments[1] : "";
  if (first == "--help") return std::fputs(kUsage, stdout) < 0;
  const std::optional<std::uint64_t> megabytes =
      argument_count == 3 ? unshard::ParseDecimal(arguments[2]) : std::optional<std::uint64_t>(200);
  if (argument_count < 2 || argument_count > 3 || first.empty() || first.front() == '-') {
    std::fputs(kUsage, stderr);
    return 2;
  }
  if (!megabytes || *megabytes < 1 || *megabytes > unshard::kMostSampleMegabytes) {
    std::fprintf(stderr, "unshard-sample: MEGABYTES: expected 1 to 1000000, found %s\n",
                 arguments[2]);
    return 2;
  }
  std::signal(SIGXFSZ, SIG_IGN);  // a limit of file sizes is an error of the file that meets it
  const unshard::Status written = unshard::WriteSample(first, *megabytes);
  if (!written) {
    std::fprintf(stderr, "unshard-sample: %s\n", written.error().message.c_str());
    return 1;
  }
  std::printf("%s: a sharded segmentation (precomputed) and image (Zarr v3)\n", first.c_str());
  return 0;
}
