#include <csignal>

#include "fs/cli/command_line.h"
#include "fs/common/daemon.h"

int main(int argument_count, char** arguments) {
  unshard::OpenStandardFiles();
  // A write beyond the size limit (ulimit -f) must fail with EFBIG, and not end the process.
  signal(SIGXFSZ, SIG_IGN);
  return unshard::RunCommandLine(argument_count, arguments);
}
