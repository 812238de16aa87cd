# The in-process compiler, the only target that links clang and LLVM. Without their development files it is not built,
# and the library uses the system compiler.
set(ANTEGRAD_LLVM_ROOT /usr/lib/llvm-19 CACHE PATH "where clang and LLVM 19 are installed")
find_path(ANTEGRAD_CLANG_INCLUDE clang/Frontend/CompilerInstance.h PATHS ${ANTEGRAD_LLVM_ROOT}/include NO_DEFAULT_PATH)
find_path(ANTEGRAD_LLVM_INCLUDE llvm/Config/llvm-config.h PATHS ${ANTEGRAD_LLVM_ROOT}/include NO_DEFAULT_PATH)
find_library(ANTEGRAD_CLANG_LIBRARY clang-cpp PATHS ${ANTEGRAD_LLVM_ROOT}/lib NO_DEFAULT_PATH)
find_library(ANTEGRAD_LLVM_LIBRARY NAMES LLVM-19 LLVM PATHS ${ANTEGRAD_LLVM_ROOT}/lib NO_DEFAULT_PATH)
if(NOT (ANTEGRAD_CLANG_INCLUDE AND ANTEGRAD_LLVM_INCLUDE AND ANTEGRAD_CLANG_LIBRARY AND ANTEGRAD_LLVM_LIBRARY))
  message(STATUS "No clang 19 under ${ANTEGRAD_LLVM_ROOT}: kernels are compiled with the system compiler")
  return()
endif()
file(STRINGS ${ANTEGRAD_LLVM_INCLUDE}/llvm/Config/llvm-config.h version REGEX "define LLVM_VERSION_STRING")
string(REGEX MATCH "[0-9.]+" version "${version}")
if(NOT version MATCHES "^19\\.")
  message(STATUS "clang under ${ANTEGRAD_LLVM_ROOT} is ${version}, not 19: kernels are compiled with the system compiler")
  return()
endif()

add_library(antegrad_clang MODULE toolchain/clang/plugin.cpp toolchain/clang/lasting_statics.cpp)
target_include_directories(antegrad_clang PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_include_directories(antegrad_clang SYSTEM PRIVATE ${ANTEGRAD_CLANG_INCLUDE} ${ANTEGRAD_LLVM_INCLUDE})
target_compile_definitions(antegrad_clang PRIVATE _GNU_SOURCE __STDC_CONSTANT_MACROS __STDC_FORMAT_MACROS
                                                  __STDC_LIMIT_MACROS)
target_compile_options(antegrad_clang PRIVATE -fno-rtti -fvisibility=hidden)
if(ANTEGRAD_SANITIZE MATCHES "undefined")
  target_compile_options(antegrad_clang PRIVATE -fno-sanitize=vptr)
endif()
target_link_libraries(antegrad_clang PRIVATE ${ANTEGRAD_CLANG_LIBRARY} ${ANTEGRAD_LLVM_LIBRARY})
target_link_options(antegrad_clang PRIVATE LINKER:--version-script=${CMAKE_CURRENT_LIST_DIR}/exports.map)
set_target_properties(antegrad_clang PROPERTIES LINK_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/exports.map)
# Beside libantegrad.so, where the library looks for it first.
set_target_properties(antegrad_clang PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}
                                                INSTALL_RPATH_USE_LINK_PATH ON)

# clang in a separate process, used when the user's process has too little memory for it.
add_executable(antegrad_clang_program toolchain/clang/program.cpp)
set_target_properties(antegrad_clang_program PROPERTIES OUTPUT_NAME antegrad-clang RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
target_include_directories(antegrad_clang_program PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(antegrad_clang_program PRIVATE ${CMAKE_DL_LIBS})
add_dependencies(antegrad_clang antegrad_clang_program)

# Programs that contain the objects of the core (tests, the command) have no libantegrad.so to look beside.
include(GNUInstallDirs)
file(RELATIVE_PATH program_folder /prefix/${CMAKE_INSTALL_LIBDIR} /prefix/${CMAKE_INSTALL_LIBEXECDIR}/antegrad)
set_source_files_properties(toolchain/clang_toolchain.cpp toolchain/clang_plugin.cpp toolchain/clang_process.cpp PROPERTIES COMPILE_DEFINITIONS
  "ANTEGRAD_CLANG_VERSION=\"${version}\";ANTEGRAD_CLANG_PLUGIN_PATH=\"${CMAKE_CURRENT_BINARY_DIR}/libantegrad_clang.so\";ANTEGRAD_LIBRARY_FOLDER=\"${CMAKE_INSTALL_LIBDIR}\";ANTEGRAD_CLANG_PROGRAM_FOLDER=\"${program_folder}\"")
add_dependencies(antegrad_core antegrad_clang)
