/* SPDX-License-Identifier: Apache-2.0 */
/* import_sm_system.c - system metrics as SageMaker writes them: JSON lines, one reading each.
 *
 * Lines of the usual shape go through a reader of their own (sm_line.h). A line that is broken is
 * counted and passed over; so is a last one that is cut. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "import/sm_sweeps.h"

/* BUFFER also bounds a line. */
enum { BUFFER = 256 << 10, NODES_MOST = 1024 };

struct import_sm_system_node {
    char name[IMPORT_NAME_LEN];
    struct sm_sweeps sweeps;
};

struct import_sm_system_reader {
    const struct import_ask *ask;
    struct import_result *result;
    struct import_sm_system_node **nodes;
    uint32_t n_nodes, now;
    struct json_keys keys;
    struct sm_line line;
    bool ended;
    bool skipping; /* inside of a line that is longer than the buffer */
    size_t len;
    char buffer[BUFFER + SM_PAD];
};

/* ---- nodes ---- */

static bool is_node(const struct import_sm_system_node *d, const struct sm_text *name)
{
    return strncmp(d->name, name->p, name->len) == 0 && d->name[name->len] == '\0';
}

static struct sink *import_sm_system_sink_of(const struct import_sm_system_reader *r,
                                             const char *name)
{
    const struct import_ask *ask = r->ask;
    if (!*name || !ask->sink_of_node || strcmp(name, ask->hint.node) == 0)
        return ask->sink;
    return ask->sink_of_node(ask->ctx, name);
}

static struct import_sm_system_node *import_sm_system_add_node(struct import_sm_system_reader *r,
                                                               const struct sm_text *name)
{
    char text[IMPORT_NAME_LEN] = "";
    memcpy(text, name->p, name->len);
    struct sink *sink = r->n_nodes < NODES_MOST ? import_sm_system_sink_of(r, text) : NULL;
    if (!sink)
        return NULL;
    struct import_sm_system_node *d = xcalloc(1, sizeof *d);
    memcpy(d->name, text, sizeof text);
    sm_sweeps_open(&d->sweeps, r->ask, sink, r->result);
    r->nodes = xrealloc(r->nodes, r->n_nodes + 1, sizeof(struct import_sm_system_node *));
    r->nodes[r->now = r->n_nodes++] = d;
    return d;
}

/* A line that names no machine is of its file's own. */
static struct import_sm_system_node *import_sm_system_find_node(struct import_sm_system_reader *r,
                                                                const struct sm_text *name)
{
    const char *own = r->ask->hint.node;
    const struct sm_text cut =
        name->len ? (struct sm_text){name->p, MIN_OF(name->len, (uint32_t)IMPORT_NAME_LEN - 1)}
                  : (struct sm_text){own, (uint32_t)strlen(own)};
    if (r->n_nodes && is_node(r->nodes[r->now], &cut))
        return r->nodes[r->now];
    for (uint32_t i = 0; i < r->n_nodes; i++)
        if (is_node(r->nodes[i], &cut))
            return r->nodes[r->now = i];
    return import_sm_system_add_node(r, &cut);
}

/* ---- lines ---- */

static void import_sm_system_take_line(struct import_sm_system_reader *r)
{
    uint64_t *count = r->result->count;
    if (!r->line.has_time || !r->line.has_value) {
        count[r->line.has_time ? IMPORTED_NO_VALUE : IMPORTED_NO_TIME]++;
        return;
    }
    struct import_sm_system_node *d = import_sm_system_find_node(r, &r->line.node);
    if (d)
        sm_sweeps_take(&d->sweeps, &r->line);
    else
        count[IMPORTED_NODES]++;
}

static bool import_sm_system_is_blank(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\r'))
        p++;
    return p == end;
}

/* A line whose end is known; `cut` when the input ends without one. */
static void read_slowly(struct import_sm_system_reader *r, const char *p, const char *end, bool cut)
{
    struct json_faults *f = &r->result->faults;
    if (import_sm_system_is_blank(p, end))
        return;
    if (sm_line_slow(p, (size_t)(end - p), &r->keys, f, &r->line))
        import_sm_system_take_line(r);
    else if (cut)
        f->cut++;
    else
        f->unread++;
}

/* Where the line ends that the fast reader has read up to p; NULL: something follows, or what
 * follows is not there yet. */
static inline const char *behind_line(const char *p, const char *end, bool ended)
{
    p += *p == '\r';
    if (*p == '\n')
        return p + 1;
    return p == end && ended ? p : NULL;
}

/* All whole lines of the buffer; returns where the rest begins. */
static const char *import_sm_system_read_lines(struct import_sm_system_reader *r, const char *p,
                                               const char *end)
{
    while (p < end) {
        const char *next = sm_line_fast(p, &r->line);
        next = next ? behind_line(next, end, r->ended) : NULL;
        if (next) {
            import_sm_system_take_line(r);
        } else {
            next = memchr(p, '\n', (size_t)(end - p));
            if (!next && !r->ended)
                return p;
            read_slowly(r, p, next ? next : end, !next);
            next = next ? next + 1 : end;
        }
        p = next;
    }
    return end;
}

static const char *skip_line(struct import_sm_system_reader *r, const char *p, const char *end)
{
    const char *next = memchr(p, '\n', (size_t)(end - p));
    r->skipping = !next;
    return next ? next + 1 : end;
}

static int import_sm_system_fill(struct import_sm_system_reader *r, struct err *e)
{
    const int64_t n = r->ask->in->read(r->ask->in, r->buffer + r->len, (size_t)BUFFER - r->len, e);
    if (n < 0)
        return (int)n;
    r->ended = n == 0;
    r->len += (size_t)n;
    r->result->bytes += (uint64_t)n;
    memset(r->buffer + r->len, 0, SM_PAD);
    return 0;
}

static int import_sm_system_read_all(struct import_sm_system_reader *r, struct err *e)
{
    while (!r->ended) {
        const int rc = import_sm_system_fill(r, e);
        if (rc != 0)
            return rc;
        const char *p = r->buffer, *end = p + r->len;
        if (r->result->bytes == r->len && r->len >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
            p += 3;
        if (r->skipping)
            p = skip_line(r, p, end);
        p = import_sm_system_read_lines(r, p, end);
        if (p == r->buffer && r->len == BUFFER) {
            r->result->faults.long_items++;
            r->skipping = true;
            p = end;
        }
        r->len = (size_t)(end - p);
        memmove(r->buffer, p, r->len);
    }
    return 0;
}

static int import_sm_system_run(const struct import_ask *ask, struct import_result *out,
                                struct err *e)
{
    struct import_sm_system_reader *r = xcalloc(1, sizeof *r);
    *out = (struct import_result){.rank = -1, .world_size = -1};
    r->ask = ask;
    r->result = out;
    sm_line_keys(&r->keys);
    int rc = import_sm_system_read_all(r, e);
    for (uint32_t i = 0; i < r->n_nodes; i++) {
        sm_sweeps_close(&r->nodes[i]->sweeps);
        free(r->nodes[i]);
    }
    if (rc == 0 && out->count[IMPORTED_READINGS] == 0)
        rc = err_set(e, ERR_FORMAT, "no SageMaker system metrics in the file");
    free(r->nodes);
    free(r);
    return rc;
}

static int import_sm_system_sniff(const char *head, size_t n)
{
    const char *line = n ? memchr(head, '\n', n) : NULL;
    const size_t len = line ? (size_t)(line - head) : n;
    const bool mine = n && *head == '{' && memmem(head, len, "\"Type\"", 6) &&
                      memmem(head, len, "\"Timestamp\"", 11) && memmem(head, len, "\"Value\"", 7);
    return mine ? 95 : 0;
}

const struct importer importer_sagemaker_system = {
    .name = "sagemaker_system",
    .help = "SageMaker system metrics",
    .sniff = import_sm_system_sniff,
    .run = import_sm_system_run,
};
