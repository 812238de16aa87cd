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
