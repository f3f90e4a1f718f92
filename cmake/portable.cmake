# SPDX-License-Identifier: Apache-2.0
# Toolchain of the packages for every distribution: FP_COMPILER is a compiler for an old glibc, and
# FP_SYSROOT holds the headers and static libraries to link; nothing else of this machine is used.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES FP_COMPILER FP_SYSROOT FP_ARCH)
if(NOT FP_ARCH STREQUAL CMAKE_HOST_SYSTEM_PROCESSOR)
  set(CMAKE_SYSTEM_NAME Linux)
  set(CMAKE_SYSTEM_PROCESSOR ${FP_ARCH})
endif()
set(CMAKE_C_COMPILER ${FP_COMPILER})
set(CMAKE_FIND_ROOT_PATH ${FP_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_C_FLAGS_INIT "-isystem ${FP_SYSROOT}/include")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-s -pie")
set(CMAKE_MODULE_LINKER_FLAGS_INIT -s)
set(CMAKE_SHARED_LINKER_FLAGS_INIT -s)
set(CMAKE_STRIP "" CACHE FILEPATH "the linker strips already")
