# SPDX-License-Identifier: Apache-2.0
# fp_library(base SOURCES err.c ... LINKS ...): the library of one folder of src/.
function(fp_library name)
  cmake_parse_arguments(A "" "" "SOURCES;LINKS" ${ARGN})
  add_library(fp_${name} STATIC ${A_SOURCES})
  target_link_libraries(fp_${name} PUBLIC fp_flags ${A_LINKS})
endfunction()

# fp_unit(folder test_x.c): a unit test that links only what its layer may see. The main function is
# compiled once for all of them (fp_test_main in tests/).
function(fp_unit folder source)
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source} $<TARGET_OBJECTS:fp_test_main>)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests/unit)
  target_compile_definitions(${name} PRIVATE FP_TEST_DATA="${CMAKE_SOURCE_DIR}/tests/data")
  target_link_libraries(${name} PRIVATE fp_${folder} ${ARGN})
  add_test(NAME unit/${folder}/${name} COMMAND ${name})
  set_tests_properties(unit/${folder}/${name} PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77)
endfunction()

# fp_fuzz(folder fuzz_x.c): one target per parser of foreign bytes. With FP_FUZZ it is a libFuzzer
# program; otherwise it replays tests/fuzz/corpus/<x>/ as a test.
function(fp_fuzz folder source)
  get_filename_component(name ${source} NAME_WE)
  string(REPLACE "fuzz_" "" short ${name})
  if(FP_FUZZ)
    add_executable(${name} ${source})
    target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    if(NOT TARGET fuzzers)
      add_custom_target(fuzzers)
    endif()
    add_dependencies(fuzzers ${name})
  else()
    add_executable(${name} ${source} $<TARGET_OBJECTS:fp_replay_main>)
  endif()
  target_link_libraries(${name} PRIVATE fp_${folder} ${ARGN})
  if(NOT FP_FUZZ)
    add_test(NAME fuzz/${short} COMMAND ${name} ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${short})
    set_tests_properties(fuzz/${short} PROPERTIES TIMEOUT 300)
  endif()
endfunction()
