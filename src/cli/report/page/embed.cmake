# Writes a C++ source with the contents of files as constants.
#   cmake -DOUT=file.cpp -DDIR=folder -P embed.cmake
set(script_files dom model graph_text layout movable graph_view charts version_page main)

function(add_constant name text)
  string(HEX "${text}" digits)
  string(REGEX REPLACE "(................................................................)" "\\1\n" digits "${digits}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${digits}")
  file(APPEND ${OUT} "static const unsigned char ${name}_bytes[] = {\n${bytes}\n};\n"
                     "std::string_view ${name}() { return {reinterpret_cast<const char*>(${name}_bytes), sizeof(${name}_bytes)}; }\n")
endfunction()

file(WRITE ${OUT} "#include \"cli/report/report_resources.h\"\n\nnamespace antegrad::cli::resources {\n")
file(READ ${DIR}/page.html page)
file(READ ${DIR}/style.css style)
set(script "'use strict';\n")
foreach(name IN LISTS script_files)
  file(READ ${DIR}/${name}.js part)
  string(APPEND script "${part}")
endforeach()
add_constant(page "${page}")
add_constant(style "${style}")
add_constant(script "${script}")
file(APPEND ${OUT} "}  // namespace antegrad::cli::resources\n")
