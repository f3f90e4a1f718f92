/* SPDX-License-Identifier: Apache-2.0 */
/* proclabel.c - see proclabel.h. */
#include "agent/proclabel.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"

enum { ARGS_MOST = 64 * 1024 };

static bool proclabel_is_interpreter(const char *program)
{
    return strncmp(program, "python", 6) == 0;
}

/* Of `python -u -m pkg.train --lr 1`: "python -m pkg.train". Options before the script are left
 * out; -m and -c show how the program was found. */
static void add_script(char *out, size_t size, const char *p, const char *end)
{
    for (; p < end; p += strlen(p) + 1) {
        const size_t used = strlen(out);
        if (strcmp(p, "-c") == 0) {
            snprintf(out + used, size - used, " -c");
            return;
        }
        if (strcmp(p, "-m") == 0 && p + 3 < end) {
            snprintf(out + used, size - used, " -m %s", p + 3);
            return;
        }
        if (*p == '-')
            continue;
        snprintf(out + used, size - used, " %s", path_base(p));
        return;
    }
}

void command_label(char *out, size_t size, const char *args, size_t len)
{
    const char *end = args + len;
    snprintf(out, size, "%s", path_base(args));
    if (proclabel_is_interpreter(out))
        add_script(out, size, args + strlen(args) + 1, end);
}

void process_label(char *out, size_t size, const char *proc, uint32_t pid)
{
    char path[PATH_LEN], *text;
    struct arena a = {0};
    struct err ignored;
    size_t len;
    snprintf(out, size, "process %" PRIu32, pid);
    if (proc && path_join(path, &ignored, "%s/%" PRIu32 "/cmdline", proc, pid) == 0 &&
        file_read(path, ARGS_MOST, &a, &text, &len, &ignored) == 0 && len > 0 && *text)
        command_label(out, size, text, len);
    arena_free(&a);
}
