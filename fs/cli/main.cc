#include <algorithm>
#include <csignal>
#include <iostream>
#include <string>
#include <vector>

#include "fs/cli/command_line.h"
#include "fs/cli/mount_command.h"
#include "fs/cli/secrets.h"
#include "fs/common/daemon.h"
#include "store/object/catch_exceptions.h"
#include "store/source/source.h"

namespace {

// A command that could not print its answer has not done its work: the disk below the file may be
// full.
int WithOutputWritten(int status) {
  std::cout.flush();
  if (std::cout.good() || status != 0) return status;
  return unshard::ReportFailure(
      {unshard::ErrorCode::kUnavailable,
       "standard output: not all of the answer could be written; make room, or print it elsewhere",
       0});
}

}  // namespace

int main(int argument_count, char** arguments) {
  std::vector<std::string> taken = unshard::TakeArguments(argument_count, arguments);
  unshard::OpenStandardFiles();
  if (std::any_of(taken.begin(), taken.end(), unshard::IsUrl)) unshard::KeepMemoryOutOfCoreDumps();
  // A write beyond the size limit (ulimit -f) must fail with EFBIG, and not end the process.
  signal(SIGXFSZ, SIG_IGN);
  std::vector<char*> pointers;
  for (std::string& argument : taken) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  int status = 1;
  const auto ran = unshard::CatchExceptions([&]() -> unshard::Status {
    status = unshard::RunCommandLine(argument_count, pointers.data());
    return {};
  });
  return WithOutputWritten(ran ? status : unshard::ReportFailure(ran.error()));
}
