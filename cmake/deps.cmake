# SPDX-License-Identifier: Apache-2.0
# What the build needs of the system: a C compiler, libraries and their headers, Python, the page.
# All of it is looked for first; one message then names everything that is missing and the commands
# that install it. Libraries are taken static where the system has them, so that the program starts
# on any node image with nothing but libc; a distribution's own package sets FP_STATIC to OFF.
option(FP_STATIC "link static libraries where there are any" ON)

set(missing)
set(missing_debian)
set(missing_fedora)
set(missing_conda)
macro(fp_missing what debian fedora conda)
  list(APPEND missing "${what}")
  list(APPEND missing_debian ${debian})
  list(APPEND missing_fedora ${fedora})
  list(APPEND missing_conda ${conda})
endmacro()

# project() would end with CMake's own message here.
if(NOT CMAKE_C_COMPILER)
  find_program(FP_CC NAMES $ENV{CC} cc gcc clang)
elseif(IS_ABSOLUTE "${CMAKE_C_COMPILER}")
  set(FP_CC "${CMAKE_C_COMPILER}")
else()
  find_program(FP_CC NAMES "${CMAKE_C_COMPILER}")
endif()
if(FP_CC)
  enable_language(C)
  find_package(Threads REQUIRED)
else()
  fp_missing("a C compiler" "gcc;libc6-dev" gcc c-compiler)
  file(GLOB CMAKE_LIBRARY_PATH /usr/lib/*-linux-gnu /usr/lib64) # which a compiler would have named
endif()

# fp_need(FP_ZSTD zstd zstd.h DEBIAN FEDORA CONDA): the library's path is in FP_ZSTD; name "": header only.
macro(fp_need out name header debian fedora conda)
  find_path(${out}_HEADER ${header})
  set(found "${${out}_HEADER}")
  if(NOT "${name}" STREQUAL "")
    if(FP_STATIC)
      find_library(${out} NAMES lib${name}.a ${name})
    else()
      find_library(${out} NAMES ${name})
    endif()
    if(NOT ${out})
      set(found)
    endif()
  endif()
  if(NOT found)
    fp_missing("${header}" "${debian}" "${fedora}" "${conda}")
  endif()
endmacro()
fp_need(FP_ZSTD zstd zstd.h libzstd-dev libzstd-devel zstd)
fp_need(FP_XXHASH "" xxhash.h libxxhash-dev xxhash-devel xxhash)
fp_need(FP_JANSSON jansson jansson.h libjansson-dev jansson-devel jansson)
fp_need(FP_ZLIB z zlib.h zlib1g-dev zlib-devel zlib)
fp_need(FP_YAML yaml yaml.h libyaml-dev libyaml-devel yaml)
fp_need(FP_MICROHTTPD microhttpd microhttpd.h libmicrohttpd-dev libmicrohttpd-devel libmicrohttpd)
fp_need(FP_GNUTLS "" gnutls/gnutls.h libgnutls28-dev gnutls-devel gnutls)
find_path(FP_ISAL_HEADER isa-l/igzip_lib.h) # optional: faster where it is there
find_library(FP_IBERTY NAMES libiberty.a iberty) # optional: decodes mangled names of kernels
find_path(FP_IBERTY_HEADER demangle.h PATH_SUFFIXES libiberty)

# Found for this folder and all below it: python/ builds the hooks, src/serve embeds the page.
set(FP_PYTHON ON CACHE STRING "build the hooks for Python: ON (when there is Python.h), OFF, REQUIRED")
if(FP_PYTHON STREQUAL "REQUIRED")
  find_package(Python3 3.10 COMPONENTS Interpreter Development.Module QUIET)
  if(NOT Python3_Development.Module_FOUND AND NOT EXISTS /usr/bin/python3)
    fp_missing("Python.h (Python 3.10 or newer)" python3-dev python3-devel python)
  endif()
endif()

# The page: web/dist is in releases, and in a clone once it was built. pip builds it in a clone.
set(FP_PAGE ON CACHE STRING "the page of the dashboard: ON (when web/dist is there), OFF, REQUIRED")
set(FP_DIST "${CMAKE_SOURCE_DIR}/web/dist")
if(FP_PAGE STREQUAL "REQUIRED" AND NOT EXISTS ${FP_DIST}/index.html)
  find_program(FP_NODE node)
  find_program(FP_NPM npm)
  if(NOT EXISTS ${CMAKE_SOURCE_DIR}/scripts/page.sh)
    list(APPEND missing "web/dist, the dashboard's page (this is not a complete release)")
  elseif(NOT FP_NODE OR NOT FP_NPM)
    fp_missing("node and npm, to build the dashboard's page" "nodejs;npm" "nodejs;npm" nodejs)
  endif()
endif()

if(missing)
  set(text "Footplate cannot be built here. Missing:\n")
  foreach(thing IN LISTS missing)
    string(APPEND text "  - ${thing}\n")
  endforeach()
  list(JOIN missing_debian " " debian)
  list(JOIN missing_fedora " " fedora)
  list(JOIN missing_conda " " conda)
  if(debian)
    string(APPEND text
      "Install what is missing:\n"
      "  Debian, Ubuntu:          sudo apt-get install ${debian}\n"
      "  Fedora, RHEL with EPEL:  sudo dnf install ${fedora}\n"
      "  conda (without root):    conda install -c conda-forge ${conda}\n")
  endif()
  string(APPEND text "Or install a built wheel, which needs none of this: docs/install.md")
  message(FATAL_ERROR "${text}")
endif()

if(FP_PAGE STREQUAL "REQUIRED" AND EXISTS ${CMAKE_SOURCE_DIR}/scripts/page.sh)
  execute_process(COMMAND ${CMAKE_SOURCE_DIR}/scripts/page.sh RESULT_VARIABLE failed)
  if(failed OR NOT EXISTS ${FP_DIST}/index.html)
    message(FATAL_ERROR "The dashboard's page could not be built: see the output above. "
      "With -DFP_PAGE=OFF the program is built without it.")
  endif()
endif()
