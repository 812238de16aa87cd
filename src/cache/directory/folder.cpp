#include "cache/directory/folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>

namespace antegrad::cache {
namespace {

constexpr std::string_view kTemporaryPrefix = ".new-";
constexpr int kNameAttempts = 16;
constexpr int kMostOpens = 8;  // of a directory that somebody deletes meanwhile

Failure failure_of(int64_t result, std::string_view what) {
  const auto kind = result == -ENOENT ? Failure::Absent : result == -ELOOP ? Failure::Refused : Failure::Io;
  return {kind, fmt::format("cannot {}: {}", what, error_text(result))};
}

std::string trust_problem(FileSystem& files, const FileStatus& status, const FolderRules& rules) {
  if (!rules.ours_only) return {};
  if (status.owner != files.user()) {
    return fmt::format("belongs to user {}, not to {}", status.owner, files.user());
  }
  if (status.permissions & 022) {
    return fmt::format("can be written by others (permissions {:o})", status.permissions);
  }
  return {};
}

/// Opening a symbolic link as a directory also gives -ENOTDIR.
Failure open_failure(int result, const std::string& name) {
  if (result == -ENOTDIR || result == -ELOOP) {
    return {Failure::Refused, fmt::format("{} is a symbolic link or not a directory", name)};
  }
  return failure_of(result, "open " + name);
}

OpenedFolder open_checked(FileSystem& files, int at, const std::string& name, const FolderRules& rules) {
  OpenedFolder out{Handle(files, files.open_directory(at, name)), {}};
  if (!out.handle.is_open()) return {{}, open_failure(out.handle.number(), name)};
  FileStatus status;
  if (const int result = files.status(out.handle.number(), status); result < 0) {
    return {{}, failure_of(result, "look at " + name)};
  }
  if (const auto problem = trust_problem(files, status, rules); !problem.empty()) {
    return {{}, {Failure::Refused, fmt::format("the directory {} {}", name, problem)}};
  }
  return out;
}

/// Creates a directory and its parents. Symbolic links in the parents are the user's own and are followed.
int make_directories(FileSystem& files, const std::filesystem::path& path, uint32_t mode) {
  int result = files.make_directory(AT_FDCWD, path.string(), mode);
  if (result == -ENOENT && path.has_parent_path() && path != path.parent_path()) {
    result = make_directories(files, path.parent_path(), mode);
    if (result >= 0) result = files.make_directory(AT_FDCWD, path.string(), mode);
  }
  return result == -EEXIST ? 0 : result;
}

/// Returns a name that differs between threads, processes and, most likely, machines; create_file() detects
/// collisions.
std::string temporary_name() {
  static std::atomic<uint64_t> count{0};
  const auto time = std::chrono::system_clock::now().time_since_epoch().count();
  return fmt::format("{}{:x}-{:x}-{:x}", kTemporaryPrefix, ::getpid(), time, count.fetch_add(1));
}

int64_t write_all(FileSystem& files, const Handle& file, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto count = files.write(file.number(), bytes.data(), bytes.size());
    if (count < 0) return count;
    if (count == 0) return -ENOSPC;
    bytes.remove_prefix(count);
  }
  return 0;
}

/// Writes the contents of a new file and closes it.
int64_t fill(FileSystem& files, Handle& file, std::string_view bytes, Sync sync) {
  if (const auto result = write_all(files, file, bytes); result < 0) return result;
  if (sync == Sync::Rename) {
    if (const int result = files.sync(file.number()); result < 0) return result;
  }
  // Some file systems report a lack of space only when the file is closed.
  return file.close();
}

}  // namespace

Outcome outcome_of(const Failure& failure) {
  switch (failure.kind) {
    case Failure::Refused:
      return Outcome::Refused;
    case Failure::Damaged:
      return Outcome::Corrupt;
    default:
      return Outcome::Miss;
  }
}

OpenedFolder open_root(FileSystem& files, const std::string& path, const FolderRules& rules, bool create) {
  for (int tries = 0;; ++tries) {
    auto opened = open_checked(files, AT_FDCWD, path, rules);
    if (!create || opened.failure.kind != Failure::Absent || tries == kMostOpens) return opened;
    // Whoever deletes it meanwhile may be in the way: of parents, of the directory, or of opening it.
    const int result = make_directories(files, path, rules.directory_mode);
    if (result < 0 && (result != -ENOENT || tries + 1 == kMostOpens))
      return {{}, {Failure::Io, fmt::format("cannot make {}: {}", path, error_text(result))}};
  }
}

OpenedFolder open_folder(FileSystem& files, const Handle& parent, const std::string& name,
                         const FolderRules& rules, bool create) {
  auto opened = open_checked(files, parent.number(), name, rules);
  if (!create || opened.failure.kind != Failure::Absent) return opened;
  const int result = files.make_directory(parent.number(), name, rules.directory_mode);
  if (result < 0 && result != -EEXIST) return {{}, failure_of(result, "write")};
  return open_checked(files, parent.number(), name, rules);
}

OpenedFile open_file(FileSystem& files, const Handle& folder, const std::string& name,
                     const FolderRules& rules) {
  OpenedFile out{Handle(files, files.open_file(folder.number(), name)), {}, {}};
  if (!out.handle.is_open()) return {{}, {}, failure_of(out.handle.number(), "open " + name)};
  if (const int result = files.status(out.handle.number(), out.status); result < 0) {
    return {{}, {}, failure_of(result, "look at " + name)};
  }
  auto problem = out.status.regular ? trust_problem(files, out.status, rules) : std::string("is not a file");
  if (!problem.empty()) return {{}, {}, {Failure::Refused, fmt::format("{} {}", name, problem)}};
  return out;
}

Failure read_all(FileSystem& files, const Handle& file, std::string& bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const auto count = files.read(file.number(), bytes.data() + done, bytes.size() - done);
    if (count < 0) return {Failure::Io, "cannot be read: " + error_text(count)};
    if (count == 0) return {Failure::Damaged, fmt::format("ends after {} of {} bytes", done, bytes.size())};
    done += count;
  }
  return {};
}

Failure write_file(FileSystem& files, const Handle& folder, const std::string& name, std::string_view bytes,
                   const FolderRules& rules, Sync sync) {
  std::string temporary;
  int number = -EEXIST;
  for (int i = 0; i < kNameAttempts && number == -EEXIST; ++i) {
    temporary = temporary_name();
    number = files.create_file(folder.number(), temporary, rules.file_mode);
  }
  if (number < 0) return failure_of(number, "write");
  Handle file(files, number);
  Failure failure;
  if (const auto result = fill(files, file, bytes, sync); result < 0) {
    failure = failure_of(result, "write");
  } else if (const int renamed = files.rename(folder.number(), temporary, name); renamed < 0) {
    failure = failure_of(renamed, "write");
  }
  if (failure) files.remove(folder.number(), temporary);
  return failure;
}

bool is_temporary_name(std::string_view name) { return name.starts_with(kTemporaryPrefix); }

}  // namespace antegrad::cache
