#include "cache/layers/background_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <system_error>

#include "cache/layers/quiet_thread.h"

namespace antegrad::cache {
namespace {

constexpr size_t kMostFailures = 1000;

uint64_t size_of(const Entry& entry) {
  uint64_t bytes = sizeof(Entry);
  for (const auto& section : entry.sections) {
    bytes += sizeof(Section) + section.name.size() + section.bytes.size();
  }
  return bytes;
}

}  // namespace

BackgroundStore::Queue::Queue(std::shared_ptr<Store> store, const BackgroundLimits& limits)
    : store_(std::move(store)), limits_(limits) {}

bool BackgroundStore::Queue::start() {
  if (thread_.joinable()) return true;
  try {
    thread_ = quiet_thread([self = shared_from_this()] { self->run(); });
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

bool BackgroundStore::Queue::offer(const Address& address, const Entry& entry) {
  auto copy = std::make_shared<const Entry>(entry);
  const auto size = size_of(entry);
  std::unique_lock lock(mutex_);
  const auto old = waiting_.find(address);
  const bool replaces = old != waiting_.end();
  const auto bytes_without = bytes_ - (replaces ? size_of(*old->second) : 0);
  const auto entries_without = waiting_.size() + (writing_ ? 1 : 0) - (replaces ? 1 : 0);
  const bool room =
      entries_without < limits_.entries && size <= limits_.bytes && bytes_without <= limits_.bytes - size;
  if (room && !closing_ && start()) {
    if (!replaces) order_.push_back(address);
    waiting_[address] = std::move(copy);
    bytes_ = bytes_without + size;
    changed_.notify_all();
    return true;
  }
  if (replaces) {
    waiting_.erase(old);
    order_.erase(std::find(order_.begin(), order_.end(), address));
    bytes_ = bytes_without;
    changed_.notify_all();
  }
  changed_.wait(lock, [&] { return !writing_ || writing_->first != address; });
  return false;
}

std::shared_ptr<const Entry> BackgroundStore::Queue::find(const Address& address) const {
  const std::lock_guard lock(mutex_);
  if (const auto found = waiting_.find(address); found != waiting_.end()) return found->second;
  return writing_ && writing_->first == address ? writing_->second : nullptr;
}

std::vector<BackgroundStore::Queue::Waiting> BackgroundStore::Queue::find_all(const Digest& key) const {
  const std::lock_guard lock(mutex_);
  std::map<Address, std::shared_ptr<const Entry>> found;
  for (auto it = waiting_.lower_bound({key, 0}); it != waiting_.end() && it->first.key == key; ++it) {
    found.insert(*it);
  }
  // What is being written is older than a pending entry with the same address.
  if (writing_ && writing_->first.key == key) found.insert(*writing_);
  return {found.begin(), found.end()};
}

size_t BackgroundStore::Queue::size() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size() + (writing_ ? 1 : 0);
}

bool BackgroundStore::Queue::flush(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, timeout, [&] { return waiting_.empty() && !writing_; });
}

void BackgroundStore::Queue::close(std::chrono::milliseconds timeout) {
  flush(timeout);
  std::unique_lock lock(mutex_);
  closing_ = true;
  waiting_.clear();
  order_.clear();
  changed_.notify_all();
  if (!thread_.joinable()) return;
  // An idle thread ends at once; one that hangs in the store is left behind.
  if (!writing_) changed_.wait(lock, [&] { return ended_; });
  const bool ended = ended_;
  lock.unlock();
  if (ended) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

std::string BackgroundStore::Queue::write(const Waiting& waiting) {
  try {
    return store_->put(waiting.first, *waiting.second).reason;
  } catch (const std::exception& error) {
    return fmt::format("writing in the background failed: {}", error.what());
  }
}

void BackgroundStore::Queue::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return closing_ || !order_.empty(); });
    if (closing_) break;
    const auto next = waiting_.extract(order_.front());
    order_.pop_front();
    writing_ = std::make_shared<Waiting>(next.key(), next.mapped());
    const auto current = writing_;
    lock.unlock();
    const auto reason = write(*current);
    if (!reason.empty()) add_failure(reason);
    lock.lock();
    bytes_ -= size_of(*current->second);
    writing_ = nullptr;
    changed_.notify_all();
  }
  ended_ = true;
  changed_.notify_all();
}

void BackgroundStore::Queue::add_failure(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (known_failures_.size() < kMostFailures && known_failures_.insert(reason).second) {
    failures_.push_back(reason);
  }
}

std::vector<std::string> BackgroundStore::Queue::take_failures() {
  const std::lock_guard lock(mutex_);
  return std::exchange(failures_, {});
}

}  // namespace antegrad::cache
