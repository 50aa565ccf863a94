// The command line: `unshard COMMAND …`, and the mount(8) helper.
#pragma once

namespace unshard {

// Runs the program; returns its exit status. Called as mount.unshard or mount.fuse.unshard it takes
// what mount(8) gives its helpers: SOURCE DIRECTORY [-sfnv] [-o OPTIONS].
int RunCommandLine(int argument_count, char** arguments);

}  // namespace unshard
