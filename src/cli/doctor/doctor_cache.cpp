#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "cache/directory/local_store.h"
#include "cache/directory/shared_directory_store.h"
#include "cache/redis/redis_store.h"
#include "cache/redis/redis_url.h"
#include "cli/doctor/doctor.h"
#include "cli/elapsed.h"
#include "cli/environment.h"
#include "cli/text.h"

namespace antegrad::cli {
namespace {

namespace fs = std::filesystem;
constexpr uint64_t kFull = uint64_t{16} << 20, kScarce = uint64_t{1} << 30;

/// Returns why a directory is not writable; "" when it is. Tries with an unnamed file, so that nothing is
/// left behind.
std::string why_not_writable(const std::string& directory) {
  const int file = ::open(directory.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) {
    if (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT) return std::strerror(errno);
    // The file system does not support unnamed files.
    return ::access(directory.c_str(), W_OK | X_OK) == 0 ? "" : std::strerror(errno);
  }
  const std::string bytes(4096, 'x');
  const bool written = ::write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
  const std::string reason = written ? "" : std::strerror(errno);
  ::close(file);
  return reason;
}

std::string nearest_that_exists(const std::string& directory) {
  std::error_code ignored;
  fs::path path = fs::absolute(directory, ignored);
  while (!fs::exists(path, ignored) && path.has_relative_path()) path = path.parent_path();
  return path.string();
}

void check_room(Findings& out, const std::string& directory) {
  struct statvfs room {};
  if (::statvfs(nearest_that_exists(directory).c_str(), &room) != 0) {
    out.warn("file system", fmt::format("cannot be queried for free space: {}", std::strerror(errno)),
             "Look at it with df");
    return;
  }
  const uint64_t free = uint64_t{room.f_bavail} * room.f_frsize,
                 all = uint64_t{room.f_blocks} * room.f_frsize;
  const auto fact = fmt::format("{} of {} free", size_text(free), size_text(all));
  const Findings::Values values = {{"free", free}, {"all", all}, {"free_files", room.f_favail}};
  const bool out_of_files = room.f_files > 0 && room.f_favail == 0;
  if (free < kFull || out_of_files)
    out.problem("file system", out_of_files ? "has no room for another file" : fact,
                "Make room, or name a directory elsewhere in ANTEGRAD_CACHE_DIR", values);
  else if (free < kScarce)
    out.warn("file system", fact, "Make room: antegrad cache gc --size 500M", values);
  else
    out.ok("file system", fact, values);
}

void check_local(Findings& out, const std::string& directory,
                 const std::shared_ptr<const cache::Secret>& secret) {
  constexpr const char* kElsewhere = "Name a directory that you may write to in ANTEGRAD_CACHE_DIR";
  if (directory.empty()) {
    out.problem("directory", "none is known: neither ANTEGRAD_CACHE_DIR, XDG_CACHE_HOME nor HOME is set",
                kElsewhere);
    return;
  }
  std::error_code ignored;
  const bool there = fs::exists(fs::symlink_status(directory, ignored));
  const auto tried = there ? directory : nearest_that_exists(directory);
  if (there) {
    const auto opened = cache::open_local_store({.directory = directory, .read_only = true}, secret,
                                                std::make_shared<cache::FileSystem>());
    if (!opened.store) {
      out.problem("directory", opened.reason,
                  "Make it yours alone (chmod 700), or name another in ANTEGRAD_CACHE_DIR",
                  {{"path", directory}});
      return;
    }
    const auto stats = opened.store->stats();
    out.ok("directory", directory, {{"path", directory}, {"exists", true}});
    out.ok("entries", fmt::format("{}, {}", stats.entries, size_text(stats.bytes)),
           {{"entries", stats.entries}, {"bytes", stats.bytes}, {"unfinished", stats.leftovers}});
    for (const auto& problem : stats.problems) out.warn("entries", problem, "See antegrad cache verify");
  } else {
    out.ok("directory", fmt::format("{}, made when first needed", directory),
           {{"path", directory}, {"exists", false}});
  }
  if (const auto reason = why_not_writable(tried); !reason.empty())
    out.problem("writable", fmt::format("nothing can be written in {}: {}", tried, reason), kElsewhere);
  else
    out.ok("writable", there ? "yes" : fmt::format("yes, in {}", tried));
  check_room(out, directory);
}

std::shared_ptr<const cache::Secret> check_key_file(Findings& out) {
  const auto path = environment("ANTEGRAD_CACHE_KEY_FILE");
  if (path.empty()) {
    out.ok("key file", "none: entries of the local cache are trusted because you own them");
    return nullptr;
  }
  cache::FileSystem files;
  auto read = cache::read_key_file(files, path);
  if (!read.secret) {
    out.problem("key file", read.reason,
                fmt::format("Nothing is cached until it is valid: 16 to 4096 bytes, chmod 600 {}", path),
                {{"path", path}});
    return nullptr;
  }
  struct stat status {};
  ::stat(path.c_str(), &status);
  out.ok("key file", fmt::format("{}, permissions {:03o}", path, status.st_mode & 0777), {{"path", path}});
  return std::move(read.secret);
}

void check_shared(Findings& out, const std::shared_ptr<const cache::Secret>& secret) {
  const auto directory = environment("ANTEGRAD_CACHE_SHARED_DIR");
  if (directory.empty()) return;
  const bool write = environment("ANTEGRAD_CACHE_SHARED_WRITE") == "1";
  const auto start = std::chrono::steady_clock::now();
  const auto opened =
      cache::open_shared_directory_store({directory, write}, secret, std::make_shared<cache::FileSystem>());
  if (!opened.store) {
    out.problem("shared directory", opened.reason,
                secret ? "Make it, or correct ANTEGRAD_CACHE_SHARED_DIR"
                       : "Name a key file in ANTEGRAD_CACHE_KEY_FILE",
                {{"path", directory}});
    return;
  }
  opened.store->get({});
  const auto seconds = seconds_since(start);
  const Findings::Values values = {{"path", directory}, {"write", write}, {"lookup_s", seconds}};
  const auto reason = write ? why_not_writable(directory) : "";
  if (!reason.empty())
    out.problem("shared directory", fmt::format("nothing can be written in {}: {}", directory, reason),
                "Unset ANTEGRAD_CACHE_SHARED_WRITE, or allow it", values);
  else
    out.ok("shared directory",
           fmt::format("{}, {}; a lookup takes {}", directory, write ? "read and written" : "only read",
                       time_text(seconds)),
           values);
}

void check_redis(Findings& out, const std::shared_ptr<const cache::Secret>& secret) {
  const auto url = environment("ANTEGRAD_CACHE_REDIS");
  if (url.empty()) return;
  cache::RedisSettings settings;
  settings.url = url;
  settings.write = environment("ANTEGRAD_CACHE_REDIS_WRITE") == "1";
  const auto opened = cache::open_redis_store(settings, secret);
  if (!opened.store) {
    out.problem("Redis", opened.reason,
                secret ? "Correct ANTEGRAD_CACHE_REDIS: redis://host:port"
                       : "Name a key file in ANTEGRAD_CACHE_KEY_FILE");
    return;
  }
  auto start = std::chrono::steady_clock::now();
  const auto first = opened.store->get({});
  const auto connect = seconds_since(start);
  if (!first.reason.empty()) {
    out.problem("Redis", first.reason, "Start the server, or correct ANTEGRAD_CACHE_REDIS",
                {{"place", opened.store->place()}});
    return;
  }
  start = std::chrono::steady_clock::now();
  opened.store->get({});
  const auto lookup = seconds_since(start);
  out.ok(
      "Redis",
      fmt::format("{}, {}; connected in {}, a lookup takes {}", opened.store->place(),
                  settings.write ? "read and written" : "only read", time_text(connect), time_text(lookup)),
      {{"place", opened.store->place()},
       {"write", settings.write},
       {"connect_s", connect},
       {"lookup_s", lookup}});
}

}  // namespace

void check_cache(Findings& out) {
  if (environment("ANTEGRAD_CACHE") == "off")
    out.warn("use", "ANTEGRAD_CACHE=off: every process compiles everything again", "Unset it");
  const auto secret = check_key_file(out);
  check_local(out,
              cache::default_directory(
                  {environment("ANTEGRAD_CACHE_DIR"), environment("XDG_CACHE_HOME"), environment("HOME")}),
              secret);
  check_shared(out, secret);
  check_redis(out, secret);
}

}  // namespace antegrad::cli
