# Whatever is in it, a source with LibTorch's headers takes seconds to compile, also with the headers precompiled: every
# one makes anew what their templates stand for. So several are joined to one.
set(join_sources ${CMAKE_CURRENT_LIST_DIR}/join_sources.py)
find_package(Python3 REQUIRED COMPONENTS Interpreter)

# antegrad_join(OUT SOURCE...): the source OUT, of which the others are parts. They may only include relative to folders
# of the target.
function(antegrad_join out)
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ REGEX "^[^/]")
  add_custom_command(OUTPUT ${out} COMMAND Python3::Interpreter ${join_sources} ${out} ${ARGN}
                     DEPENDS ${ARGN} ${join_sources} VERBATIM)
endfunction()

# antegrad_join_programs(PROGRAM SOURCE...): one program that has the name of each source and runs the one it is called by.
set(join_programs ${CMAKE_CURRENT_LIST_DIR}/join_programs.py)
function(antegrad_join_programs program)
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ REGEX "^[^/]")
  set(joined ${CMAKE_CURRENT_BINARY_DIR}/${program}.cpp)
  add_custom_command(OUTPUT ${joined} COMMAND Python3::Interpreter ${join_programs} ${joined} ${ARGN}
                     DEPENDS ${ARGN} ${join_programs} VERBATIM)
  add_executable(${program} ${joined})
  target_include_directories(${program} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  foreach(source IN LISTS ARGN)
    get_filename_component(name ${source} NAME_WE)
    add_custom_command(TARGET ${program} POST_BUILD VERBATIM
                       COMMAND ${CMAKE_COMMAND} -E create_symlink ${program} ${CMAKE_CURRENT_BINARY_DIR}/${name})
    add_custom_target(${name} DEPENDS ${program})
  endforeach()
endfunction()
