# A build without any library that it may lack: the unit tests, and a mount. It compiles codec/ and fs/kernel anew;
# the rest is what a debug build has, too.
set(minimal ${CMAKE_BINARY_DIR}/minimal)
set(programs codec_tests store_tests fs_tests fuzz_tests)
list(JOIN programs " " targets)
add_test(NAME minimal.build COMMAND ${BASH_PROGRAM} -ec
  "'${CMAKE_COMMAND}' -C .ci/configs/minimal.cmake --preset debug -S . -B '${minimal}' -DUNSHARD_UNITY=ON \
     -DUNSHARD_WERROR=ON -DCMAKE_CXX_FLAGS_DEBUG='-O0 -g1' >'${minimal}.log' || { cat '${minimal}.log'; exit 1; }
   nice -n 5 '${CMAKE_COMMAND}' --build '${minimal}' --target unshard unshard-sample ${targets}"
  WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
set_tests_properties(minimal.build PROPERTIES LABELS minimal TIMEOUT 2400 PROCESSORS 2 RESOURCE_LOCK compiler
                     FIXTURES_SETUP minimal)
foreach(program ${programs})
  string(REPLACE "_tests" "" layer ${program})
  set(filter "*")
  if(layer STREQUAL "store")
    set(filter "-${served}")  # what a server is started for is the same in each build
  endif()
  add_test(NAME minimal.${layer} COMMAND ${minimal}/${program} --gtest_brief=1 "--gtest_filter=${filter}")
  set_tests_properties(minimal.${layer} PROPERTIES LABELS minimal TIMEOUT 900 PROCESSORS 2 FIXTURES_REQUIRED minimal)
endforeach()
add_test(NAME minimal.mount COMMAND ${peers}/python -m pytest -q ${CMAKE_CURRENT_SOURCE_DIR}/minimal/test_minimal_build.py)
set_tests_properties(minimal.mount PROPERTIES LABELS minimal TIMEOUT 600 FIXTURES_REQUIRED minimal ENVIRONMENT
  "UNSHARD=${minimal}/unshard;UNSHARD_WORK=${CMAKE_BINARY_DIR}/tests-work;PYTHONDONTWRITEBYTECODE=1")
