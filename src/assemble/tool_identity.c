/* Reads the few parts of a compiler's ELF file that tell its build, with pread: a mapping of a
 * file that someone truncates meanwhile would kill the process. */
#include "assemble/tool_identity.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/system_words.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    BLOCK = 4096,
    BLOCKS = 64,
    CHUNK = 8 * BLOCK,
    MOST_SECTIONS = 128,
    MOST_SCANNED = 64 << 20, /* of read-only data */
    OVERLAP = 256            /* a text that is looked for is shorter */
};

typedef struct file_view {
    int fd;
    uint64_t size;
    uint8_t chunk[CHUNK]; /* on the stack: running out of memory must not hide a tool */
} file_view;

/* As many of n bytes at `offset` as the file has. */
static size_t read_at(file_view *f, void *to, size_t n, uint64_t offset)
{
    size_t got = 0;
    while (got < n && offset + got < f->size) {
        ssize_t r = pread(f->fd, (char *)to + got, n - got, (off_t)(offset + got));
        if (r < 0 && errno == EINTR)
            continue;
        if (r <= 0)
            break;
        got += (size_t)r;
    }
    return got;
}

/* "Cuda compilation tools, release 13.0, V13.0.88" */
static bool take_version(const uint8_t *bytes, size_t n, pg_tool_identity *out)
{
    static const char mark[] = "Cuda compilation tools, release ";
    const uint8_t *at = memmem(bytes, n, mark, sizeof mark - 1);
    const uint8_t *end = bytes + n, *v = at ? memchr(at, 'V', (size_t)(end - at)) : NULL;
    size_t length = 0;
    if (!v)
        return false;
    for (v++; v + length < end && length + 1 < sizeof out->version; length++) {
        if (v[length] != '.' && (v[length] < '0' || v[length] > '9'))
            break;
        out->version[length] = (char)v[length];
    }
    out->version[length] = 0;
    return length > 0;
}

static void scan_for_version(file_view *f, const Elf64_Shdr *rodata, pg_tool_identity *out)
{
    uint64_t end = rodata->sh_size < MOST_SCANNED ? rodata->sh_size : MOST_SCANNED;
    for (uint64_t at = 0; at < end; at += CHUNK - OVERLAP) {
        size_t n = read_at(f, f->chunk, CHUNK, rodata->sh_offset + at);
        if (n == 0 || take_version(f->chunk, n, out))
            return;
    }
}

static void take_build_id(file_view *f, const Elf64_Shdr *note, pg_tool_identity *out)
{
    uint8_t bytes[64];
    Elf64_Nhdr head;
    size_t n = read_at(f, bytes, note->sh_size < sizeof bytes ? note->sh_size : sizeof bytes,
                       note->sh_offset);
    if (n < sizeof head)
        return;
    memcpy(&head, bytes, sizeof head);
    const size_t name = sizeof head, id = name + 4;
    if (head.n_type != NT_GNU_BUILD_ID || head.n_namesz != 4 || n < id ||
        memcmp(bytes + name, "GNU", 4))
        return;
    for (size_t i = 0; i < head.n_descsz && id + i < n && 2 * i + 2 < sizeof out->build; i++)
        snprintf(out->build + 2 * i, 3, "%02x", bytes[id + i]);
}

static void read_sections(file_view *f, pg_tool_identity *out)
{
    Elf64_Ehdr e;
    Elf64_Shdr sections[MOST_SECTIONS];
    if (read_at(f, &e, sizeof e, 0) != sizeof e || memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 ||
        e.e_ident[EI_CLASS] != ELFCLASS64)
        return;
    out->is_elf = true;
    size_t count = e.e_shnum < MOST_SECTIONS ? e.e_shnum : MOST_SECTIONS;
    if (e.e_shentsize != sizeof sections[0] || e.e_shstrndx >= count ||
        read_at(f, sections, count * sizeof sections[0], e.e_shoff) != count * sizeof sections[0])
        return;
    char names[8192] = {0};
    read_at(f, names, sizeof names - 1, sections[e.e_shstrndx].sh_offset);
    for (size_t i = 0; i < count; i++) {
        const char *name = sections[i].sh_name < sizeof names ? names + sections[i].sh_name : "";
        if (strcmp(name, ".note.gnu.build-id") == 0)
            take_build_id(f, &sections[i], out);
        else if (strcmp(name, ".rodata") == 0)
            scan_for_version(f, &sections[i], out);
    }
}

/* The hash of the blocks' hashes: the blocks themselves would not fit the stack. */
static void hash_content(file_view *f, pg_tool_identity *out)
{
    struct {
        uint64_t size;
        uint64_t blocks[BLOCKS];
    } content = {.size = f->size};
    bool small = f->size <= BLOCK * BLOCKS;
    for (uint64_t i = 0; i < BLOCKS; i++) {
        uint64_t at = small ? i * BLOCK : (f->size - BLOCK) / (BLOCKS - 1) * i;
        size_t n = read_at(f, f->chunk, BLOCK, at);
        content.blocks[i] = pg_hash64(f->chunk, n);
    }
    char hex[33];
    pg_hash_hex(pg_hash(&content, sizeof content), hex);
    snprintf(out->build, sizeof out->build, "%s", hex);
}

int pg_identify_file(const char *path, pg_tool_identity *out, ptxgen_error *err)
{
    struct stat st;
    memset(out, 0, sizeof *out);
    file_view f;
    f.fd = open(path, O_RDONLY | O_CLOEXEC);
    if (f.fd < 0 || fstat(f.fd, &st) != 0) {
        int number = errno;
        if (f.fd >= 0)
            close(f.fd);
        pg_fail(err, PTXGEN_EIO, "cannot read %s: error %d, %s", path, number,
                pg_error_words(number));
        return number;
    }
    f.size = (uint64_t)st.st_size;
    read_sections(&f, out);
    if (!out->build[0])
        hash_content(&f, out);
    close(f.fd);
    return 0;
}

void pg_identify_text(const char *answer, pg_tool_identity *id)
{
    char hex[33], both[sizeof id->build + 40];
    size_t n = strlen(answer);
    take_version((const uint8_t *)answer, n, id);
    pg_hash_hex(pg_hash(answer, n), hex);
    int length = snprintf(both, sizeof both, "%s %s", id->build, hex);
    pg_hash_hex(pg_hash(both, (size_t)length), hex);
    snprintf(id->build, sizeof id->build, "%s", hex);
}
