#include "compiler/function/background_worker.h"

#include "cache/layers/per_process.h"
#include "cache/layers/quiet_thread.h"
#include "util/process_end.h"

namespace antegrad::compiler {

BackgroundWorker::~BackgroundWorker() {
  {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
    jobs_.clear();
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void BackgroundWorker::submit(const void* owner, std::function<void()> job) {
  const std::scoped_lock lock(mutex_);
  if (stop_) return;
  if (!thread_.joinable()) thread_ = cache::quiet_thread([this] { work(); });
  jobs_.push_back({owner, std::move(job)});
  changed_.notify_all();
}

void BackgroundWorker::forget(const void* owner) {
  std::unique_lock lock(mutex_);
  std::erase_if(jobs_, [&](const Job& job) { return job.owner == owner; });
  // A job that destroys the last copy of its own function must not wait for itself.
  if (std::this_thread::get_id() == thread_.get_id()) return;
  changed_.wait(lock, [&] { return running_ != owner; });
}

void BackgroundWorker::wait_for_job() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return stop_ || !jobs_.empty(); });
}

bool BackgroundWorker::run_next() {
  // Sleeps here and at the end of the function while the process ends, with the mutex unlocked: functions
  // that are destroyed then need it.
  const process_end::Section making(process_end::Work::Making);
  std::unique_lock lock(mutex_);
  if (stop_ || !making.entered()) return false;
  if (jobs_.empty()) return true;  // dropped by forget()
  auto job = std::move(jobs_.front());
  jobs_.pop_front();
  running_ = job.owner;
  lock.unlock();
  job.run();
  job.run = nullptr;  // destroys what it holds before waiters are notified
  lock.lock();
  running_ = nullptr;
  changed_.notify_all();
  return true;
}

void BackgroundWorker::work() {
  do wait_for_job();
  while (run_next());
}

BackgroundWorker& BackgroundWorker::instance() {
  // Never destroyed: functions in static variables are destroyed later, and a job may be running.
  static auto& worker =
      *new cache::PerProcess<BackgroundWorker>([] { return std::make_unique<BackgroundWorker>(); });
  return worker.get();
}

}  // namespace antegrad::compiler
