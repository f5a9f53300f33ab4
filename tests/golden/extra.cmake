# Thousands of kernels through an assembler: minutes, so apart from the quick tests.
set_tests_properties(golden/test_assemble_scatter_add PROPERTIES LABELS "golden;assemble" TIMEOUT 1500)
