// Mutexes across fork(), and work that exit() waits for.
#include "util/process_end.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <latch>
#include <thread>

#include "util/fork_mutex.h"

namespace antegrad {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// Returns the exit status of a child that runs `body`, or 128 + signal. The child has 20 seconds.
int in_child(const std::function<int()>& body) {
  const auto child = ::fork();
  if (child == 0) {
    ::alarm(20);
    ::_exit(body());
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

TEST(ForkMutex, AChildCanUseABriefOneThatOtherThreadsUse) {
  BriefMutex brief;
  BriefSharedMutex shared;
  std::atomic<bool> stop = false;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      while (!stop) {
        {
          const std::scoped_lock lock(brief);
          const std::shared_lock reading(shared);
        }
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
    });
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(in_child([&] {
                const std::scoped_lock lock(brief, shared);
                return 0;
              }),
              0);
  stop = true;
}

TEST(ForkMutex, AChildIsToldThatALongOneIsLost) {
  LongMutex mutex("baking bread");
  std::latch held(1), go(1);
  std::jthread other([&] {
    const std::scoped_lock lock(mutex);
    held.count_down();
    go.wait();
  });
  held.wait();
  EXPECT_EQ(in_child([&] {
              try {
                const std::scoped_lock lock(mutex);
              } catch (const Error& error) {
                return std::string(error.what()) ==
                               "[fork] this process was forked while another thread was baking bread, and "
                               "that thread does not exist in the child. Fork while nothing is captured or "
                               "compiled, or compile "
                               "the function anew in the child."
                           ? 0
                           : 1;
              }
              return 2;
            }),
            0);
  go.count_down();
  other.join();
  const std::scoped_lock lock(mutex);
  EXPECT_EQ(in_child([&] {  // its own thread holds it
              mutex.unlock();
              const std::scoped_lock again(mutex);
              return 0;
            }),
            0);
}

TEST(ProcessEnd, ExitWaitsForWorkAndLetsNoneBegin) {
  EXPECT_EQ(in_child([]() -> int {
              static std::atomic<bool> done = false;
              std::latch begun(1);
              std::thread([&] {
                const process_end::Section section(process_end::Work::InLlvm);
                begun.count_down();
                std::this_thread::sleep_for(milliseconds(300));
                done = true;
              }).detach();
              begun.wait();
              std::atexit([] {
                if (!process_end::begun()) ::_exit(1);
                try {
                  const process_end::Section late(process_end::Work::InLlvm);
                  ::_exit(2);
                } catch (const process_end::Ending& ending) {
                  const std::string text = ending.what();
                  if (text !=
                      "[exit] the process is ending, so nothing more is compiled. Compile what is called "
                      "during exit before main() returns.")
                    ::_exit(3);
                }
                if (!done) ::_exit(4);
                ::_exit(0);
              });
              std::exit(5);
            }),
            0);
}

TEST(ProcessEnd, ASignalInTheMiddleOfWorkMayExit) {
  EXPECT_EQ(in_child([]() -> int {
              const process_end::Section making(process_end::Work::Making);
              const process_end::Section llvm(process_end::Work::InLlvm);
              std::exit(0);
            }),
            0);
}

TEST(ProcessEnd, ThreadsThatComeTooLateSleepAndGoOn) {
  EXPECT_EQ(in_child([]() -> int {
              std::atexit([] {
                std::thread late([] {
                  const auto start = steady_clock::now();
                  const process_end::Section section(process_end::Work::Making);
                  if (steady_clock::now() - start < milliseconds(500)) ::_exit(1);
                });
                late.join();
                ::_exit(0);
              });
              process_end::at_end([] {});
              std::exit(2);
            }),
            0);
}

TEST(ProcessEnd, WhatIsLeftToDoIsDone) {
  EXPECT_EQ(in_child([]() -> int {
              process_end::at_end([] { ::_exit(7); });
              std::exit(0);
            }),
            7);
}

}  // namespace
}  // namespace antegrad
