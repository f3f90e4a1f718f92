/* SPDX-License-Identifier: Apache-2.0 */
/* Our own exports, read back: events, rows, losses and marks as they were, in their places. */
#include "base/buf.h"
#include "import_run.h"
#include "record/group.h"

/* ---- a run that is put together, as text ---- */

struct told {
    struct sink sink; /* first */
    char place[64];
    struct remade *to;
};

struct remade {
    struct remake remake; /* first */
    struct buf log;
    struct told sinks[16];
    size_t n_sinks;
    struct import_result result;
    int rc;
    struct err e;
};

static void on_row(struct sink *s, struct group *g, mono_ns t)
{
    struct told *x = (struct told *)s;
    struct buf *b = &x->to->log;
    buf_printf(b, "%s %s/%lld row %lld:", x->place, g->name, (long long)(g->period_ns / NS_PER_MS),
               (long long)t.ns);
    for (slot_id i = 0; i < g->n; i++)
        if (g->slots[i].used && g->cells[i] != CELL_MISSING)
            buf_printf(b, " %s %s=%lldx%g", metrics[g->slots[i].metric].name, g->slots[i].entity,
                       (long long)g->cells[i], g->slots[i].step);
    buf_u8(b, '\n');
}

static void on_loss(struct sink *s, const struct loss *l)
{
    struct told *x = (struct told *)s;
    buf_printf(&x->to->log, "%s loss %lld: %s %s (%s) x%llu\n", x->place, (long long)l->at.ns,
               losses[l->id].name, loss_what(&*l, (char[ENTITY_LEN]){0}), l->why,
               (unsigned long long)l->count);
}

static void on_mark(struct sink *s, const struct mark *m)
{
    struct told *x = (struct told *)s;
    buf_printf(&x->to->log, "%s mark %lld: %s %s %lld\n", x->place, (long long)m->at.ns,
               marks[m->id].name, m->text, (long long)m->number);
}

static void on_events(struct sink *s, const struct track *t, const struct event *v, size_t n)
{
    struct told *x = (struct told *)s;
    struct buf *b = &x->to->log;
    for (size_t i = 0; i < n; i++) {
        buf_printf(b, "%s %s %u/%llu '%s' '%s' %lld+%lld %s '%s' %s", x->place,
                   t->kind == TRACK_DEVICE ? "device" : "thread", t->pid, (unsigned long long)t->id,
                   t->process, t->name, (long long)v[i].at.ns, (long long)v[i].dur_ns,
                   event_kind_names[v[i].kind], v[i].name, category_words[v[i].category].name);
        if (v[i].kind == EVENT_REAL)
            buf_printf(b, " real=%g", event_real(&v[i]));
        else if (v[i].value)
            buf_printf(b, " value=%lld", (long long)v[i].value);
        if (v[i].link || v[i].parent)
            buf_printf(b, " link=%llu parent=%llu", (unsigned long long)v[i].link,
                       (unsigned long long)v[i].parent);
        if (v[i].mode != MODE_TRAIN || v[i].end != END_KNOWN)
            buf_printf(b, " %s %s", event_mode_names[v[i].mode], event_end_names[v[i].end]);
        if (v[i].args)
            buf_printf(b, " [%s]", v[i].args);
        buf_u8(b, '\n');
    }
}

static void on_run(struct remake *m, const char *about, size_t len)
{
    buf_printf(&((struct remade *)m)->log, "run %.*s\n", (int)len, about);
}

static void on_node(struct remake *m, const struct remake_node *n)
{
    buf_printf(&((struct remade *)m)->log, "node %s.%u ahead %lld %.*s\n", n->id, n->session,
               (long long)n->clock_ahead_ns, n->about ? (int)n->about_len : 4,
               n->about ? n->about : "none");
}

static struct sink *on_sink(struct remake *m, const struct remake_place *p)
{
    static const struct sink_ops ops = {on_row, on_loss, on_mark, on_events};
    static const char *const files[] = {"metrics", "events", "detail"};
    struct remade *r = (struct remade *)m;
    CHECK(r->n_sinks < COUNT_OF(r->sinks));
    struct told *x = &r->sinks[r->n_sinks++];
    *x = (struct told){.sink = {&ops}, .to = r};
    snprintf(x->place, sizeof x->place, "%s.%u/%s", p->node, p->session, files[p->file]);
    if (p->file == REMAKE_DETAIL)
        snprintf(x->place, sizeof x->place, "%s.%u/detail-%u-%u", p->node, p->session, p->pid,
                 p->window);
    return &x->sink;
}

static void remake_text(struct remade *r, const char *text, size_t piece)
{
    static const struct remake_ops ops = {on_run, on_node, on_sink};
    struct bytes_memory in;
    memset(r, 0, sizeof *r);
    r->remake.ops = &ops;
    bytes_memory_init(&in, text, strlen(text), piece);
    const struct import_ask ask = {.in = &in.in, .remake = &r->remake};
    r->rc = importer_footplate.run(&ask, &r->result, &r->e);
    buf_u8(&r->log, '\0');
}

static void check_log(const char *text, const char *want)
{
    static const size_t pieces[] = {0, 1, 7, 4096};
    for (size_t i = 0; i < COUNT_OF(pieces); i++) {
        struct remade r;
        remake_text(&r, text, pieces[i]);
        if (r.rc != 0)
            test_fail(__FILE__, __LINE__, "refused: %s", r.e.msg);
        CHECK_STR((const char *)r.log.p, want);
        buf_free(&r.log);
    }
}

/* ---- traces ---- */

#define HEAD                                                                                       \
    "{\"footplate\":{\"version\":1,\"about\":{\"name\":\"x\"},\"lanes\":4,"                        \
    "\"nodes\":[{\"node\":\"a\",\"session\":1,\"clock_ahead_ns\":1000,\"about\":{\"cores\":2}}],"  \
    "\"tracks\":["                                                                                 \
    "{\"track\":0,\"node\":\"a\",\"session\":1,\"on\":\"thread\",\"os_pid\":7,\"id\":70,"          \
    "\"process\":\"py\",\"name\":\"main\"},"                                                       \
    "{\"track\":1,\"node\":\"a\",\"session\":1,\"on\":\"device\",\"os_pid\":7,\"id\":4294967303,"  \
    "\"process\":\"py\",\"name\":\"gpu1 stream 7\",\"window\":2}],"                                \
    "\"series\":["                                                                                 \
    "{\"pid\":2,\"counter\":\"cpu.util total\",\"node\":\"a\",\"session\":1,\"group\":\"cpu\","    \
    "\"period_ns\":100000000,\"metric\":\"cpu.util\",\"entity\":\"total\",\"unit\":\"%\","         \
    "\"step\":0.1,\"from_ns\":0},"                                                                 \
    "{\"pid\":2,\"counter\":\"cpu.util cpu0\",\"node\":\"a\",\"session\":1,\"group\":\"cpu\","     \
    "\"period_ns\":100000000,\"metric\":\"cpu.util\",\"entity\":\"cpu0\",\"unit\":\"%\","          \
    "\"step\":10,\"from_ns\":0},"                                                                  \
    "{\"pid\":2,\"counter\":\"cpu.util cpu0\",\"node\":\"a\",\"session\":1,\"group\":\"cpu\","     \
    "\"period_ns\":100000000,\"metric\":\"cpu.util\",\"entity\":\"cpu0\",\"unit\":\"%\","          \
    "\"step\":2,\"from_ns\":7000}],"                                                               \
    "\"losses\":[],\"marks\":[]},\"baseTimeNanoseconds\":5000,\"traceEvents\":["

#define NODE "run {\"name\":\"x\"}\nnode a.1 ahead 1000 {\"cores\":2}\n"

TEST(events_of_a_trace_come_back_with_all_they_had)
{
    check_log(
        HEAD
        "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":3,\"args\":{\"name\":\"rank 0\"}},"
        "{\"ph\":\"X\",\"pid\":3,\"tid\":1,\"ts\":1.001,\"dur\":2.5,\"cat\":\"op\",\"name\":\"a\"},"
        "{\"ph\":\"X\",\"pid\":3,\"tid\":2,\"ts\":2,\"dur\":0,\"cat\":\"memcpy\",\"name\":"
        "\"b\\\"\","
        "\"args\":{\"value\":-5,\"correlation\":9,\"External id\":8,\"end\":\"cut\",\"k\":\"v=\","
        "\"name\":\"n\"}},"
        "{\"ph\":\"X\",\"pid\":3,\"tid\":1,\"ts\":3,\"dur\":1,\"cat\":\"step\",\"name\":\"\","
        "\"args\":{\"step\":12,\"category\":\"user\",\"mode\":\"eval\"}},"
        "{\"ph\":\"i\",\"pid\":3,\"tid\":1,\"ts\":4,\"s\":\"t\",\"cat\":\"other\",\"name\":\"m\","
        "\"args\":{\"text\":\"one\\npiece\"}},"
        "{\"ph\":\"C\",\"pid\":3,\"tid\":1,\"ts\":5,\"cat\":\"memory\",\"name\":\"c\","
        "\"args\":{\"count\":1099511627776},\"fp\":{\"correlation\":77}},"
        "{\"ph\":\"C\",\"pid\":3,\"tid\":1,\"ts\":6,\"cat\":\"other\",\"name\":\"r\","
        "\"args\":{\"real\":3}},"
        "{\"ph\":\"i\",\"pid\":3,\"tid\":1,\"ts\":7,\"s\":\"t\",\"cat\":\"other\",\"name\":\"n\","
        "\"args\":{\"real\":\"-inf\"}},"
        "{\"ph\":\"X\",\"pid\":3,\"tid\":5,\"ts\":8,\"dur\":1,\"cat\":\"kernel\",\"name\":\"k\"}]}",
        NODE
        "a.1/events thread 7/70 'py' 'main' 5001+2500 span 'a' op\n"
        "a.1/events thread 7/70 'py' 'main' 6000+0 span 'b\"' memcpy value=-5 link=9 parent=8 "
        "train "
        "cut [k=v=\nname=n]\n"
        "a.1/events thread 7/70 'py' 'main' 7000+1000 step '' user value=12 eval known\n"
        "a.1/events thread 7/70 'py' 'main' 8000+0 mark 'm' other [one\npiece]\n"
        "a.1/events thread 7/70 'py' 'main' 9000+0 count 'c' memory value=1099511627776 link=77 "
        "parent=0\n"
        "a.1/events thread 7/70 'py' 'main' 10000+0 real 'r' other real=3\n"
        "a.1/events thread 7/70 'py' 'main' 11000+0 real 'n' other real=-inf\n"
        "a.1/detail-7-2 device 7/4294967303 'py' 'gpu1 stream 7' 12000+1000 span 'k' kernel\n");
}

TEST(counters_of_one_moment_are_one_row_and_keep_their_steps)
{
    check_log(HEAD
              "{\"ph\":\"C\",\"pid\":2,\"name\":\"cpu.util total\",\"args\":{\"%\":12.3},\"ts\":1},"
              "{\"ph\":\"C\",\"pid\":2,\"name\":\"cpu.util cpu0\",\"args\":{\"%\":40},\"ts\":1},"
              "{\"ph\":\"C\",\"pid\":2,\"name\":\"cpu.util cpu0\",\"args\":{\"%\":6},\"ts\":2},"
              "{\"ph\":\"C\",\"pid\":2,\"name\":\"cpu.util total\",\"args\":{\"%\":0},\"ts\":3}]}",
              NODE "a.1/metrics cpu/100 row 5000: cpu.util total=123x0.1 cpu.util cpu0=4x10\n"
                   "a.1/metrics cpu/100 row 6000: cpu.util cpu0=3x2\n"
                   "a.1/metrics cpu/100 row 7000: cpu.util total=0x0.1\n");
}

TEST(what_is_derived_is_not_taken_for_what_was_recorded)
{
    check_log(
        HEAD
        "{\"ph\":\"X\",\"pid\":1,\"tid\":9,\"ts\":1,\"dur\":5,\"cat\":\"phase\",\"name\":\"p\"},"
        "{\"ph\":\"C\",\"pid\":1,\"tid\":0,\"ts\":1,\"cat\":\"step\",\"name\":\"parts\","
        "\"args\":{\"data\":1}},"
        "{\"ph\":\"i\",\"pid\":2,\"tid\":0,\"ts\":1,\"s\":\"p\",\"cat\":\"mark\",\"name\":\"xid\"},"
        "{\"ph\":\"s\",\"pid\":3,\"tid\":1,\"ts\":1,\"id\":5,\"cat\":\"l\",\"name\":\"l\"},"
        "{\"ph\":\"X\",\"pid\":3,\"tid\":1,\"ts\":1,\"dur\":1,\"cat\":\"op\",\"name\":\"a\"}]}",
        NODE "a.1/events thread 7/70 'py' 'main' 5000+1000 span 'a' op\n");
}

/* ---- lines ---- */

#define LINES                                                                                      \
    "{\"type\":\"footplate\",\"version\":1,\"about\":{\"name\":\"x\"}}\n"                          \
    "{\"type\":\"node\",\"node\":\"a\",\"session\":1,\"start_ns\":100,\"clock_ahead_ns\":10}\n"    \
    "{\"type\":\"node\",\"node\":\"a\",\"session\":2,\"start_ns\":500,\"clock_ahead_ns\":20}\n"

#define TWO "run {\"name\":\"x\"}\nnode a.1 ahead 10 none\nnode a.2 ahead 20 none\n"

TEST(losses_and_marks_belong_to_the_recorder_that_ran_then)
{
    check_log(
        LINES
        "{\"type\":\"loss\",\"node\":\"a\",\"loss\":\"absent\",\"what\":\"gpu\",\"why\":\"w\","
        "\"count\":3,\"time_ns\":400}\n"
        "{\"type\":\"mark\",\"node\":\"a\",\"mark\":\"xid\",\"text\":\"gpu0\",\"number\":79,"
        "\"time_ns\":600}\n"
        "{\"type\":\"loss\",\"node\":\"a\",\"loss\":\"of tomorrow\",\"what\":\"x\",\"why\":\"y\","
        "\"count\":1,\"time_ns\":50}\n"
        "{\"type\":\"series\",\"node\":\"a\",\"session\":2,\"group\":\"g\",\"period_ns\":1000000,"
        "\"metric\":\"mem.util\",\"entity\":\"total\",\"step\":1,\"from_ns\":0}\n"
        "{\"type\":\"sample\",\"node\":\"a\",\"metric\":\"mem.util\",\"entity\":\"total\","
        "\"time_ns\":720,\"value\":9}\n",
        TWO "a.1/metrics loss 390: absent gpu (w) x3\n"
            "a.2/metrics mark 580: xid gpu0 79\n"
            "a.1/metrics loss 40: malformed x (y) x1\n"
            "a.2/metrics g/1 row 700: mem.util total=9x1\n");
}

TEST(events_of_lines_come_back_with_all_they_had)
{
    check_log(
        LINES
        "{\"type\":\"track\",\"track\":0,\"node\":\"a\",\"session\":2,\"on\":\"thread\","
        "\"os_pid\":7,\"id\":-1,\"process\":\"py\",\"name\":\"\"}\n"
        "{\"type\":\"event\",\"track\":0,\"kind\":\"span\",\"name\":\"a\",\"category\":\"comm\","
        "\"time_ns\":1020,\"duration_ns\":5,\"value\":4,\"link\":-2,\"parent\":1,"
        "\"end\":\"open\",\"args\":\"k=v\\nl=w\"}\n"
        "{\"type\":\"event\",\"track\":0,\"kind\":\"real\",\"name\":\"r\",\"category\":\"other\","
        "\"time_ns\":1021,\"value\":0.1}\n"
        "{\"type\":\"step\",\"step\":4}\n",
        TWO "a.2/events thread 7/18446744073709551615 'py' '' 1000+5 span 'a' comm value=4 "
            "link=18446744073709551614 parent=1 train open [k=v\nl=w]\n"
            "a.2/events thread 7/18446744073709551615 'py' '' 1001+0 real 'r' other "
            "real=0.1\n");
}

/* ---- what is wrong ---- */

TEST(what_has_no_place_is_counted_and_the_rest_is_kept)
{
    struct remade r;
    remake_text(
        &r,
        HEAD
        "{\"ph\":\"C\",\"pid\":9,\"name\":\"cpu.util total\",\"args\":{\"%\":1},\"ts\":1},"
        "{\"ph\":\"C\",\"pid\":2,\"name\":\"cpu.util total\",\"args\":{},\"ts\":1},"
        "{\"ph\":\"X\",\"pid\":3,\"tid\":1,\"dur\":1,\"cat\":\"op\",\"name\":\"a\"},"
        "{\"ph\":\"X\",\"pid\":3,\"tid\":1,\"ts\":1,\"dur\":-4,\"cat\":\"op\",\"name\":\"a\"},"
        "{\"ph\":\"Z\",\"pid\":3,\"tid\":1,\"ts\":1},"
        "{\"ph\":\"X\",\"pid\":3,\"tid\":1,\"ts\":99999999999999999,\"dur\":1,\"name\":\"a\"}]}",
        0);
    CHECK_INT(r.rc, 0);
    CHECK_INT(r.result.count[IMPORTED_NO_METRIC], 1);
    CHECK_INT(r.result.count[IMPORTED_NO_VALUE], 1);
    CHECK_INT(r.result.count[IMPORTED_NO_TIME] + r.result.count[IMPORTED_BAD_TIME], 2);
    CHECK_INT(r.result.count[IMPORTED_NEGATIVE], 1);
    CHECK_INT(r.result.count[IMPORTED_PHASES], 1);
    CHECK_INT(r.result.count[IMPORTED_KEPT], 1);
    buf_free(&r.log);
}

TEST(a_newer_version_and_what_is_no_export_are_refused)
{
    static const struct {
        const char *text;
        int code;
    } bad[] = {
        {"{\"footplate\":{\"version\":2},\"traceEvents\":[]}", ERR_VERSION},
        {"{\"traceEvents\":[]}", ERR_FORMAT},
        {"[1]", ERR_FORMAT},
        {"", ERR_FORMAT},
        {"{\"type\":\"sample\"}", ERR_FORMAT},
        {HEAD, ERR_FORMAT},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct remade r;
        remake_text(&r, bad[i].text, 0);
        CHECK_INT(r.rc, bad[i].code);
        CHECK(r.e.msg[0]);
        buf_free(&r.log);
    }
}

TEST(only_what_begins_as_our_exports_do_is_taken_for_one)
{
    static const struct {
        const char *text;
        int sure;
    } heads[] = {{"{\"footplate\":{\"version\":1", 100},
                 {"{\"type\":\"footplate\",\"version\":1}", 100},
                 {"{\"traceEvents\":[", 0},
                 {"{\"foot", 0}};
    for (size_t i = 0; i < COUNT_OF(heads); i++)
        CHECK_INT(importer_footplate.sniff(heads[i].text, strlen(heads[i].text)), heads[i].sure);
    const struct importer *best = importer_sniff(HEAD, strlen(HEAD));
    CHECK(best == &importer_footplate);
}

TEST(without_anybody_to_make_a_run_everything_goes_to_the_sink_given)
{
    struct imported m = import_with(
        &importer_footplate,
        HEAD
        "{\"ph\":\"X\",\"pid\":3,\"tid\":5,\"ts\":8,\"dur\":1,\"cat\":\"kernel\",\"name\":\"k\"}]}",
        (struct import_ask){.wall_minus_mono_ns = 3000}, 0);
    CHECK_INT(m.rc, 0);
    CHECK_INT(catch_find(&m.got, "k")->event.at.ns, 10000);
    CHECK_INT(m.result.first.ns, 10000);
    CHECK_INT(m.result.last.ns, 11000);
    catch_close(&m.got);
}
