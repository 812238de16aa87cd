# Any source with LibTorch's headers takes seconds to compile, even with precompiled headers, because it instantiates their
# templates again. So several sources are joined into one.
set(join_sources ${CMAKE_CURRENT_LIST_DIR}/join_sources.py)
find_package(Python3 REQUIRED COMPONENTS Interpreter)

# antegrad_join(OUT SOURCE...) joins the sources into OUT. Their #include paths must be relative to include folders of the
# target.
function(antegrad_join out)
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ REGEX "^[^/]")
  add_custom_command(OUTPUT ${out} COMMAND Python3::Interpreter ${join_sources} ${out} ${ARGN}
                     DEPENDS ${ARGN} ${join_sources} VERBATIM)
endfunction()

# antegrad_join_programs(PROGRAM SOURCE...) makes one program with a symlink per source; it runs the one it is invoked as.
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
