#include <csignal>

#include "fs/cli/command_line.h"
#include "fs/common/daemon.h"

int main(int argument_count, char** arguments) {
  unshard::OpenStandardFiles();
  // A file that must not become so large (ulimit -f) fails with EFBIG, and ends nobody.
  signal(SIGXFSZ, SIG_IGN);
  return unshard::RunCommandLine(argument_count, arguments);
}
