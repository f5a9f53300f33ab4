#include "command/output.h"

#include "command/file.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The temporary to remove when a signal ends the command. */
static const char *volatile pending;

static void remove_pending(int signal_number)
{
    if (pending)
        unlink(pending);
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void watch_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction old, now = {.sa_handler = remove_pending};
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            sigaction(numbers[i], &now, NULL);
    }
}

static ptxgen_status open_stdout(cli_output *o, bool binary, ptxgen_error *err)
{
    if (binary && isatty(STDOUT_FILENO))
        return cli_fail(err, PTXGEN_EINVAL,
                        "the product is binary and standard output is a terminal; use -o FILE");
    o->file = stdout;
    return PTXGEN_OK;
}

/* What open(2) would give a new file, or what the file there already has. */
static mode_t mode_for(const struct stat *old, bool exists)
{
    if (exists)
        return old->st_mode & 0777;
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

static ptxgen_status open_temporary(cli_output *o, mode_t mode, ptxgen_error *err)
{
    /* Its length does not grow with the name's, which may be as long as the file system allows. */
    const char *slash = strrchr(o->final, '/');
    o->temporary =
        cli_format("%.*s.ptxgen.XXXXXX", slash ? (int)(slash + 1 - o->final) : 0, o->final);
    int fd = mkstemp(o->temporary);
    if (fd < 0) {
        int why = errno;
        free(o->temporary);
        o->temporary = NULL;
        return cli_fail(err, PTXGEN_EIO, "cannot write %s: %s", o->path, strerror(why));
    }
    pending = o->temporary;
    watch_signals();
    fchmod(fd, mode);
    o->file = fdopen(fd, "wb");
    if (o->file)
        return PTXGEN_OK;
    close(fd);
    return cli_fail(err, PTXGEN_ENOMEM, "cannot write %s: out of memory", o->path);
}

/* The place that the name stands for, through links, also to one where nothing is yet. */
static char *follow_links(const char *path)
{
    char *place = cli_format("%s", path), target[PATH_MAX];
    for (int i = 0; i < 40; i++) {
        const ssize_t n = readlink(place, target, sizeof target - 1);
        if (n < 0)
            break;
        target[n] = '\0';
        const char *slash = strrchr(place, '/');
        char *next = target[0] == '/' || !slash
                         ? cli_format("%s", target)
                         : cli_format("%.*s/%s", (int)(slash - place), place, target);
        free(place);
        place = next;
    }
    return place;
}

/* Takes the place for a file; false: another one of this command's goes there. */
static bool claim(const char *final)
{
    static char *taken[8];
    static size_t count;
    for (size_t i = 0; i < count; i++)
        if (strcmp(taken[i], final) == 0)
            return false;
    if (count < sizeof taken / sizeof *taken)
        taken[count++] = cli_format("%s", final);
    return true;
}

ptxgen_status cli_output_open(cli_output *o, const char *path, bool binary, ptxgen_error *err)
{
    *o = (cli_output){0};
    if (!path || strcmp(path, "-") == 0)
        return open_stdout(o, binary, err);
    if (path[0] == '\0')
        return cli_fail(err, PTXGEN_EINVAL,
                        "the name of a file to write is empty; - is standard output");
    o->path = path;
    o->final = follow_links(path);
    struct stat old;
    bool exists = stat(o->final, &old) == 0;
    ptxgen_status status = PTXGEN_OK;
    if (exists && S_ISDIR(old.st_mode)) {
        status = cli_fail(err, PTXGEN_EIO, "cannot write %s: it is a folder", path);
    } else if (exists && !S_ISREG(old.st_mode)) {
        o->file = fopen(o->final, "wb");
        if (!o->file)
            status = cli_fail(err, PTXGEN_EIO, "cannot write %s: %s", path, strerror(errno));
    } else if (exists && cli_was_read(&old)) {
        status = cli_fail(err, PTXGEN_EINVAL,
                          "%s is what this command reads: name another file to write", path);
    } else if (!claim(o->final)) {
        status = cli_fail(err, PTXGEN_EINVAL, "%s is named for two files that this command writes",
                          path);
    } else {
        status = open_temporary(o, mode_for(&old, exists), err);
    }
    if (status != PTXGEN_OK)
        cli_output_discard(o);
    return status;
}

static void finish(cli_output *o)
{
    pending = NULL;
    free(o->temporary);
    free(o->final);
    *o = (cli_output){.discarded = true};
}

ptxgen_status cli_output_commit(cli_output *o, ptxgen_error *err)
{
    bool ok = fflush(o->file) == 0 && !ferror(o->file);
    int why = errno;
    if (ok && o->temporary && fsync(fileno(o->file)) != 0) {
        why = errno;
        ok = why == EINVAL || why == EROFS; /* a file system without fsync */
    }
    const char *place = o->path ? o->path : "standard output";
    if (o->file != stdout && fclose(o->file) != 0 && ok) {
        why = errno;
        ok = false;
    }
    o->file = NULL;
    if (ok && o->temporary && rename(o->temporary, o->final) != 0) {
        why = errno;
        ok = false;
    }
    if (!ok) {
        ptxgen_status status =
            cli_fail(err, PTXGEN_EIO, "cannot write %s: %s", place, strerror(why));
        cli_output_discard(o);
        return status;
    }
    finish(o);
    return PTXGEN_OK;
}

void cli_output_discard(cli_output *o)
{
    if (o->discarded)
        return;
    if (o->file && o->file != stdout)
        fclose(o->file);
    if (o->temporary)
        unlink(o->temporary);
    finish(o);
}

ptxgen_status cli_output_bytes(const char *path, bool binary, const void *bytes, size_t n,
                               ptxgen_error *err)
{
    cli_output o;
    ptxgen_status status = cli_output_open(&o, path, binary, err);
    if (status != PTXGEN_OK)
        return status;
    fwrite(bytes, 1, n, o.file); /* commit looks at ferror */
    return cli_output_commit(&o, err);
}

FILE *cli_report_file(const cli_settings *set)
{
    return set->output && strcmp(set->output, "-") == 0 ? stderr : stdout;
}

static int remove_entry(const char *path, const struct stat *s, int kind, struct FTW *place)
{
    (void)s, (void)kind, (void)place;
    return remove(path);
}

void cli_remove_folder(const char *path)
{
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

int cli_finish_stdout(int code)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    cli_say("cannot write standard output: %s", strerror(errno));
    return CLI_SYSTEM;
}
