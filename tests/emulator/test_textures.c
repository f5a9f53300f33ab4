/* Textures of the public header: what is refused, handles, and what a program that misuses one
 * is told. Reads are held to tests/emulator/cases. */
#include "test.h"

#include "ptxgen/emulator.h"

static float image[64];

static ptxgen_emulator_texture plain(void)
{
    return (ptxgen_emulator_texture){.size = sizeof(ptxgen_emulator_texture),
                                     .format = 32,
                                     .channels = 1,
                                     .width = 8,
                                     .height = 8,
                                     .memory = image,
                                     .address_mode = {1, 1, 1}};
}

static ptxgen_emulator *open_emulator(void)
{
    const ptxgen_emulator_config config = {.size = sizeof config};
    ptxgen_emulator *emu;
    assert_int_equal(ptxgen_emulator_create(&config, &emu, NULL), PTXGEN_OK);
    return emu;
}

static void refuse(ptxgen_emulator *emu, ptxgen_emulator_texture t, const char *why)
{
    uint64_t handle;
    ptxgen_error err = {0};
    assert_int_equal(ptxgen_emulator_add_texture(emu, &t, &handle, &err), PTXGEN_EINVAL);
    if (!strstr(err.message, why))
        fail_msg("\"%s\" does not say \"%s\"", err.message, why);
}

static void what_no_gpu_has_is_refused(void **state)
{
    (void)state;
    ptxgen_emulator *emu = open_emulator();
#define REFUSE(why, ...)                                                                           \
    do {                                                                                           \
        ptxgen_emulator_texture t = plain();                                                       \
        __VA_ARGS__;                                                                               \
        refuse(emu, t, why);                                                                       \
    } while (0)
    REFUSE("CU_AD_FORMAT", t.format = 4);
    REFUSE("not 3", t.channels = 3);
    REFUSE("beyond", t.width = 0);
    REFUSE("beyond", t.memory = NULL);
    REFUSE("three dimensions", t.layers = 2, t.depth = 4);
    REFUSE("square", t.cube = 1, t.layers = 5);
    REFUSE("square", t.cube = 1, t.layers = 6, t.width = 4);
    REFUSE("address mode 4", t.address_mode[1] = 4);
    REFUSE("32-bit integers", t.format = 3);
    REFUSE("32-bit integers", t.format = 10, t.read_integers = 1, t.linear = 1);
#undef REFUSE
    ptxgen_emulator_destroy(emu);
}

static void handles_are_given_back(void **state)
{
    (void)state;
    enum { ROOM = 1024 };
    ptxgen_emulator *emu = open_emulator();
    const ptxgen_emulator_texture t = plain();
    ptxgen_error err = {0};
    uint64_t handle[ROOM + 1];
    for (int i = 0; i < ROOM; i++)
        assert_int_equal(ptxgen_emulator_add_texture(emu, &t, &handle[i], NULL), PTXGEN_OK);
    assert_int_equal(ptxgen_emulator_add_texture(emu, &t, &handle[ROOM], &err),
                     PTXGEN_EUNSUPPORTED);
    assert_non_null(strstr(err.message, "1024"));
    assert_true(ptxgen_emulator_remove_texture(emu, handle[7]));
    assert_false(ptxgen_emulator_remove_texture(emu, handle[7]));
    assert_false(ptxgen_emulator_remove_texture(emu, 0));
    assert_false(ptxgen_emulator_remove_texture(emu, ROOM + 1));
    assert_int_equal(ptxgen_emulator_add_texture(emu, &t, &handle[ROOM], NULL), PTXGEN_OK);
    assert_int_equal(handle[ROOM], handle[7]);
    ptxgen_emulator_destroy(emu); /* takes the rest along */
}

/* Runs `instruction` on the handle in one thread. */
static ptxgen_status run(ptxgen_emulator *emu, const char *instruction, uint64_t handle,
                         ptxgen_error *err)
{
    char text[600];
    ptxgen_emulator_module *module;
    ptxgen_emulator_entry *entry;
    void *args[] = {&handle};
    const ptxgen_emulator_launch launch = {
        .size = sizeof launch, .grid = {1, 1, 1}, .block = {1, 1, 1}, .args = args, .arg_count = 1};
    snprintf(text, sizeof text,
             ".version 8.4\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 t)\n"
             "{\n.reg .b64 %%h;\n.reg .b32 %%x, %%r<4>;\nld.param.u64 %%h, [t];\n"
             "mov.b32 %%x, 32;\n%s\nret;\n}\n",
             instruction);
    ptxgen_status status = ptxgen_emulator_load(emu, text, strlen(text), NULL, &module, err);
    if (status != PTXGEN_OK)
        return status;
    status = ptxgen_emulator_find(module, "k", &entry, err);
    if (status == PTXGEN_OK)
        status = ptxgen_emulator_run(entry, &launch, err);
    ptxgen_emulator_unload(module);
    return status;
}

static void misuse_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *instruction, *why;
        int of_none; /* with a handle of no texture */
    } cases[] = {
        {"tex.2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%h, {%x, %x}];", "no texture", 1},
        {"tex.1d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%h, {%x}];", "2 dimensions", 0},
        {"tex.a2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%h, {%x, %x, %x, %x}];", "in layers", 0},
        {"suld.b.2d.b32.trap %r0, [%h, {%x, %x}];", "outside the surface", 0},
        {"tex.2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%h, {%x}];", "2 coordinates", 0},
        {"tex.2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%h + 8, {%x, %x}];", "without an offset", 0},
        {"tex.2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%h, %h, {%x, %x}];", "sampler", 0}};
    ptxgen_emulator *emu = open_emulator();
    const ptxgen_emulator_texture t = plain();
    uint64_t handle;
    assert_int_equal(ptxgen_emulator_add_texture(emu, &t, &handle, NULL), PTXGEN_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ptxgen_error err = {0};
        const uint64_t given = cases[i].of_none ? handle + 1 : handle;
        assert_int_not_equal(run(emu, cases[i].instruction, given, &err), PTXGEN_OK);
        if (!strstr(err.message, cases[i].why))
            fail_msg("%s: \"%s\" does not say \"%s\"", cases[i].instruction, err.message,
                     cases[i].why);
    }
    ptxgen_error err = {0};
    assert_int_equal(run(emu, "suld.b.2d.b32.zero %r0, [%h, {%x, %x}];", handle, &err), PTXGEN_OK);
    ptxgen_emulator_destroy(emu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_no_gpu_has_is_refused),
        cmocka_unit_test(handles_are_given_back),
        cmocka_unit_test(misuse_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
