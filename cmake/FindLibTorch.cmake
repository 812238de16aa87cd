# Finds LibTorch, either unpacked from an archive or as site-packages/torch of a Python wheel, without requiring CUDA.
#   LIBTORCH          (variable or environment) its root: the folder that contains include/ and lib/
# Otherwise it searches Torch_DIR, .deps of the project, libtorch/ next to an installed antegrad, and CMAKE_PREFIX_PATH.
# Defines the target LibTorch::LibTorch, LibTorch_VERSION, LibTorch_ROOT_DIR and LibTorch_CUDA_DIRS.
include(FindPackageHandleStandardArgs)
set(_libtorch_hints ${LIBTORCH} $ENV{LIBTORCH})
if(DEFINED ENV{ANTEGRAD_DEPS})  # scripts/setup.sh puts LibTorch there
  list(APPEND _libtorch_hints $ENV{ANTEGRAD_DEPS}/libtorch)
endif()
list(APPEND _libtorch_hints ${CMAKE_CURRENT_LIST_DIR}/../.deps/libtorch)
get_filename_component(_libtorch_beside ${CMAKE_CURRENT_LIST_DIR}/../../../libtorch ABSOLUTE)
list(APPEND _libtorch_hints ${_libtorch_beside} ${CMAKE_PREFIX_PATH})
if(DEFINED Torch_DIR)
  list(PREPEND _libtorch_hints ${Torch_DIR}/../../..)
endif()
find_path(LibTorch_ROOT_DIR NAMES lib/libtorch_cpu.so HINTS ${_libtorch_hints} NO_DEFAULT_PATH)
find_path(LibTorch_INCLUDE_DIR ATen/ATen.h HINTS ${LibTorch_ROOT_DIR}/include NO_DEFAULT_PATH)
find_path(LibTorch_API_INCLUDE_DIR torch/torch.h HINTS ${LibTorch_ROOT_DIR}/include/torch/csrc/api/include
          NO_DEFAULT_PATH)
find_library(LibTorch_CPU_LIBRARY torch_cpu HINTS ${LibTorch_ROOT_DIR}/lib NO_DEFAULT_PATH)
find_library(LibTorch_C10_LIBRARY c10 HINTS ${LibTorch_ROOT_DIR}/lib NO_DEFAULT_PATH)
if(LibTorch_INCLUDE_DIR AND EXISTS ${LibTorch_INCLUDE_DIR}/torch/headeronly/version.h)
  file(STRINGS ${LibTorch_INCLUDE_DIR}/torch/headeronly/version.h _v REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH)")
  string(REGEX REPLACE "[^0-9]*([0-9]+)[^0-9]+([0-9]+)[^0-9]+([0-9]+).*" "\\1.\\2.\\3" LibTorch_VERSION "${_v}")
endif()
find_package_handle_standard_args(
  LibTorch
  REQUIRED_VARS LibTorch_CPU_LIBRARY LibTorch_C10_LIBRARY LibTorch_INCLUDE_DIR LibTorch_API_INCLUDE_DIR
  VERSION_VAR LibTorch_VERSION
  HANDLE_VERSION_RANGE
  REASON_FAILURE_MESSAGE "run scripts/setup.sh, or point LIBTORCH at an unpacked LibTorch or at site-packages/torch")
if(LibTorch_FOUND AND NOT TARGET LibTorch::LibTorch)
  # The wheel's libtorch_cpu needs the CUDA runtime and CUPTI, which other wheels install next to it.
  file(GLOB LibTorch_CUDA_DIRS ${LibTorch_ROOT_DIR}/../nvidia/*/lib)
  # global, so that a project that adds antegrad as a subfolder sees it too
  add_library(LibTorch::LibTorch INTERFACE IMPORTED GLOBAL)
  target_include_directories(LibTorch::LibTorch SYSTEM INTERFACE ${LibTorch_INCLUDE_DIR} ${LibTorch_API_INCLUDE_DIR})
  target_link_libraries(LibTorch::LibTorch INTERFACE ${LibTorch_CPU_LIBRARY} ${LibTorch_C10_LIBRARY})
  target_link_options(LibTorch::LibTorch INTERFACE "LINKER:-rpath,${LibTorch_ROOT_DIR}/lib"
                      "LINKER:-rpath-link,${LibTorch_ROOT_DIR}/lib")
  foreach(dir IN LISTS LibTorch_CUDA_DIRS)
    target_link_options(LibTorch::LibTorch INTERFACE "LINKER:-rpath,${dir}" "LINKER:-rpath-link,${dir}")
  endforeach()
endif()
mark_as_advanced(LibTorch_ROOT_DIR LibTorch_INCLUDE_DIR LibTorch_API_INCLUDE_DIR LibTorch_CPU_LIBRARY
                 LibTorch_C10_LIBRARY)
