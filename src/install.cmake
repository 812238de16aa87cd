# cmake --install: library, plugin, command, headers, and what CMake and pkg-config need to find them. All of it is
# relative to where it lies, but for the path of LibTorch, which packages leave out (cmake/package_files.cmake).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/antegrad)
install(TARGETS antegrad EXPORT antegrad-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET antegrad_clang)  # opened at run time, from beside the library
  install(TARGETS antegrad_clang LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(TARGETS antegrad_clang_program RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/antegrad)
endif()
install(TARGETS antegrad_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS antegrad_torch_program RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/antegrad)
install(FILES ${PROJECT_SOURCE_DIR}/docs/man/antegrad.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${PROJECT_SOURCE_DIR}/scripts/completion/antegrad.bash
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME antegrad)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/antegrad DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT antegrad-targets NAMESPACE antegrad:: DESTINATION ${config_dir})

write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/antegrad-config-version.cmake COMPATIBILITY SameMinorVersion)
string(REGEX MATCH "^[0-9]+\\.[0-9]+" LibTorch_SERIES_PATTERN ${LibTorch_VERSION})
string(REPLACE "." "\\\\." LibTorch_SERIES_PATTERN ${LibTorch_SERIES_PATTERN})
configure_file(${PROJECT_SOURCE_DIR}/cmake/antegrad-config.cmake.in antegrad-config.cmake @ONLY)
file(CONFIGURE OUTPUT antegrad-libtorch.cmake @ONLY CONTENT [[
if(NOT DEFINED LIBTORCH AND NOT DEFINED ENV{LIBTORCH})
  set(LIBTORCH "@LibTorch_ROOT_DIR@")  # the LibTorch antegrad was built with
endif()
]])
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/antegrad-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/antegrad-libtorch.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/antegrad-config-version.cmake ${PROJECT_SOURCE_DIR}/cmake/FindLibTorch.cmake
        DESTINATION ${config_dir})

file(RELATIVE_PATH ANTEGRAD_PC_TO_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" ANTEGRAD_PC_TO_PREFIX ${ANTEGRAD_PC_TO_PREFIX})
set(ANTEGRAD_PC_CUDA_DIRS "")
foreach(dir IN LISTS LibTorch_CUDA_DIRS)
  string(APPEND ANTEGRAD_PC_CUDA_DIRS " -Wl,-rpath,${dir}")
endforeach()
configure_file(${PROJECT_SOURCE_DIR}/cmake/antegrad.pc.in antegrad.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/antegrad.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
