/* Programs whose CUDA runtime is linked in statically, nvcc's default: the dynamic linker cannot
 * interpose its functions, so their first instructions are replaced by a jump to ours, before the
 * program's own constructors run. They are found by name in the symbol tables of the program and of
 * the libraries that are loaded with it; a stripped program has none and is refused. A stripped
 * library (cuBLAS, cuFFT) is named and left alone: only calls of it fail. */
#include "stand_in/runtime.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__x86_64__)
/* jmp *[rip + 0]; address */
static const unsigned char jump_code[] = {0xff, 0x25, 0, 0, 0, 0};
#elif defined(__aarch64__)
/* ldr x16, #8; br x16; address */
static const unsigned char jump_code[] = {0x50, 0x00, 0x00, 0x58, 0x00, 0x02, 0x1f, 0xd6};
#endif

enum { JUMP_BYTES = sizeof jump_code + sizeof(void *) };

static bool write_jump(char *at, const void *to)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t begin = (uintptr_t)at / page * page;
    const uintptr_t end = ((uintptr_t)at + JUMP_BYTES + page - 1) / page * page;
    if (mprotect((void *)begin, end - begin, PROT_READ | PROT_WRITE | PROT_EXEC))
        return false;
    memcpy(at, jump_code, sizeof jump_code);
    memcpy(at + sizeof jump_code, &to, sizeof to);
    mprotect((void *)begin, end - begin, PROT_READ | PROT_EXEC);
    __builtin___clear_cache(at, at + JUMP_BYTES);
    return true;
}

typedef struct patch_run {
    void *self; /* dlopen's handle of this library */
    uintptr_t self_base;
    const char *library; /* path of the object at hand; NULL: the program */
    unsigned failed;
} patch_run;

static bool is_runtime_name(const char *name)
{
    return !strncmp(name, "cuda", 4) || !strncmp(name, "__cuda", 6);
}

static void patch_symbol(patch_run *run, const char *name, const ElfW(Sym) * symbol, uintptr_t base)
{
    char *at = (char *)(base + symbol->st_value);
    if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || !symbol->st_value ||
        symbol->st_size < JUMP_BYTES || !is_runtime_name(name))
        return;
    void *ours = dlsym(run->self, name);
    if (ours && ours != (void *)at && !write_jump(at, ours))
        run->failed++;
}

static bool within(uint64_t offset, uint64_t bytes, size_t whole)
{
    return offset <= whole && bytes <= whole - offset;
}

/* A program with kernels that neither imports the runtime nor shows the names of its own. */
static bool hides_its_runtime(const char *file, const ElfW(Ehdr) * header, size_t bytes)
{
    const ElfW(Shdr) *sections = (const void *)(file + header->e_shoff);
    bool kernels = false, names = false;
    if (header->e_shstrndx >= header->e_shnum)
        return false;
    const ElfW(Shdr) *titles = &sections[header->e_shstrndx];
    for (unsigned i = 0; i < header->e_shnum; i++) {
        const ElfW(Shdr) *s = &sections[i];
        if (!within(titles->sh_offset, (uint64_t)s->sh_name + 16, bytes))
            return false;
        const char *title = file + titles->sh_offset + s->sh_name;
        kernels |= !strncmp(title, ".nvFatBinSegment", 16);
        names |= s->sh_type == SHT_SYMTAB;
        if (!strncmp(title, ".dynstr", 8) && within(s->sh_offset, s->sh_size, bytes))
            names |= memmem(file + s->sh_offset, s->sh_size, "__cudaRegisterFatBinary", 23) != NULL;
    }
    return kernels && !names;
}

static void refuse_hidden_runtime(const char *library)
{
    if (library) {
        const char *slash = strrchr(library, '/');
        pg_complain("%s has a CUDA runtime of its own, out of reach: calls of it fail here",
                    slash ? slash + 1 : library);
        return;
    }
    pg_complain("the program's CUDA runtime is static and its symbols are stripped: link it "
                "with nvcc -cudart shared, or do not strip it");
    _exit(1);
}

static void patch_image(patch_run *run, const char *file, size_t bytes, uintptr_t base)
{
    const ElfW(Ehdr) *header = (const void *)file;
    if (bytes < sizeof *header || memcmp(file, ELFMAG, SELFMAG) ||
        !within(header->e_shoff, (uint64_t)header->e_shnum * sizeof(ElfW(Shdr)), bytes))
        return;
    if (hides_its_runtime(file, header, bytes)) {
        refuse_hidden_runtime(run->library);
        return;
    }
    const ElfW(Shdr) *sections = (const void *)(file + header->e_shoff);
    for (unsigned i = 0; i < header->e_shnum; i++) {
        const ElfW(Shdr) *s = &sections[i];
        if (s->sh_type != SHT_SYMTAB || s->sh_link >= header->e_shnum ||
            !within(s->sh_offset, s->sh_size, bytes))
            continue;
        const ElfW(Shdr) *names = &sections[s->sh_link];
        if (!within(names->sh_offset, names->sh_size, bytes) || !names->sh_size ||
            file[names->sh_offset + names->sh_size - 1])
            continue;
        const ElfW(Sym) *symbols = (const void *)(file + s->sh_offset);
        for (size_t k = 0; k < s->sh_size / sizeof *symbols; k++)
            if (symbols[k].st_name < names->sh_size)
                patch_symbol(run, file + names->sh_offset + symbols[k].st_name, &symbols[k], base);
    }
}

static int patch_object(struct dl_phdr_info *info, size_t bytes, void *user)
{
    (void)bytes;
    patch_run *run = user;
    const char *path = info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe";
    struct stat status;
    if (info->dlpi_addr == run->self_base)
        return 0;
    run->library = info->dlpi_name[0] ? path : NULL;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    if (!fstat(fd, &status) && status.st_size > 0) {
        const size_t size = (size_t)status.st_size;
        char *file = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (file != MAP_FAILED) {
            patch_image(run, file, size, info->dlpi_addr);
            munmap(file, size);
        }
    }
    close(fd);
    return 0;
}

/* Before the constructors of the program, which register its kernels: a preloaded library comes
 * first. */
__attribute__((constructor)) static void replace_static_runtimes(void)
{
    Dl_info self;
    if (!dladdr((const void *)replace_static_runtimes, &self))
        return;
    patch_run run = {.self = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD),
                     .self_base = (uintptr_t)self.dli_fbase};
    if (!run.self)
        return;
    dl_iterate_phdr(patch_object, &run);
    dlclose(run.self);
    if (run.failed)
        pg_complain("%u functions of a static CUDA runtime could not be replaced (is text "
                    "write-protected here?): link the program with nvcc -cudart shared",
                    run.failed);
}
