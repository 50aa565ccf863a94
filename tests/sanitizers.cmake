# The unit tests under the sanitizers, and the fuzz targets under libFuzzer: each in a build folder of its own below
# this one. Builds come one after the other, and give way to the tests beside them. Of what tests/run allows, three
# for each processor, what computes all the time counts twice: beside it run tests that mostly wait.

set(asan_programs codec_tests store_tests fs_tests fuzz_tests)
# Races need threads: codec/ and the fuzz targets start none. What store/ calls of codec/ from several threads is run
# by the tests of store/.
set(tsan_programs store_tests fs_tests)
set(fuzz_programs all)
# In these one thread simulates a crash, or a failure, at each operation: a third of what all of store/ takes.
set(tsan_store_filter "-*/SpoolCrash.*:*/SpoolMove.*:*/PublishCrashTest.*:*/CrashStatesTest.*")
if(NOT UNSHARD_UNIT_TESTS)
  set(asan_store_filter "-${served}")  # store.SERVER runs these, with this program
endif()

set(asan_name asan)
set(tsan_name tsan)
set(fuzz_name libfuzzer)

foreach(preset asan tsan fuzz)
  set(test ${${preset}_name}.build)
  set(folder ${CMAKE_BINARY_DIR}/${preset})
  list(JOIN ${preset}_programs " " programs)
  add_test(NAME ${test} COMMAND ${BASH_PROGRAM} -ec
    "'${CMAKE_COMMAND}' --preset ${preset} -S . -B '${folder}' >'${folder}.log' || { cat '${folder}.log'; exit 1; }
     nice -n 5 '${CMAKE_COMMAND}' --build '${folder}' --target ${programs}"
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${test} PROPERTIES LABELS ${${preset}_name} TIMEOUT 2400
                       PROCESSORS 2 RESOURCE_LOCK compiler FIXTURES_SETUP ${preset})
endforeach()

foreach(preset asan tsan)
  foreach(program ${${preset}_programs})
    string(REPLACE "_tests" "" layer ${program})
    set(filter "*")
    if(DEFINED ${preset}_${layer}_filter)
      set(filter "${${preset}_${layer}_filter}")
    endif()
    # Through env, because the program is not there yet when ctest lists its tests.
    add_test(NAME ${preset}.${layer} COMMAND ${CMAKE_COMMAND} -E env
      ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1
      UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS=second_deadlock_stack=1
      ${CMAKE_BINARY_DIR}/${preset}/${program} --gtest_brief=1 "--gtest_filter=${filter}")
    set_tests_properties(${preset}.${layer} PROPERTIES LABELS ${preset} TIMEOUT 900
                         PROCESSORS 2 FIXTURES_REQUIRED ${preset})
  endforeach()
endforeach()
set_tests_properties(asan.store tsan.store PROPERTIES COST 100)

# Each target draws the same inputs in each run, so that what one submission finds another one finds too;
# UNSHARD_FUZZ_SECONDS and UNSHARD_FUZZ_SEED (tests/fuzz/run) look further.
file(GLOB fuzz_targets CONFIGURE_DEPENDS fuzz/*_target.cc)
foreach(target ${fuzz_targets})
  get_filename_component(name ${target} NAME)
  string(REPLACE "_target.cc" "" name ${name})
  add_test(NAME libfuzzer.${name} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/run ${CMAKE_BINARY_DIR}/fuzz ${name})
  set_tests_properties(libfuzzer.${name} PROPERTIES LABELS libfuzzer TIMEOUT 1500 PROCESSORS 2 FIXTURES_REQUIRED fuzz)
endforeach()
