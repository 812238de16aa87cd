#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "cache/directory/file_system.h"
#include "cache/directory/outcome.h"
#include "cache/settings.h"

namespace antegrad::cache {

/// Whom a directory and its files may belong to, and what new ones are made with.
struct FolderRules {
  bool ours_only = true;  ///< of this user, and written to by nobody else
  uint32_t directory_mode = 0700;
  uint32_t file_mode = 0600;
};

/// Why something did not work.
struct Failure {
  enum Kind {
    None,
    Absent,
    Refused,  ///< belongs to or can be written by others, or is a symbolic link
    Damaged,  ///< not the number of bytes that it should have
    Io,
  };
  Kind kind = None;
  std::string reason;

  explicit operator bool() const { return kind != None; }
};

/// For a lookup that ended there.
Outcome outcome_of(const Failure& failure);

struct OpenedFolder {
  Handle handle;
  Failure failure;
};

/// The root of a store, an absolute path. With `create`, what is missing of the path is made.
OpenedFolder open_root(FileSystem& files, const std::string& path, const FolderRules& rules, bool create);

/// A folder in an open one.
OpenedFolder open_folder(FileSystem& files, const Handle& parent, const std::string& name,
                         const FolderRules& rules, bool create);

struct OpenedFile {
  Handle handle;
  FileStatus status;
  Failure failure;
};

OpenedFile open_file(FileSystem& files, const Handle& folder, const std::string& name,
                     const FolderRules& rules);

/// Fills `bytes`, which has the size of the file.
Failure read_all(FileSystem& files, const Handle& file, std::string& bytes);

/// Writes a file under a temporary name and renames it: at every moment the name has its old contents or all
/// of its new ones. What was begun is removed when it fails. The reason does not name the file, so that it
/// can be said once for all.
Failure write_file(FileSystem& files, const Handle& folder, const std::string& name, std::string_view bytes,
                   const FolderRules& rules, Sync sync);

/// Whether write_file() gives such names to files before they get theirs.
bool is_temporary_name(std::string_view name);

}  // namespace antegrad::cache
