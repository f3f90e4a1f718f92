/* SPDX-License-Identifier: Apache-2.0 */
/* run_names.c - see run_names.h. */
#include "run/run_names.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"

#define NODE_FOLDER  "node-"
#define WINDOW_START "trace-"

int run_path(char *out, const char *run, const char *file, struct err *e)
{
    return path_join(out, e, "%s/%s", run, file);
}

int run_node_path(char *out, const char *run, const char *node, struct err *e)
{
    assert(!strchr(node, '/'));
    return path_join(out, e, "%s/" NODE_FOLDER "%s", run, node);
}

int run_session_path(char *out, const char *folder, const char *stem, unsigned session,
                     const char *end, struct err *e)
{
    char name[128];
    assert(session > 0);
    store_file_name(name, sizeof name, stem, session, end);
    return path_join(out, e, "%s/%s", folder, name);
}

int run_hidden_path(char *out, const char *runs, unsigned number, struct err *e)
{
    return path_join(out, e, "%s/.import-%08x", runs, number);
}

const char *run_node_id(const char *name)
{
    return text_starts(name, NODE_FOLDER) ? name + strlen(NODE_FOLDER) : NULL;
}

bool run_is_window(const char *name)
{
    return text_starts(name, WINDOW_START) && text_ends(name, "." STORE_SEALED) &&
           strlen(name) > strlen(WINDOW_START "." STORE_SEALED);
}

void run_window_stem(char *out, size_t size, unsigned pid, bool python, unsigned window)
{
    snprintf(out, size, WINDOW_START "%u-%s%u", pid, python ? "python-" : "", window);
}

bool run_is_of_session(const char *name, unsigned session)
{
    char mark[24];
    const char *dash = strrchr(name, '-');
    snprintf(mark, sizeof mark, "-%u.", session);
    return session == 1 ? !dash : dash && text_starts(dash, mark);
}

void name_sanitize(char *out, size_t size, const char *text)
{
    size_t n = 0;
    for (; *text && n + 1 < size; text++) {
        const unsigned char c = (unsigned char)*text;
        const char safe = (c < 0x80 && isalnum(c)) || strchr("._-@", c) ? (char)c : '-';
        /* A leading dot would hide the folder, a leading dash look like an option. */
        if (n == 0 && (safe == '.' || safe == '-'))
            continue;
        out[n++] = safe;
    }
    out[n] = 0;
}
