#pragma once
#include <pthread.h>

#include <csignal>
#include <thread>
#include <utility>

namespace antegrad::cache {

/// Starts a thread that receives no signals: they are meant for the threads of the user's program, whose
/// handlers may not expect to run in ours. Throws std::system_error when no thread can be started.
template <class Run>
std::thread quiet_thread(Run run) {
  struct Blocked {
    Blocked() {
      sigset_t all;
      ::sigfillset(&all);
      ::pthread_sigmask(SIG_SETMASK, &all, &before);
    }
    ~Blocked() { ::pthread_sigmask(SIG_SETMASK, &before, nullptr); }
    sigset_t before{};
  };
  const Blocked blocked;
  return std::thread(std::move(run));
}

}  // namespace antegrad::cache
