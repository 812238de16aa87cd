# cpack in the build folder, or `make package`, makes antegrad_<version>_<architecture>.deb and a .tar.gz with the same files.
# They do not contain LibTorch (it has 450 MB, and no Debian package has this version): users say where it is.
set(CPACK_PACKAGE_NAME antegrad)
set(CPACK_PACKAGE_VENDOR antegrad)
set(CPACK_PACKAGE_CONTACT "the authors of antegrad <antegrad@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "compiler for C++ functions over LibTorch tensors, with their gradients")
set(CPACK_PACKAGE_DESCRIPTION "Library, headers and command of antegrad, built with LibTorch ${LibTorch_VERSION}. LibTorch itself is
not part of it: unpack the one of that version, and point the variable LIBTORCH at it.")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/package_files.cmake)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# dpkg-shlibdeps reads every library as a whole. LibTorch is in no package, so empty libraries of its name will do.
set(stand_ins ${PROJECT_BINARY_DIR}/shlibdeps)
file(MAKE_DIRECTORY ${stand_ins})
foreach(name libtorch_cpu.so libc10.so)
  if(NOT EXISTS ${stand_ins}/${name})
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -shared -nostdlib -Wl,-soname,${name} -o ${stand_ins}/${name} -x c++ /dev/null)
  endif()
endforeach()
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${stand_ins})
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS gcc)  # compiles kernels if clang's libraries are missing
set(CPACK_DEBIAN_PACKAGE_SUGGESTS redis-server)
include(CPack)
