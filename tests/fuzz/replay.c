/* Stands in for libFuzzer's main: runs the target over every file of the folders (and files)
 * named, and over each file cut off at every eighth of its length. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* In a block of exactly `size` bytes, so that a sanitizer sees a read past the end. */
static void run(const uint8_t *bytes, size_t size)
{
    uint8_t *exact = malloc(size ? size : 1);
    if (!exact)
        abort();
    memcpy(exact, bytes, size);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
}

static int replay_file(const char *path)
{
    static uint8_t bytes[1 << 22];
    FILE *f = fopen(path, "rb");
    if (!f) {
        perror(path);
        return 1;
    }
    size_t size = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    for (size_t eighths = 0; eighths <= 8; eighths++)
        run(bytes, size * eighths / 8);
    return 0;
}

static int replay(const char *path)
{
    struct dirent **names;
    int failures = 0, count = scandir(path, &names, NULL, alphasort);
    if (count < 0)
        return replay_file(path);
    for (int i = 0; i < count; i++) {
        char file[4096];
        snprintf(file, sizeof file, "%s/%s", path, names[i]->d_name);
        if (names[i]->d_name[0] != '.')
            failures += replay_file(file);
        free(names[i]);
    }
    free(names);
    return failures;
}

int main(int argc, char **argv)
{
    int failures = 0;
    for (int i = 1; i < argc; i++)
        failures += replay(argv[i]);
    return failures;
}
