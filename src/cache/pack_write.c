/* Writing a pack: entries as they come, then the sorted index and the footer. */
#include "cache/pack.h"

#include "base/bytes.h"
#include "base/sort.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void write_bytes(pg_pack_writer *w, const void *bytes, size_t n)
{
    if (w->error)
        return;
    int r = pg_file_write_all(w->files, w->fd, bytes, n, w->offset);
    w->error = r < 0 ? -r : 0;
    w->offset += n;
}

static void write_frame(pg_pack_writer *w, unsigned char frame[PG_PACK_FRAME])
{
    pg_put_le(frame + 56, pg_hash64(frame, 56), 8);
    write_bytes(w, frame, PG_PACK_FRAME);
}

static void write_header(pg_pack_writer *w)
{
    unsigned char frame[PG_PACK_FRAME] = PG_PACK_HEADER_MAGIC;
    pg_put_le(frame + 8, PG_PACK_FORMAT, 4);
    pg_put_le(frame + 16, (uint64_t)w->files->now(w->files->user), 8);
    snprintf((char *)frame + 24, 24, "%d.%d.%d", PTXGEN_VERSION_MAJOR, PTXGEN_VERSION_MINOR,
             PTXGEN_VERSION_PATCH);
    write_frame(w, frame);
}

ptxgen_status pg_pack_begin(pg_pack_writer *w, const pg_alloc *alloc, const pg_files *files,
                            const char *path, ptxgen_error *err)
{
    pg_file_stat old;
    const int r = files->stat_at(files->user, AT_FDCWD, path, &old);
    if (r < 0 && r != -ENOENT)
        return pg_fail(err, PTXGEN_EIO, "cannot write the pack '%s': %s", path, strerror(-r));
    if (r == 0 && old.type == PG_FILE_OTHER)
        return pg_fail(err, PTXGEN_EINVAL,
                       "'%s' is a link or device, which a pack does not replace: name a new or "
                       "a regular file",
                       path);
    *w = (pg_pack_writer){
        .files = files, .path = path, .fd = -1, .temporary_size = strlen(path) + 32};
    pg_buf_init(&w->items, alloc);
    w->temporary = pg_alloc_zero(alloc, w->temporary_size);
    if (!w->temporary)
        return pg_fail_memory(err, w->temporary_size);
    /* Beside the pack, with a name that does not grow with the pack's, which may be as long as
     * names can be. */
    const char *slash = strrchr(path, '/');
    const int folder = slash ? (int)(slash + 1 - path) : 0;
    char unique[32];
    pg_file_unique_name(".tmp-", unique, sizeof unique);
    snprintf(w->temporary, w->temporary_size, "%.*s%s", folder, path, unique);
    w->fd = files->open(files->user, AT_FDCWD, w->temporary,
                        O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (w->fd < 0) {
        ptxgen_status status =
            pg_fail(err, PTXGEN_EIO, "cannot write the pack '%s': %s", path, strerror(-w->fd));
        pg_free(alloc, w->temporary, w->temporary_size);
        return status;
    }
    write_header(w);
    return PTXGEN_OK;
}

void pg_pack_add(pg_pack_writer *w, pg_hash128 hash, const void *bytes, size_t n)
{
    static const char zeros[PG_PACK_FRAME];
    pg_pack_item item = {hash, w->offset, n};
    write_bytes(w, bytes, n);
    write_bytes(w, zeros, (PG_PACK_FRAME - w->offset % PG_PACK_FRAME) % PG_PACK_FRAME);
    pg_buf_append(&w->items, &item, sizeof item);
    w->count++;
}

static void write_index(pg_pack_writer *w)
{
    if (w->count)
        pg_sort(w->items.data, w->count, PG_PACK_ITEM, pg_pack_compare_items);
    for (size_t i = 0; i < w->count; i++) {
        pg_pack_item item;
        unsigned char *raw = (unsigned char *)w->items.data + i * PG_PACK_ITEM;
        memcpy(&item, raw, sizeof item);
        pg_put_le(raw, item.hash.lo, 8);
        pg_put_le(raw + 8, item.hash.hi, 8);
        pg_put_le(raw + 16, item.offset, 8);
        pg_put_le(raw + 24, item.size, 8);
    }
    unsigned char frame[PG_PACK_FRAME] = PG_PACK_FOOTER_MAGIC;
    pg_hash128 h = pg_hash(pg_buf_text(&w->items), w->items.len);
    pg_put_le(frame + 8, w->offset, 8);
    pg_put_le(frame + 16, w->count, 8);
    pg_put_le(frame + 24, h.lo, 8);
    pg_put_le(frame + 32, h.hi, 8);
    pg_put_le(frame + 40, w->offset + w->items.len + PG_PACK_FRAME, 8);
    write_bytes(w, pg_buf_text(&w->items), w->items.len);
    write_frame(w, frame);
}

ptxgen_status pg_pack_finish(pg_pack_writer *w, ptxgen_error *err)
{
    const pg_files *files = w->files;
    if (w->items.failed)
        w->error = ENOMEM;
    else
        write_index(w);
    int r = w->error ? -w->error : files->sync(files->user, w->fd);
    if (r == 0)
        r = files->set_mode(files->user, AT_FDCWD, w->temporary, w->mode ? w->mode : 0600);
    int closed = files->close(files->user, w->fd);
    if (r == 0)
        r = closed;
    if (r == 0)
        r = files->rename(files->user, AT_FDCWD, w->temporary, AT_FDCWD, w->path);
    if (r < 0)
        files->unlink(files->user, AT_FDCWD, w->temporary);
    pg_free(w->items.alloc, w->temporary, w->temporary_size);
    pg_buf_fini(&w->items);
    if (r == -ENOMEM)
        return pg_fail_memory(err, 0);
    return r == 0
               ? PTXGEN_OK
               : pg_fail(err, PTXGEN_EIO, "cannot write the pack '%s': %s", w->path, strerror(-r));
}
