# A thousand forks of a process that compiles; each child compiles two kernels itself.
add_run(engine/forks_by_the_thousand slow 7200 test_engine_fork)
set_tests_properties(engine/forks_by_the_thousand PROPERTIES ENVIRONMENT "PTXGEN_FORKS=1000")
