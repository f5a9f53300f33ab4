# The storm once more, for a minute.
add_test(NAME cache/storm_of_a_minute COMMAND test_cache_storm WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
set_tests_properties(cache/storm_of_a_minute PROPERTIES LABELS "cache;slow" TIMEOUT 600
    ENVIRONMENT "PTXGEN_STORM_SECONDS=60")

# A thousand forks of a process that compiles; each child compiles two kernels itself.
add_test(NAME cache/forks_by_the_thousand COMMAND test_engine_fork WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
set_tests_properties(cache/forks_by_the_thousand PROPERTIES LABELS "cache;slow" TIMEOUT 7200
    SKIP_RETURN_CODE 77 ENVIRONMENT "PTXGEN_FORKS=1000")
