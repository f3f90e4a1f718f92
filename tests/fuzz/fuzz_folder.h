/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_folder.h - one run folder in /tmp for all inputs of a fuzz target; removed at exit. */
#ifndef TESTS_FUZZ_FOLDER_H
#define TESTS_FUZZ_FOLDER_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"

enum { FUZZ_PATH_LEN = 128 };

static char fuzz_folder[64];

static void fuzz_folder_remove(void)
{
    dir_remove(fuzz_folder);
}

/* "node-a/metrics.fp" with these bytes. */
static void fuzz_folder_save(const char *name, const void *p, size_t n)
{
    char path[FUZZ_PATH_LEN];
    snprintf(path, sizeof path, "%s/%s", fuzz_folder, name);
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || (n && write(fd, p, n) != (ssize_t)n))
        abort();
    close(fd);
}

/* Creates it with a run.json and an empty folder node-a. */
static void fuzz_folder_make(void)
{
    static const char run[] = "{\"format_version\": 1, \"name\": \"x\", \"id\": \"x\"}";
    char node[FUZZ_PATH_LEN];
    struct err e;
    snprintf(fuzz_folder, sizeof fuzz_folder, "/tmp/fp-fuzz-XXXXXX");
    if (!mkdtemp(fuzz_folder))
        abort();
    snprintf(node, sizeof node, "%s/node-a", fuzz_folder);
    if (dir_make(node, &e))
        abort();
    atexit(fuzz_folder_remove);
    fuzz_folder_save("run.json", run, sizeof run - 1);
}

#endif
