#include "fs/command_line.h"

int main(int argument_count, char** arguments) {
  return unshard::RunCommandLine(argument_count, arguments);
}
