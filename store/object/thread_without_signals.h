// Threads that no signal is delivered to: signals are for the threads that wait for them.
#pragma once

#include <functional>
#include <thread>

namespace unshard {

// Throws std::system_error, as std::thread does, where the system allows no more threads.
std::thread StartWithoutSignals(std::function<void()> run);

}  // namespace unshard
