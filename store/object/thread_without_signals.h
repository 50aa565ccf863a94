// Threads that no signal is delivered to: signals are for the threads that wait for them.
#pragma once

#include <functional>
#include <thread>

namespace unshard {

std::thread StartWithoutSignals(std::function<void()> run);

}  // namespace unshard
