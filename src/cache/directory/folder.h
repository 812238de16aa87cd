#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "cache/directory/file_system.h"
#include "cache/directory/outcome.h"
#include "cache/settings.h"

namespace antegrad::cache {

/// Who may own a directory and its files, and the modes of new ones.
struct FolderRules {
  bool ours_only = true;  ///< owned by this user, and not writable by anybody else
  uint32_t directory_mode = 0700;
  uint32_t file_mode = 0600;
};

/// Why an operation failed.
struct Failure {
  enum Kind {
    None,
    Absent,
    Refused,  ///< owned or writable by others, or a symbolic link
    Damaged,  ///< shorter than its size says, or too large
    Io,
  };
  Kind kind = None;
  std::string reason;

  explicit operator bool() const { return kind != None; }
};

/// Returns the outcome of a lookup that failed in this way.
Outcome outcome_of(const Failure& failure);

struct OpenedFolder {
  Handle handle;
  Failure failure;
};

/// Opens the root of a store, an absolute path. With `create`, missing directories of the path are created.
OpenedFolder open_root(FileSystem& files, const std::string& path, const FolderRules& rules, bool create);

/// Opens a folder in an open one.
OpenedFolder open_folder(FileSystem& files, const Handle& parent, const std::string& name,
                         const FolderRules& rules, bool create);

struct OpenedFile {
  Handle handle;
  FileStatus status;
  Failure failure;
};

OpenedFile open_file(FileSystem& files, const Handle& folder, const std::string& name,
                     const FolderRules& rules);

/// Fills `bytes`, which must have the size of the file.
Failure read_all(FileSystem& files, const Handle& file, std::string& bytes);

/// Writes a file under a temporary name and renames it, so that the name always has either its old or its
/// complete new contents. Removes the temporary file on failure. The reason does not name the file, so that
/// it can be reported once for all.
Failure write_file(FileSystem& files, const Handle& folder, const std::string& name, std::string_view bytes,
                   const FolderRules& rules, Sync sync);

/// Whether it is a name that write_file() gives to temporary files.
bool is_temporary_name(std::string_view name);

}  // namespace antegrad::cache
