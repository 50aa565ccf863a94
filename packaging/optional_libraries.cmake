# Libraries that a build may lack. What a missing one decodes and encodes is refused, and nothing else changes.
#
#   -DUNSHARD_<NAME>=AUTO  use it if it is installed (the default)
#   -DUNSHARD_<NAME>=ON    fail where it is missing
#   -DUNSHARD_<NAME>=OFF   do without it
#
# Each has a target unshard_<NAME>. If this build has the library, the target links it and defines UNSHARD_<NAME>;
# else it is empty.

# unshard_library(NAME MODULE…): the library that these modules of pkg-config make up. One that has no such module is
# found by its header and its name, which follow HEADER and LIBRARY.
function(unshard_library name)
  cmake_parse_arguments(PARSE_ARGV 1 no_module "" "HEADER;LIBRARY" "")
  set(modules ${no_module_UNPARSED_ARGUMENTS})
  string(REPLACE ";" ", " shown "${modules};${no_module_LIBRARY}")
  string(REGEX REPLACE "^, |, $" "" shown "${shown}")
  set(UNSHARD_${name} AUTO CACHE STRING "Build with ${shown}: AUTO, ON or OFF")
  set_property(CACHE UNSHARD_${name} PROPERTY STRINGS AUTO ON OFF)
  add_library(unshard_${name} INTERFACE)
  set(found FALSE)
  if(UNSHARD_${name} AND modules)  # AUTO, too, is true
    pkg_check_modules(${name} QUIET IMPORTED_TARGET ${modules})
    set(found ${${name}_FOUND})
    set(linked PkgConfig::${name})
  elseif(UNSHARD_${name})
    find_path(${name}_HEADER ${no_module_HEADER})
    find_library(${name}_LIBRARY ${no_module_LIBRARY})
    mark_as_advanced(${name}_HEADER ${name}_LIBRARY)
    if(${name}_HEADER AND ${name}_LIBRARY)
      set(found TRUE)
    endif()
    set(linked ${${name}_LIBRARY})
  endif()
  set(list without)
  if(found)
    target_link_libraries(unshard_${name} INTERFACE ${linked})
    target_compile_definitions(unshard_${name} INTERFACE UNSHARD_${name})
    set(list with)
  elseif(UNSHARD_${name} AND NOT UNSHARD_${name} STREQUAL AUTO)
    message(FATAL_ERROR "UNSHARD_${name}=${UNSHARD_${name}}: ${shown} is not installed; install it, "
                        "or configure with -DUNSHARD_${name}=OFF")
  endif()
  set(unshard_${list} ${unshard_${list}} ${name} PARENT_SCOPE)
endfunction()

# These replace functions of zlib, and of our own.
unshard_library(ISAL libisal)
unshard_library(LIBDEFLATE libdeflate)
# These have codecs.
unshard_library(ZSTD libzstd)
unshard_library(BLOSC HEADER blosc.h LIBRARY blosc)
unshard_library(LZ4 liblz4 libxxhash)
unshard_library(BZIP2 HEADER bzlib.h LIBRARY bz2)
unshard_library(LZMA liblzma)
unshard_library(BROTLI libbrotlidec libbrotlienc)
unshard_library(PNG libpng)
unshard_library(JXL libjxl)
unshard_library(ZFP HEADER zfp.h LIBRARY zfp)
# The kernel takes and answers requests over it.
unshard_library(URING liburing)

string(REPLACE ";" " " shown "${unshard_with}")
message(STATUS "With: ${shown}")
string(REPLACE ";" " " shown "${unshard_without}")
message(STATUS "Without: ${shown}")
