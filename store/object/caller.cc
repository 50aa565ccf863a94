#include "store/object/caller.h"

#include <utility>

namespace unshard {
namespace {

thread_local std::function<bool()> interrupted_caller;

}  // namespace

ServedCaller::ServedCaller(std::function<bool()> interrupted) {
  interrupted_caller = std::move(interrupted);
}

ServedCaller::~ServedCaller() { interrupted_caller = nullptr; }

bool CallerIsInterrupted() { return interrupted_caller && interrupted_caller(); }

}  // namespace unshard
