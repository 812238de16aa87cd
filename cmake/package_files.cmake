# cpack runs this on the files that it is about to pack: removes the path of LibTorch on the build machine from them.
file(GLOB_RECURSE here LIST_DIRECTORIES FALSE ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*)
foreach(file IN LISTS here)
  if(file MATCHES "/antegrad-libtorch\\.cmake$")
    file(REMOVE ${file})
  elseif(file MATCHES "/antegrad\\.pc$")
    file(READ ${file} text)
    string(REGEX REPLACE "\nlibtorch=[^\n]*" "\nlibtorch=\${prefix}/libtorch" text "${text}")
    string(REGEX REPLACE " -Wl,-rpath,/[^ \n]*" "" text "${text}")
    file(WRITE ${file} "${text}")
  elseif(file MATCHES "/libantegrad(_clang)?\\.so[.0-9]*$" AND NOT IS_SYMLINK ${file})
    file(RPATH_REMOVE FILE ${file})  # programs provide LibTorch, the system provides clang
  endif()
endforeach()
