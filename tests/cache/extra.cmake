# The storm once more, for a minute.
add_test(NAME cache/storm_of_a_minute COMMAND test_cache_storm WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
set_tests_properties(cache/storm_of_a_minute PROPERTIES LABELS "cache;slow" TIMEOUT 600
    ENVIRONMENT "PTXGEN_STORM_SECONDS=60")
