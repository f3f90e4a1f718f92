/* SPDX-License-Identifier: Apache-2.0 */
/* machines.c - see machines.h. */
#include "cost/machines.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/human.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/trust.h"
#include "base/vec.h"

enum { FILE_MOST = 1 << 20, VALUE_MOST = 100 };

enum { IS_TEXT, IS_NUMBER };

/* The columns there are; a machine must have the needed ones. */
static const struct machines_column {
    const char *name;
    int is;
    size_t at; /* in struct machine */
    bool needed;
    double most;
} columns[] = {
    {"machine", IS_TEXT, offsetof(struct machine, name), true, 0},
    {"gpus", IS_NUMBER, offsetof(struct machine, gpus), false, 1024},
    {"gpu", IS_TEXT, offsetof(struct machine, gpu), false, 0},
    {"gpu_memory_gib", IS_NUMBER, offsetof(struct machine, gpu_memory_gib), false, 1e6},
    {"gpu_tflops", IS_NUMBER, offsetof(struct machine, gpu_tflops), false, 1e9},
    {"cores", IS_NUMBER, offsetof(struct machine, cores), true, 1e6},
    {"memory_gib", IS_NUMBER, offsetof(struct machine, memory_gib), true, 1e9},
    {"price_per_hour", IS_NUMBER, offsetof(struct machine, price_per_hour), true, 1e6},
};

struct machines_reader {
    const char *name;
    size_t line;
    const struct machines_column *order[COUNT_OF(columns)]; /* as the first line names them */
    size_t n_order;
    struct arena *a;
    struct err *e;
};

static int machines_wrong(const struct machines_reader *r, const char *what, const char *about)
{
    return err_set(r->e, ERR_FORMAT, "%s, line %zu: %s%s%s", r->name, r->line, about,
                   *about ? ": " : "", what);
}

/* The next value of the line, without the spaces around it; NULL after the last. */
static const char *next_value(const struct machines_reader *r, const char **rest)
{
    const char *p = *rest;
    if (!p)
        return NULL;
    const size_t n = strcspn(p, ",");
    *rest = p[n] ? p + n + 1 : NULL;
    size_t from = strspn(p, " \t"), to = n;
    while (to > from && strchr(" \t\r", p[to - 1]))
        to--;
    return arena_strndup(r->a, p + MIN_OF(from, n), to - MIN_OF(from, to));
}

static const struct machines_column *find_column(const char *name)
{
    return FIND_ITEM(x, columns, COUNT_OF(columns), strcmp(x->name, name) == 0);
}

static bool names(const struct machines_reader *r, const struct machines_column *c)
{
    return FIND_ANY(i, r->n_order, r->order[i] == c);
}

static int machines_read_head(struct machines_reader *r, const char *line)
{
    for (const char *v; (v = next_value(r, &line));) {
        const struct machines_column *c = find_column(v);
        if (!c)
            return machines_wrong(r, arena_printf(r->a, "unknown column '%.*s'", VALUE_MOST, v),
                                  "");
        if (names(r, c))
            return machines_wrong(r, "duplicate column", c->name);
        r->order[r->n_order++] = c;
    }
    const size_t at = FIND_FIRST(i, COUNT_OF(columns), columns[i].needed && !names(r, &columns[i]));
    return at < COUNT_OF(columns) ? machines_wrong(r, "missing column", columns[at].name) : 0;
}

static int machines_read_number(const struct machines_reader *r, const struct machines_column *c,
                                const char *text, double *out)
{
    char *end;
    const double v = strtod(text, &end);
    if (end == text || *end || !(v >= 0 && v <= c->most))
        return machines_wrong(
            r, arena_printf(r->a, "'%.*s' is not a number from 0 to %g", VALUE_MOST, text, c->most),
            c->name);
    *out = v;
    return 0;
}

static int machines_read_value(const struct machines_reader *r, const struct machines_column *c,
                               const char *text, struct machine *m)
{
    unsigned char *at = (unsigned char *)m + c->at;
    double number = 0;
    if (!*text)
        return c->needed ? machines_wrong(r, "missing value", c->name) : 0;
    if (c->is == IS_TEXT) {
        memcpy(at, &text, sizeof text);
        return 0;
    }
    TRY(machines_read_number(r, c, text, &number));
    memcpy(at, &number, sizeof number);
    return 0;
}

static int read_machine(const struct machines_reader *r, const char *line, struct machine *out)
{
    struct machine m = {.name = "", .gpu = "", .gpu_memory_gib = NAN, .gpu_tflops = NAN};
    size_t k = 0;
    for (const char *v; (v = next_value(r, &line)); k++) {
        if (k == r->n_order)
            return machines_wrong(r, "more values than columns", "");
        TRY(machines_read_value(r, r->order[k], v, &m));
    }
    if (k < r->n_order)
        return machines_wrong(r, "fewer values than columns", "");
    *out = m;
    return 0;
}

static int machines_read_line(struct machines_reader *r, const char *line, struct machines *t)
{
    if (!line[strspn(line, " \t\r")] || *line == '#')
        return 0;
    if (r->n_order == 0)
        return machines_read_head(r, line);
    if (t->n == MACHINES_MOST)
        return err_set(r->e, ERR_LIMIT, "%s: more than %d machines", r->name, MACHINES_MOST);
    struct machine m;
    TRY(read_machine(r, line, &m));
    if (machines_find(t, m.name))
        return machines_wrong(r, "duplicate machine", m.name);
    t->v[t->n++] = m;
    return 0;
}

int machines_parse(struct machines *out, const char *text, const char *name, struct arena *a,
                   struct err *e)
{
    struct machines_reader r = {.name = name, .a = a, .e = e};
    struct machines t = {.v = arena_array(a, struct machine, MACHINES_MOST), .from = name};
    while (*text) {
        const size_t n = strcspn(text, "\n");
        r.line++;
        TRY(machines_read_line(&r, arena_strndup(a, text, n), &t));
        text += n + (text[n] == '\n');
    }
    if (r.n_order == 0)
        return err_set(e, ERR_FORMAT, "%s: no header line with the column names", name);
    *out = t;
    return 0;
}

/* ---- where it is ---- */

static const char *config_folder(struct arena *a)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    if (config && *config)
        return arena_printf(a, "%s/footplate", config);
    return home && *home ? arena_printf(a, "%s/.config/footplate", home) : NULL;
}

/* The first table that is found and the user's own; false: there is none. One that other users
 * could have written is passed over. */
static bool find_own(const char *folder, struct arena *a, const char **path, char **text)
{
    const char *const folders[] = {folder, ".", config_folder(a)};
    for (size_t i = 0; i < COUNT_OF(folders); i++) {
        struct err e;
        size_t len;
        *path = folders[i] ? arena_printf(a, "%s/machines.csv", folders[i]) : NULL;
        if (*path && trust_read(*path, FILE_MOST, a, text, &len, &e) == 0)
            return true;
    }
    return false;
}

int machines_load(struct machines *out, const char *folder, struct arena *a, struct err *e)
{
    const char *path = getenv("FOOTPLATE_MACHINES");
    char *text;
    size_t len;
    if (path && *path) {
        const int rc = file_read(path, FILE_MOST, a, &text, &len, e);
        return rc ? rc : machines_parse(out, text, path, a, e);
    }
    if (find_own(folder, a, &path, &text))
        return machines_parse(out, text, path, a, e);
    return machines_parse(out, machines_csv, "the built-in machine table", a, e);
}

/* ---- names ---- */

static const char *bare(const char *name)
{
    return strncmp(name, "ml.", 3) == 0 ? name + 3 : name;
}

const struct machine *machines_find(const struct machines *t, const char *name)
{
    return FIND_ITEM(x, t->v, t->n, strcmp(bare(x->name), bare(name)) == 0);
}

static bool machines_is_word(const char *text, const char *word)
{
    const size_t n = strlen(word);
    for (const char *p = text; n && (p = strstr(p, word)); p++)
        if ((p == text || !isalnum((unsigned char)p[-1])) && !isalnum((unsigned char)p[n]))
            return true;
    return false;
}

bool machine_same_gpu(const struct machine *a, const struct machine *b)
{
    return machines_is_word(a->gpu, b->gpu) || machines_is_word(b->gpu, a->gpu);
}

int machines_unknown(const struct machines *t, const char *name, struct err *e)
{
    struct nearest n = nearest_to(bare(name));
    for (size_t i = 0; i < t->n; i++)
        nearest_offer(&n, bare(t->v[i].name));
    if (n.best)
        return err_set(e, ERR_USAGE, "unknown machine '%.*s' in %s (did you mean '%s'?)",
                       VALUE_MOST, name, t->from, n.best);
    return err_set(
        e, ERR_USAGE,
        "unknown machine '%.*s' in %s; add it to machines.csv, or give its price with --price",
        VALUE_MOST, name, t->from);
}

/* ---- what a run costs ---- */

/* Imported runs, and those started by another program, have it in their labels. */
static const char *pricing_label(const struct run_info *info, const char *key)
{
    const size_t at = FIND_FIRST(i, info->n_labels, strcmp(info->labels[i].key, key) == 0);
    return at < info->n_labels ? info->labels[at].value : "";
}

static double pricing_of_label(const struct run_info *info)
{
    const char *text = pricing_label(info, "price_per_hour");
    char *end;
    const double v = strtod(text, &end);
    return end == text || *end || !(v > 0) ? NAN : v;
}

static double pricing_table_price(const struct pricing *p, const char *machine)
{
    const struct machine *m = p->table && *machine ? machines_find(p->table, machine) : NULL;
    return m ? m->price_per_hour : NAN;
}

static double pricing_recorded(const struct run_info *info, const struct node_info *node)
{
    return isnan(node->price_per_hour) ? pricing_of_label(info) : node->price_per_hour;
}

static const char *pricing_recorded_machine(const struct run_info *info,
                                            const struct node_info *node)
{
    return *node->machine ? node->machine : pricing_label(info, "machine");
}

struct node_price pricing_of_node(const struct pricing *p, const struct run_info *info,
                                  const struct node_info *node, struct arena *a)
{
    const char *machine = p->machine ? p->machine : pricing_recorded_machine(info, node);
    double price = p->machine ? NAN : pricing_recorded(info, node);
    if (p->price_per_hour > 0)
        price = p->price_per_hour;
    return (struct node_price){
        .machine = arena_strdup(a, machine),
        .price_per_hour = isnan(price) ? pricing_table_price(p, machine) : price,
        .currency = arena_strdup(a, pricing_currency(info)),
    };
}

const char *pricing_currency(const struct run_info *info)
{
    const size_t at = FIND_FIRST(i, info->n_nodes, *info->nodes[i].currency);
    return at < info->n_nodes ? info->nodes[at].currency : CURRENCY_DEFAULT;
}

/* As recorded, otherwise from the table of machines, as in the evaluation of the run. */
static double pricing_known(const struct run_info *info, const struct node_info *node)
{
    const char *machine = pricing_recorded_machine(info, node);
    const double recorded = pricing_recorded(info, node);
    struct arena a = {0};
    struct machines table;
    struct err ignored;
    if (!isnan(recorded) || !*machine)
        return recorded;
    const bool known = machines_load(&table, NULL, &a, &ignored) == 0;
    const double price =
        known ? pricing_table_price(&(struct pricing){.table = &table}, machine) : NAN;
    arena_free(&a);
    return price;
}

double node_hours(const struct node_info *n)
{
    return n->end.ns > n->start.ns ? (double)(n->end.ns - n->start.ns) / 3600e9 : 0;
}

double pricing_cost(const struct run_info *info)
{
    double sum = info->n_nodes ? 0 : NAN;
    for (size_t i = 0; i < info->n_nodes; i++)
        sum += node_hours(&info->nodes[i]) * pricing_known(info, &info->nodes[i]);
    return sum;
}

double pricing_per_hour(const struct run_info *info)
{
    double sum = info->n_nodes ? 0 : NAN;
    for (size_t i = 0; i < info->n_nodes; i++) /* of a node's sessions the last one */
        if (i + 1 == info->n_nodes || strcmp(info->nodes[i].id, info->nodes[i + 1].id) != 0)
            sum += pricing_known(info, &info->nodes[i]);
    return sum;
}

const char *pricing_machine(const struct run_info *info)
{
    const char *first = info->n_nodes ? pricing_recorded_machine(info, &info->nodes[0]) : "";
    for (size_t i = 1; i < info->n_nodes; i++)
        if (strcmp(pricing_recorded_machine(info, &info->nodes[i]), first) != 0)
            return "";
    return first;
}
