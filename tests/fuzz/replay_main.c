/* SPDX-License-Identifier: Apache-2.0 */
/* replay_main.c - runs a fuzz target without a fuzzer: every file of the given folders goes through
 * it once, and the empty input too. A target that finds fault aborts; returning is success. Fails
 * when a folder has no file, as then nothing was tested. */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_LIMIT = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int complain(const char *path, const char *why)
{
    fprintf(stderr, "replay: %s: %s\n", path, why);
    return -1;
}

/* The buffer is exactly as long as the input, so that a sanitizer sees one byte too many. */
static int replay_open_file(FILE *f, size_t size, const char *path)
{
    uint8_t *data = malloc(size > 0 ? size : 1);
    if (!data)
        return complain(path, strerror(errno));
    const size_t got = fread(data, 1, size, f);
    if (got == size)
        LLVMFuzzerTestOneInput(data, size);
    free(data);
    return got == size ? 0 : complain(path, "cannot be read whole");
}

/* 1: replayed; 0: not a file; -1: failed. */
static int replay_path(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return complain(path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return 0;
    FILE *f = fopen(path, "rb");
    if (!f)
        return complain(path, strerror(errno));
    const int rc = replay_open_file(f, (size_t)st.st_size, path);
    fclose(f);
    return rc == 0 ? 1 : -1;
}

static int replay_entries(DIR *d, const char *folder)
{
    int count = 0;
    for (struct dirent *entry = readdir(d); entry; entry = readdir(d)) {
        char path[PATH_LIMIT];
        const int n = snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (n < 0 || (size_t)n >= sizeof path)
            return complain(folder, "path too long");
        const int rc = replay_path(path);
        if (rc < 0)
            return rc;
        count += rc;
    }
    return count;
}

/* How many files were replayed, or -1. */
static int replay_folder(const char *folder)
{
    DIR *d = opendir(folder);
    if (!d)
        return complain(folder, strerror(errno));
    const int count = replay_entries(d, folder);
    closedir(d);
    return count == 0 ? complain(folder, "has no file to replay") : count;
}

int main(int argc, char **argv)
{
    int total = 0;
    if (argc < 2) {
        fprintf(stderr, "usage: %s FOLDER...\n", argv[0]);
        return 2;
    }
    LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
    for (int i = 1; i < argc; i++) {
        const int count = replay_folder(argv[i]);
        if (count < 0)
            return 1;
        total += count;
    }
    printf("replayed %d files and the empty input\n", total);
    return 0;
}
