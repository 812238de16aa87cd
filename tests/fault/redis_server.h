#pragma once
// For tests: a real Redis server, and one that gives the answers a test wants.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <functional>
#include <sstream>
#include <thread>
#include <vector>

#include "cache/redis/redis_store.h"
#include "fault/cache_faults.h"

namespace antegrad::cache::testing {

inline bool on_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::stringstream folders(std::string(path ? path : "") + ":/usr/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (::access((folder + "/" + program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

/// Returns a port of the loopback interface on which nobody listens.
inline std::string free_port() {
  const int number = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof name;
  EXPECT_EQ(::bind(number, reinterpret_cast<sockaddr*>(&name), size), 0);
  EXPECT_EQ(::getsockname(number, reinterpret_cast<sockaddr*>(&name), &size), 0);
  ::close(number);
  return std::to_string(ntohs(name.sin_port));
}

/// Long timeouts: the machine may be slow wherever nothing is timed.
inline RedisSettings redis_settings(const std::string& url, bool write = true) {
  RedisSettings settings;
  settings.url = url;
  settings.write = write;
  settings.connect_timeout = settings.command_timeout = std::chrono::milliseconds(5000);
  return settings;
}

inline std::shared_ptr<RedisStore> open_redis(const RedisSettings& settings,
                                              const std::string& secret = "a") {
  auto opened = open_redis_store(settings, secret_of(secret));
  EXPECT_TRUE(opened.store) << opened.reason;
  return opened.store;
}

/// A redis-server on a unix socket in a temporary folder, without persistence.
class RedisServer {
 public:
  explicit RedisServer(std::vector<std::string> more = {}) : more_(std::move(more)) { start(); }
  ~RedisServer() { kill(); }

  static bool installed() { return on_path("redis-server"); }

  std::string path() const { return folder_.parent() / "socket"; }
  std::string url() const { return "unix://" + path(); }

  void start() {
    std::vector<std::string> words{"redis-server",   "--port",     "0",      "--unixsocket",
                                   path(),           "--save",     "",       "--dir",
                                   folder_.parent(), "--loglevel", "warning"};
    words.insert(words.end(), more_.begin(), more_.end());
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    process_ = ::fork();
    if (process_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      const int log = ::open((folder_.parent() / "log").c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
      ::dup2(log, 1);
      ::dup2(log, 2);
      ::execvp(arguments[0], arguments.data());
      ::_exit(127);
    }
    for (int i = 0; i < 500 && !listens(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_TRUE(listens()) << read_file(folder_.parent() / "log");
  }

  void kill() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    process_ = 0;
  }

  RedisReply command(const RedisCommand& words) {
    RedisConnection connection(*parse_redis_url(url()).place, redis_settings(url()));
    std::vector<RedisReply> replies(1);
    EXPECT_FALSE(connection.open());
    EXPECT_FALSE(connection.run({&words, 1}, 1 << 20, replies));
    return replies[0];
  }

 private:
  bool listens() {
    RedisSocket socket;
    RedisPatience patience{std::chrono::milliseconds(1000)};
    return !socket.connect(*parse_redis_url(url()).place, patience);
  }

  TestFolder folder_;
  std::vector<std::string> more_;
  pid_t process_ = 0;
};

/// A server on a unix socket. It sends back what `answer` makes of the bytes of one recv(); an empty answer
/// sends nothing.
class FakeRedis {
 public:
  using Answer = std::function<std::string(const std::string& request)>;

  explicit FakeRedis(Answer answer) : answer_(std::move(answer)) {
    listening_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::strncpy(name.sun_path, path().c_str(), sizeof name.sun_path - 1);
    EXPECT_EQ(::bind(listening_, reinterpret_cast<sockaddr*>(&name), sizeof name), 0);
    EXPECT_EQ(::listen(listening_, 16), 0);
    thread_ = std::thread([this] { run(); });
  }
  ~FakeRedis() {
    stop_ = true;
    thread_.join();
    ::close(listening_);
  }
  FakeRedis(const FakeRedis&) = delete;

  std::string path() const { return folder_.parent() / "socket"; }
  std::string url() const { return "unix://" + path(); }

  std::atomic<int> connections{0}, requests{0};
  std::atomic<bool> hang_up{false};  ///< closes the connection after each answer
  std::atomic<bool> drip{false};     ///< sends a byte of the answer every 20 ms

 private:
  void run() {
    std::vector<int> open;
    while (!stop_) {
      std::vector<pollfd> files{{listening_, POLLIN, 0}};
      for (const int number : open) files.push_back({number, POLLIN, 0});
      if (::poll(files.data(), files.size(), 20) <= 0) continue;
      for (size_t i = 1; i < files.size(); ++i) {
        if (files[i].revents != 0 && !serve(files[i].fd)) {
          ::close(files[i].fd);
          std::erase(open, files[i].fd);
        }
      }
      if (files[0].revents == 0) continue;
      open.push_back(::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC));
      ++connections;
    }
    for (const int number : open) ::close(number);
  }

  bool serve(int number) {
    std::string request(1 << 20, '\0');
    const auto size = ::recv(number, request.data(), request.size(), 0);
    if (size <= 0) return false;
    request.resize(static_cast<size_t>(size));
    ++requests;
    const auto reply = answer_(request);
    const size_t step = drip ? 1 : reply.size();
    for (size_t sent = 0; sent < reply.size() && !stop_; sent += step) {
      if (::send(number, reply.data() + sent, step, MSG_NOSIGNAL) < 0) return false;
      if (drip) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return !hang_up;
  }

  TestFolder folder_;
  Answer answer_;
  int listening_ = -1;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

inline double seconds_of(const std::function<void()>& run) {
  const auto begin = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace antegrad::cache::testing
