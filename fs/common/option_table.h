// The options of a mount (-o): one row each, which the parser, `unshard help mount`, the manual,
// the completions of shells and .unshard/config.json are made from.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "codec/core/error.h"
#include "codec/json/json.h"
#include "fs/common/mount_options.h"

namespace unshard {

struct MountOption {
  std::string_view name;  // as it is typed: "ttl"
  // What follows "=": "on|off", or a word in capitals for it: "SECONDS"; "": nothing.
  std::string_view values;
  std::string_view fallback;  // the value without the option; "": the text says it, or it is off
  std::string_view text;      // what it does, for the help: a sentence or two
  std::string_view details;   // what the manual says besides
  // Fails with kInvalidArgument, which names the option, the value and what was expected.
  Status (*apply)(const MountOption& option, std::string_view value, MountOptions& options);
  std::string_view member;                               // of config.json
  JsonValue (*describe)(const MountOptions&) = nullptr;  // its value; null: there is none

  [[nodiscard]] bool takes_value() const { return !values.empty(); }
};

// In the order of the help.
std::span<const MountOption> MountOptionTable();

// Null: there is no option of this name.
const MountOption* FindMountOption(std::string_view name);

// The table for the end of `unshard help mount`.
std::string MountOptionsHelp();

// The table as a JSON array, for `unshard help mount --json`.
JsonValue MountOptionsJson();

}  // namespace unshard
