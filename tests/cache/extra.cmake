# The storm once more, for a minute.
add_run(cache/storm_of_a_minute slow 600 test_cache_storm)
set_tests_properties(cache/storm_of_a_minute PROPERTIES ENVIRONMENT "PTXGEN_STORM_SECONDS=60")
