#include "stub_libcuda.h"

#include <dlfcn.h>
#include <elf.h>

static void *symbol(const char *name)
{
    static void *library;
    if (!library)
        library = dlopen(STUB_PATH, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    void *p = dlsym(library, name);
    assert_non_null(p);
    return p;
}

stub *stub_state(void)
{
    return ((stub_get_fn *)symbol("stub_get"))();
}

stub *stub_open(void)
{
    ((stub_reset_fn *)symbol("stub_reset"))();
    return stub_state();
}

void stub_make_current(stub_context *context)
{
    ((stub_set_current_fn *)symbol("stub_set_current"))(context);
}

stub_context *stub_current(void)
{
    return ((stub_get_current_fn *)symbol("stub_get_current"))();
}

pg_device *stub_device(const pg_alloc *alloc)
{
    static const pg_log silent;
    pg_device *device;
    ptxgen_error err = {0};
    stub_open();
    if (pg_cuda_device_open(alloc, &silent, STUB_PATH, &device, &err) != PTXGEN_OK)
        fail_msg("%s", err.message);
    return device;
}

stub_cubin stub_make_cubin(int sm)
{
    stub_cubin c = {{0}};
    static const char names[] = "\0.symtab";
    const Elf64_Ehdr head = {
        .e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT, 0x41, 8},
        .e_machine = EM_CUDA,
        .e_flags = (unsigned)sm << 8,
        .e_shoff = 128,
        .e_shentsize = sizeof(Elf64_Shdr),
        .e_shnum = 3,
        .e_shstrndx = 2};
    const Elf64_Shdr sections[3] = {
        {0},
        {.sh_name = 1, .sh_type = SHT_SYMTAB, .sh_offset = 64, .sh_size = 24, .sh_link = 2},
        {.sh_type = SHT_STRTAB, .sh_offset = 96, .sh_size = sizeof names}};
    memcpy(c.bytes, &head, sizeof head);
    memcpy(c.bytes + 96, names, sizeof names);
    memcpy(c.bytes + 128, sections, sizeof sections);
    return c;
}
