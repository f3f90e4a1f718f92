# SPDX-License-Identifier: Apache-2.0
# fp_flags: what every file of ours is compiled with.
add_library(fp_flags INTERFACE)
target_compile_definitions(fp_flags INTERFACE _GNU_SOURCE FP_VERSION="${PROJECT_VERSION}")
target_include_directories(fp_flags INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
target_compile_options(fp_flags INTERFACE
  -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 -Wundef -Wvla
  -Wconversion -Wcast-align -Wpointer-arith -Wwrite-strings -Wno-missing-field-initializers
  -fvisibility=hidden -fno-common -ffunction-sections -fdata-sections)
target_link_options(fp_flags INTERFACE -Wl,--gc-sections)
if(CMAKE_C_COMPILER_ID STREQUAL "Clang") # constants are enums here, also those of sizes and times
  target_compile_options(fp_flags INTERFACE -Wno-enum-float-conversion)
endif()
if(FP_WERROR)
  target_compile_options(fp_flags INTERFACE -Werror)
endif()
if(FP_SANITIZE)
  target_compile_options(fp_flags INTERFACE -fsanitize=${FP_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(fp_flags INTERFACE -fsanitize=${FP_SANITIZE})
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT FP_SANITIZE)
  target_compile_options(fp_flags INTERFACE -fstack-protector-strong -U_FORTIFY_SOURCE
    -D_FORTIFY_SOURCE=2)
  target_link_options(fp_flags INTERFACE -Wl,-z,relro,-z,now)
endif()
