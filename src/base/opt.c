/* SPDX-License-Identifier: Apache-2.0 */
/* opt.c - see opt.h. */
#include "base/opt.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/text.h"

struct parser {
    const struct opt *table;
    enum opt_order order;
    int argc;
    char *const *argv;
    int next; /* the word to read next */
    struct arena *arena;
    struct opt_result *out;
};

static size_t table_len(const struct opt *table)
{
    size_t n = 0;
    while (table[n].name)
        n++;
    return n;
}

/* Index of the option called name[0..len), or -1. */
static int find_name(const struct opt *table, const char *name, size_t len)
{
    for (int i = 0; table[i].name; i++)
        if (strlen(table[i].name) == len && memcmp(table[i].name, name, len) == 0)
            return i;
    return -1;
}

static int find_letter(const struct opt *table, char letter)
{
    for (int i = 0; table[i].name; i++)
        if (table[i].letter == letter)
            return i;
    return -1;
}

static int unknown_name(const struct opt *table, const char *name, size_t len, struct arena *a,
                        struct err *e)
{
    char *word = arena_strndup(a, name, len);
    struct nearest n = nearest_to(word);
    nearest_offer(&n, "help");
    for (; table->name; table++)
        if (!table->hidden)
            nearest_offer(&n, table->name);
    if (n.best)
        return err_set(e, ERR_USAGE, "unknown option --%s (did you mean --%s?)", word, n.best);
    return err_set(e, ERR_USAGE, "unknown option --%s", word);
}

/* ------------------------------------------------------------------------------------------------
 * Values */

static int parse_int(const struct opt *o, const char *text, int64_t *out, struct err *e)
{
    char *end;
    errno = 0;
    const long long v = strtoll(text, &end, 10);
    const bool bounded = o->lo != 0 || o->hi != 0;
    const bool number = end != text && *end == '\0' && errno == 0;
    if (!number && !bounded)
        return err_set(e, ERR_USAGE, "--%s: '%s' is not a whole number", o->name, text);
    if (!number || (bounded && (v < o->lo || v > o->hi)))
        return err_set(e, ERR_USAGE, "--%s: '%s' is not a number from %" PRId64 " to %" PRId64,
                       o->name, text, o->lo, o->hi);
    *out = v;
    return 0;
}

static const struct {
    int64_t ns;
    const char *unit;
} units[] = {
    {3600 * NS_PER_S, "h"}, {60 * NS_PER_S, "min"}, {NS_PER_S, "s"},
    {NS_PER_MS, "ms"},      {NS_PER_US, "µs"},      {1, "ns"},
};

/* "10 ms": whole units, as bounds are written. */
static const char *bound_text(int64_t ns, struct arena *a)
{
    size_t i = 0;
    while (units[i].ns > 1 && (ns == 0 || ns % units[i].ns != 0))
        i++;
    return arena_printf(a, "%" PRId64 " %s", ns / units[i].ns, units[i].unit);
}

static int parse_duration(const struct opt *o, const char *text, struct arena *a, int64_t *out,
                          struct err *e)
{
    int64_t ns;
    if (duration_parse(text, &ns, e) != 0) {
        e->code = ERR_USAGE;
        return err_in(e, "--%s", o->name);
    }
    if ((o->lo != 0 || o->hi != 0) && (ns < o->lo || ns > o->hi) && duration_lacks_unit(text))
        return err_set(e, ERR_USAGE, "--%s: '%s' has no unit; write %ss or 500ms", o->name, text,
                       text);
    if ((o->lo != 0 || o->hi != 0) && (ns < o->lo || ns > o->hi))
        return err_set(e, ERR_USAGE, "--%s: '%s' is not a time from %s to %s", o->name, text,
                       bound_text(o->lo, a), bound_text(o->hi, a));
    *out = ns;
    return 0;
}

static int parse_choice(const struct opt *o, const char *text, int64_t *out, struct err *e)
{
    for (int64_t i = 0; o->choices[i]; i++) {
        if (strcmp(o->choices[i], text) == 0) {
            *out = i;
            return 0;
        }
    }
    struct buf list = {0};
    for (size_t i = 0; o->choices[i]; i++)
        buf_printf(&list, "%s%s", i ? ", " : "", o->choices[i]);
    buf_u8(&list, 0);
    err_set(e, ERR_USAGE, "--%s: '%s' is not one of: %s", o->name, text, (const char *)list.p);
    buf_free(&list);
    return ERR_USAGE;
}

static int opt_parse_value(const struct opt *o, const char *text, struct arena *a, int64_t *out,
                           struct err *e)
{
    switch (o->type) {
    case OPT_INT:
        return parse_int(o, text, out, e);
    case OPT_DURATION:
        return parse_duration(o, text, a, out, e);
    case OPT_CHOICE:
        return parse_choice(o, text, out, e);
    case OPT_STRING:
    case OPT_FOLDER:
    case OPT_FILE:
        if (*text == '\0')
            return err_set(e, ERR_USAGE, "--%s: the value is empty", o->name);
        return 0;
    case OPT_FLAG:
        break;
    }
    return 0;
}

static int opt_set_value(struct parser *p, int i, const char *text, struct err *e)
{
    const struct opt *o = &p->table[i];
    struct opt_value *v = &p->out->v[i];
    if (v->given && !o->repeat && o->type != OPT_FLAG)
        return err_set(e, ERR_USAGE, "--%s is given twice ('%s' and '%s')", o->name, v->text, text);
    TRY(opt_parse_value(o, text, p->arena, &v->number, e));
    v->given = true;
    v->text = text;
    if (!o->repeat)
        return 0;
    if (!v->all)
        v->all = arena_array(p->arena, const char *, (size_t)p->argc + 1);
    v->all[v->n_all++] = text;
    return 0;
}

/* ------------------------------------------------------------------------------------------------
 * Words */

static int set_flag(struct parser *p, int i)
{
    p->out->v[i].given = true;
    p->out->v[i].number = 1;
    return 0;
}

/* The value is in the next word. One that begins with two dashes is taken for a forgotten value;
 * --name=value is always a value. */
static int value_in_next(struct parser *p, int i, struct err *e)
{
    const struct opt *o = &p->table[i];
    if (p->next >= p->argc || strncmp(p->argv[p->next], "--", 2) == 0)
        return err_set(e, ERR_USAGE, "--%s needs a value: --%s %s", o->name, o->name, o->arg);
    return opt_set_value(p, i, p->argv[p->next++], e);
}

/* word: after the two dashes */
static int long_option(struct parser *p, const char *word, struct err *e)
{
    const char *equals = strchr(word, '=');
    const size_t len = equals ? (size_t)(equals - word) : strlen(word);
    const int i = find_name(p->table, word, len);
    if (i < 0 && !equals && strcmp(word, "help") == 0) {
        p->out->help = true;
        return 0;
    }
    if (i < 0)
        return unknown_name(p->table, word, len, p->arena, e);
    const struct opt *o = &p->table[i];
    if (o->type == OPT_FLAG) {
        if (equals)
            return err_set(e, ERR_USAGE, "--%s takes no value", o->name);
        return set_flag(p, i);
    }
    if (equals || o->bare)
        return opt_set_value(p, i, equals ? equals + 1 : o->bare, e);
    return value_in_next(p, i, e);
}

/* word: after the dash, at least one letter */
static int short_options(struct parser *p, const char *word, struct err *e)
{
    for (; *word; word++) {
        const int i = find_letter(p->table, *word);
        if (i < 0 && *word == 'h') {
            p->out->help = true;
            return 0;
        }
        if (i < 0)
            return err_set(e, ERR_USAGE, "unknown option -%c", *word);
        if (p->table[i].type != OPT_FLAG)
            return word[1] ? opt_set_value(p, i, word + 1, e) : value_in_next(p, i, e);
        set_flag(p, i);
    }
    return 0;
}

static void take_rest(struct parser *p)
{
    while (p->next < p->argc)
        p->out->rest[p->out->n_rest++] = p->argv[p->next++];
}

static int take_word(struct parser *p, struct err *e)
{
    const char *word = p->argv[p->next++];
    if (word[0] == '-' && word[1] == '-' && word[2])
        return long_option(p, word + 2, e);
    if (strcmp(word, "--") == 0) {
        take_rest(p);
        return 0;
    }
    if (word[0] == '-' && word[1])
        return short_options(p, word + 1, e);
    p->out->rest[p->out->n_rest++] = word;
    if (p->order == OPT_FIRST)
        take_rest(p);
    return 0;
}

static int set_defaults(struct parser *p, struct err *e)
{
    for (int i = 0; p->table[i].name; i++) {
        const struct opt *o = &p->table[i];
        if (!o->otherwise)
            continue;
        p->out->v[i].text = o->otherwise;
        TRY(opt_parse_value(o, o->otherwise, p->arena, &p->out->v[i].number, e));
    }
    return 0;
}

int opt_parse(const struct opt *table, enum opt_order order, int argc, char *const argv[],
              struct arena *a, struct opt_result *out, struct err *e)
{
    *out = (struct opt_result){
        .v = arena_array(a, struct opt_value, table_len(table) + 1),
        .rest = arena_array(a, const char *, (size_t)argc + 1),
    };
    struct parser p = {table, order, argc, argv, 0, a, out};
    int rc = set_defaults(&p, e);
    while (rc == 0 && p.next < argc && !out->help)
        rc = take_word(&p, e);
    return rc;
}

const struct opt_value *opt_given(const struct opt *table, const struct opt_value *v,
                                  const char *name)
{
    for (; table && table->name; table++, v++)
        if (strcmp(table->name, name) == 0)
            return v->given ? v : NULL;
    return NULL;
}
