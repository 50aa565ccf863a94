# The unit tests, and the fuzz targets that they call: one program a layer.
#
# UNSHARD_UNIT_TESTS=ON   (for daily work) builds them with the product; each case is a test of its own.
# UNSHARD_UNIT_TESTS=OFF  (tests/run) leaves them to sanitizers.cmake, which builds them once, with ASan and UBSan.
option(UNSHARD_UNIT_TESTS "Build the unit tests, and make a test of each of their cases" ON)

# Sources whose helpers are named alike are compiled one by one, also with UNSHARD_UNITY.
file(GLOB named_alike CONFIGURE_DEPENDS codec/pyramid/*_test.cc)
set_source_files_properties(${named_alike} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)

# Tests of store/ that a server is started for: those of one server are one test, and share it.
set(served_by_radosgw *Radosgw*)
set(served_by_versitygw *Versitygw*:S3ReplacerTest.*)
set(served_by_fake_gcs *Gcs*:GatedReplacerTest.*)
set(served_by_http_servers */Http*:HttpStoreTest.*:CurlTransportTest.*)
set(servers radosgw versitygw fake_gcs http_servers)
list(TRANSFORM servers PREPEND served_by_ OUTPUT_VARIABLE filters)
set(served)
foreach(filter ${filters})
  list(APPEND served ${${filter}})
endforeach()
list(JOIN served ":" served)

set(unit_layers codec store fs fuzz)
set(unit_folder ${CMAKE_BINARY_DIR})
set(unit_fixture "")  # what a test that runs one of the programs has to wait for
if(NOT UNSHARD_UNIT_TESTS)
  set(unit_folder ${CMAKE_BINARY_DIR}/asan)
  set(unit_fixture asan)
endif()

if(UNSHARD_UNIT_TESTS)
  foreach(layer ${unit_layers})
    # The fuzz targets are plain functions that the tests call as well.
    file(GLOB test_sources CONFIGURE_DEPENDS ${layer}/*_test.cc ${layer}/*/*_test.cc ${layer}/*_target.cc)
    # What a library alone can make, or what it alone reads, is tested where the build has it.
    if(NOT JXL IN_LIST unshard_with)
      list(FILTER test_sources EXCLUDE REGEX "/jpeg_xl_test\\.cc$")
    endif()
    if(NOT LZ4 IN_LIST unshard_with)
      list(FILTER test_sources EXCLUDE REGEX "/lz4_blocks_test\\.cc$")
    endif()
    add_executable(${layer}_tests ${test_sources})
    target_link_libraries(${layer}_tests PRIVATE unshard_test_support GTest::gtest GTest::gtest_main)
    target_precompile_headers(${layer}_tests REUSE_FROM unshard_test_support)
    unshard_unity(${layer}_tests)
    set(one_by_one)
    if(layer STREQUAL "store")
      set(one_by_one TEST_FILTER "-${served}")
    endif()
    gtest_discover_tests(${layer}_tests ${one_by_one} TEST_PREFIX ${layer}. PROPERTIES LABELS ${layer} TIMEOUT 300
                         DISCOVERY_TIMEOUT 60)
  endforeach()
endif()

foreach(server ${servers})
  add_test(NAME store.${server}
           COMMAND ${unit_folder}/store_tests --gtest_brief=1 "--gtest_filter=${served_by_${server}}")
  set_tests_properties(store.${server} PROPERTIES LABELS store TIMEOUT 600 FIXTURES_REQUIRED "${unit_fixture}")
endforeach()
# Ceph takes some seconds to start: elsewhere its tests are skipped.
set_tests_properties(store.radosgw PROPERTIES ENVIRONMENT UNSHARD_RADOSGW=1)
