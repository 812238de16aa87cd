# cmake -P script of consumer_test; the variables come from project_tests.cmake.
function(step)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    string(JOIN " " command ${ARGN})
    message(FATAL_ERROR "${command}\n${output}\nexit status ${status}")
  endif()
endfunction()

unset(ENV{LIBTORCH})  # the installed package must find by itself the LibTorch that it was built with
unset(ENV{LD_LIBRARY_PATH})
file(REMOVE_RECURSE ${WORK})
set(prefix ${WORK}/prefix)
step(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})

file(GLOB_RECURSE package ${prefix}/*/antegrad-*.cmake ${prefix}/*.pc)
if(NOT package)
  message(FATAL_ERROR "no package files under ${prefix}")
endif()
foreach(file IN LISTS package)
  file(STRINGS ${file} lines)
  foreach(line IN LISTS lines)
    string(FIND "${line}" "${BUILD}/" at)
    if(NOT at EQUAL -1)
      message(FATAL_ERROR "${file} names the build folder: ${line}")
    endif()
  endforeach()
endforeach()

step(${CMAKE_COMMAND} -S ${CONSUMER} -B ${WORK}/build -G ${GENERATOR} -DCMAKE_PREFIX_PATH=${prefix}
     -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_CXX_FLAGS=${FLAGS} -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER})
step(${CMAKE_COMMAND} --build ${WORK}/build)
step(${WORK}/build/consumer)
step(${prefix}/bin/antegrad --help)
