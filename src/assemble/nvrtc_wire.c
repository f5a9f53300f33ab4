/* Request and answer of ptxgen-nvrtc as bytes (nvrtc_child.h). */
#include "assemble/nvrtc_child.h"

#include <stdlib.h>
#include <string.h>

void pg_wire_put(pg_buf *b, const char *text, size_t length)
{
    const uint64_t n = length;
    pg_buf_append(b, (const char *)&n, sizeof n);
    pg_buf_append(b, text, length);
    pg_buf_append(b, "", 1);
}

static void put_text(pg_buf *b, const char *text)
{
    pg_wire_put(b, text, strlen(text));
}

static void put_number(pg_buf *b, int n)
{
    pg_buf text;
    pg_buf_init(&text, b->alloc);
    pg_buf_printf(&text, "%d", n);
    put_text(b, pg_buf_text(&text));
    pg_buf_fini(&text);
}

const char *pg_wire_take(const char **at, const char *end, size_t *length)
{
    uint64_t n;
    const size_t left = (size_t)(end - *at);
    if (left < sizeof n)
        return NULL;
    memcpy(&n, *at, sizeof n);
    const char *text = *at + sizeof n;
    if (n >= left - sizeof n || text[n] != '\0')
        return NULL;
    *at = text + n + 1;
    *length = (size_t)n;
    return text;
}

static const char *take_text(const char **at, const char *end)
{
    size_t length;
    return pg_wire_take(at, end, &length);
}

static bool take_number(const char **at, const char *end, int *out)
{
    const char *text = take_text(at, end);
    *out = text ? atoi(text) : 0;
    return text != NULL;
}

void pg_wire_put_job(pg_buf *b, const char *library, const pg_nvrtc_job *job)
{
    put_text(b, PG_NVRTC_PROTOCOL);
    put_text(b, library);
    put_text(b, job->text);
    put_text(b, job->file);
    put_number(b, job->header_count);
    for (int i = 0; i < job->header_count; i++) {
        put_text(b, job->header_names[i]);
        put_text(b, job->header_texts[i]);
    }
    put_number(b, job->option_count);
    for (int i = 0; i < job->option_count; i++)
        put_text(b, job->options[i]);
}

bool pg_wire_take_job(const char *at, const char *end, const char **library, pg_nvrtc_job *out)
{
    memset(out, 0, sizeof *out);
    const char *protocol = take_text(&at, end);
    if (!protocol || strcmp(protocol, PG_NVRTC_PROTOCOL) != 0)
        return false;
    *library = take_text(&at, end);
    out->text = take_text(&at, end);
    out->file = take_text(&at, end);
    if (!out->file || !take_number(&at, end, &out->header_count) ||
        (unsigned)out->header_count > PG_NVRTC_MAX_HEADERS)
        return false;
    for (int i = 0; i < out->header_count; i++) {
        out->header_names[i] = take_text(&at, end);
        out->header_texts[i] = take_text(&at, end);
    }
    if (!take_number(&at, end, &out->option_count) ||
        (unsigned)out->option_count > PG_NVRTC_MAX_OPTIONS)
        return false;
    for (int i = 0; i < out->option_count; i++)
        out->options[i] = take_text(&at, end);
    return at == end;
}

void pg_wire_put_result(pg_buf *b, const pg_nvrtc_result *r, const pg_buf *ptx, const pg_buf *log)
{
    put_text(b, PG_NVRTC_PROTOCOL);
    put_number(b, r->code);
    put_number(b, r->no_program);
    put_number(b, r->no_ptx);
    pg_wire_put(b, pg_buf_text(log), log->len);
    pg_wire_put(b, pg_buf_text(ptx), ptx->len);
}

bool pg_wire_take_result(const char *at, const char *end, pg_nvrtc_result *out, pg_buf *ptx,
                         pg_buf *log)
{
    int no_program, no_ptx;
    size_t log_length, ptx_length;
    *out = (pg_nvrtc_result){0};
    const char *protocol = take_text(&at, end);
    if (!protocol || strcmp(protocol, PG_NVRTC_PROTOCOL) != 0 ||
        !take_number(&at, end, &out->code) || !take_number(&at, end, &no_program) ||
        !take_number(&at, end, &no_ptx))
        return false;
    const char *log_text = pg_wire_take(&at, end, &log_length);
    const char *ptx_text = pg_wire_take(&at, end, &ptx_length);
    if (!log_text || !ptx_text)
        return false;
    out->no_program = no_program != 0;
    out->no_ptx = no_ptx != 0;
    pg_buf_append(log, log_text, log_length);
    pg_buf_append(ptx, ptx_text, ptx_length);
    return true;
}
