# SPDX-License-Identifier: Apache-2.0
# Third-party libraries, taken static where the system has them so that the program starts on
# any node image with nothing but libc.
function(fp_find out name)
  find_library(${out} NAMES lib${name}.a ${name})
  if(NOT ${out})
    message(FATAL_ERROR "lib${name} not found: run scripts/setup.sh")
  endif()
endfunction()
fp_find(FP_ZSTD zstd)
fp_find(FP_JANSSON jansson)
fp_find(FP_ZLIB z)
find_path(FP_ISAL_HEADER isa-l/igzip_lib.h)
fp_find(FP_YAML yaml)
fp_find(FP_MICROHTTPD microhttpd)
find_package(Threads REQUIRED)
