/* The driver as an assembler, on a stand-in driver: what it is asked, whose context it uses, and
 * what its errors become. */
#include "runtime_kernels.h"
#include "stub_libcuda.h"

static const pg_log silent;

static pg_toolkit *driver_toolkit(const pg_alloc *alloc)
{
    const pg_toolkit_config config = {.wanted = PTXGEN_ASSEMBLER_DRIVER,
                                      .driver_library = STUB_PATH};
    pg_toolkit *t;
    ptxgen_error err = {0};
    if (pg_toolkit_create(alloc, &silent, &config, &t, &err) != PTXGEN_OK)
        fail_msg("%s", err.message);
    return t;
}

static stub_cubin cubin;

static stub *stub_with_cubin(void)
{
    stub *s = stub_open();
    cubin = stub_make_cubin(90);
    s->cubin = cubin.bytes;
    s->cubin_size = sizeof cubin.bytes;
    return s;
}

static void ptx_is_linked_for_the_asked_architecture(void **state)
{
    static const struct {
        ptxgen_arch arch;
        int target;
    } cases[] = {{900, 90}, {901, 0x10000 + 90}, {1002, 0x20000 + 100}, {1031, 0x10000 + 103}};
    (void)state;
    stub *s = stub_with_cubin();
    pg_toolkit *t = driver_toolkit(&pg_alloc_libc);
    s->info_log = "info    : 0 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n";
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pg_assembly a;
        const pg_assembly_request r = request_for(KERNEL_STORE, cases[i].arch);
        assembly_init(&a);
        assert_int_equal(pg_toolkit_assemble(t, PTXGEN_ASSEMBLER_DRIVER, &r, &a, NULL), PTXGEN_OK);
        assert_int_equal(s->link_target, cases[i].target);
        assert_int_equal(a.cubin.len, s->cubin_size);
        assert_memory_equal(a.cubin.data, s->cubin, s->cubin_size);
        assert_int_equal(a.spill_bytes, 12);
        assert_int_equal(a.registers, -1); /* the small cubin does not say */
        assembly_fini(&a);
    }
    assert_int_equal(s->live_links, 0);
    assert_null(stub_current()); /* the primary context was used and put away again */
    assert_int_equal(s->retains, 1);
    pg_toolkit_destroy(t);
    assert_int_equal(s->releases, 1);
}

static void driver_errors_keep_line_and_number(void **state)
{
    (void)state;
    stub *s = stub_with_cubin();
    pg_toolkit *t = driver_toolkit(&pg_alloc_libc);
    pg_assembly a;
    ptxgen_error err = {0};
    const pg_assembly_request r = request_for(KERNEL_WRONG, 900);
    assembly_init(&a);
    s->error_log = "ptxas application ptx input, line 8; error   : Arguments mismatch\n";
    assert_int_equal(pg_toolkit_assemble(t, PTXGEN_ASSEMBLER_DRIVER, &r, &a, &err),
                     PTXGEN_EASSEMBLE);
    assert_int_equal(err.line, 8);
    s->error_log = NULL;
    s->info_log = "ptxas info    : (C7504) Potential Performance Loss: 'setmaxnreg' ignored\n";
    assert_int_equal(pg_toolkit_assemble(t, PTXGEN_ASSEMBLER_DRIVER, &r, &a, &err),
                     PTXGEN_EASSEMBLE);
    s->info_log = NULL;
    s->fail_name = "cuLinkComplete";
    s->fail_code = 222;
    assert_int_equal(pg_toolkit_assemble(t, PTXGEN_ASSEMBLER_DRIVER, &r, &a, &err), PTXGEN_EDRIVER);
    assert_int_equal(err.driver_error, 222);
    assert_non_null(strstr(err.message, "another assembler"));
    assert_int_equal(s->live_links, 0);
    assembly_fini(&a);
    pg_toolkit_destroy(t);
}

static void missing_driver_is_a_part_not_found(void **state)
{
    const pg_toolkit_config config = {.driver_library = "/nowhere/libcuda.so.1"};
    ptxgen_part part;
    pg_toolkit *t;
    (void)state;
    assert_int_equal(pg_toolkit_create(&pg_alloc_libc, &silent, &config, &t, NULL), PTXGEN_OK);
    assert_true(pg_toolkit_part(t, PTXGEN_ASSEMBLER_DRIVER - 1, &part));
    assert_string_equal(part.name, "driver");
    assert_false(part.found);
    assert_non_null(strstr(part.note, "install the NVIDIA driver"));
    pg_toolkit_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ptx_is_linked_for_the_asked_architecture),
        cmocka_unit_test(driver_errors_keep_line_and_number),
        cmocka_unit_test(missing_driver_is_a_part_not_found),
    };
    return cmocka_run_group_tests_name("assembler_driver", tests, NULL, NULL);
}
