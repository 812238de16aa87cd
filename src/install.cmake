include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/antegrad)
install(TARGETS antegrad EXPORT antegrad-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
set_target_properties(antegrad_cli PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
if(TARGET antegrad_clang)  # opened at run time, from beside the library
  install(TARGETS antegrad_clang LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(TARGETS antegrad_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/antegrad DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT antegrad-targets NAMESPACE antegrad:: DESTINATION ${config_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/antegrad-config-version.cmake COMPATIBILITY SameMinorVersion)
file(CONFIGURE OUTPUT antegrad-config.cmake @ONLY CONTENT [[
if(NOT DEFINED LIBTORCH AND NOT DEFINED ENV{LIBTORCH})
  set(LIBTORCH "@LibTorch_ROOT_DIR@")  # the LibTorch antegrad was built with
endif()
list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR})
include(CMakeFindDependencyMacro)
find_dependency(LibTorch 2.11)
include(${CMAKE_CURRENT_LIST_DIR}/antegrad-targets.cmake)
]])
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/antegrad-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/antegrad-config-version.cmake ${PROJECT_SOURCE_DIR}/cmake/FindLibTorch.cmake
        DESTINATION ${config_dir})
