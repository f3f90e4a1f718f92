/* SPDX-License-Identifier: Apache-2.0 */
/* A run that grows is opened and evaluated again and again: what is remembered changes no byte of
 * the verdicts. The story of the run has everything that makes an evaluation forget. */
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "query/recordkit.h"
#include "record/group.h"
#include "rules/custom.h"
#include "rules/engine.h"
#include "rules/feed_run.h"
#include "rules/verdict_json.h"
#include "test.h"

enum {
    PERIOD_MS = 100,
    CORES = 200, /* so that the tail is sealed now and then */
    END_S = 1400,
    LOOP_S = 30,
    RANK_1_S = 300,     /* a second rank appears */
    GPU_1_S = 420,      /* and a second GPU */
    DETAIL_S = 600,     /* a detail window of 10 s */
    MEM_GONE_S = 650,   /* a group is not read for two minutes */
    LATE_S = 560,       /* a checkpoint ends that began long ago */
    HANG_S = 860,       /* a forward pass goes on and on; so does the loop */
    HANG_END_S = 930,   /* it is recorded that it ended long ago: the loop shrinks */
    HANG_OVER_S = 965,  /* the next step */
    SESSION_S = 1000,   /* the recorder is killed, another one goes on */
    EVAL_EVERY_S = 130, /* an evaluation instead of training */
    CHECKPOINT_S = 97,  /* how often one is saved */
    STEP_MS = 50,
};

struct story {
    struct recordkit k;
    struct group cpu, gpu, mem;
    uint64_t seed;
    int64_t at_ms, rank_ms[2];
    bool two_gpus;
};

static uint32_t story_random(struct story *s)
{
    s->seed = s->seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(s->seed >> 33);
}

static void story_open_groups(struct story *s)
{
    char name[16];
    group_open(&s->cpu, "cpu", PERIOD_MS * NS_PER_MS);
    for (int i = 0; i < CORES; i++) {
        snprintf(name, sizeof name, "cpu%d", i);
        group_add(&s->cpu, M_CPU_UTIL, name);
    }
    group_open(&s->gpu, "gpu", PERIOD_MS * NS_PER_MS);
    group_add(&s->gpu, M_GPU_UTIL, "gpu0");
    group_add(&s->gpu, M_GPU_MEM, "gpu0");
    group_open(&s->mem, "mem", 50 * PERIOD_MS * NS_PER_MS);
    group_add(&s->mem, M_MEM_UTIL, "node");
    s->two_gpus = false;
}

static void story_close_groups(struct story *s)
{
    group_close(&s->cpu);
    group_close(&s->gpu);
    group_close(&s->mem);
}

static void story_row(struct story *s)
{
    const int64_t ms = s->at_ms, sec = ms / 1000;
    struct sink *to = writer_sink(s->k.metrics);
    if (sec >= GPU_1_S && !s->two_gpus) {
        group_add(&s->gpu, M_GPU_UTIL, "gpu1");
        s->two_gpus = true;
    }
    for (slot_id i = 0; i < s->cpu.n; i++)
        s->cpu.cells[i] = (int64_t)(story_random(s) % 1000);
    const int64_t late_ns = (int64_t)(story_random(s) % 3000) * NS_PER_US;
    group_commit(&s->cpu, to, (mono_ns){ms * NS_PER_MS + late_ns});
    for (slot_id i = 0; i < s->gpu.n; i++)
        s->gpu.cells[i] = sec % 50 < 20 ? 3 : (int64_t)(700 + story_random(s) % 200);
    if (sec % 61 < 2) /* a reading that failed */
        s->gpu.cells[0] = CELL_MISSING;
    group_commit(&s->gpu, to, (mono_ns){ms * NS_PER_MS + 300 * NS_PER_US});
    s->mem.cells[0] = 300 + sec / 10;
    if (ms % (50 * PERIOD_MS) == 0 && (sec < MEM_GONE_S || sec >= MEM_GONE_S + 120))
        group_commit(&s->mem, to, (mono_ns){ms * NS_PER_MS + 500 * NS_PER_US});
}

/* ---- training health ---- */

enum { HEALTH_MS = 5 * STEP_MS, NAN_STEP = 2600, SAMPLE_STEPS = 10 };

static void story_put(struct story *s, int rank, enum health_id stat, const char *name, double v,
                      enum event_mode mode)
{
    struct track t = {.kind = TRACK_HEALTH, .pid = 70 + (uint32_t)rank, .id = stat};
    struct event e = {.at = {s->rank_ms[rank] * NS_PER_MS + NS_PER_MS * STEP_MS / 2},
                      .kind = EVENT_REAL,
                      .name = name,
                      .mode = mode,
                      .link = (uint64_t)(s->rank_ms[rank] / HEALTH_MS + 1)};
    struct sink *to = writer_sink(s->k.events);
    memcpy(&e.value, &v, sizeof v);
    snprintf(t.name, sizeof t.name, "%s", health_words[stat].name);
    to->ops->events(to, &t, &e, 1);
}

/* A loss that falls and has spikes, evaluations whose loss rises, the scale of mixed precision,
 * batches that repeat, one NaN, and samples of tensors, one of which hardly changes. */
static void story_health(struct story *s, int rank)
{
    static const char *const tensors[] = {"0.weight", "2.weight", "4.weight"};
    const int64_t step = s->rank_ms[rank] / HEALTH_MS;
    const double chance = (double)(story_random(s) % 1000) / 1000;
    const double loss = 2 * exp(-(double)step / 800) + 0.1 * chance;
    const bool bad = rank == 0 && step == NAN_STEP;
    story_put(s, rank, HEALTH_SCALAR, "loss", bad ? NAN : loss + (step % 601 == 600 ? 30 : 0), 0);
    story_put(s, rank, HEALTH_SCALAR, "lr", 0.1, 0);
    story_put(s, rank, HEALTH_SCALAR, "grad.norm", 1 + chance + (step % 1003 == 1002 ? 40 : 0), 0);
    story_put(s, rank, HEALTH_SCALAR, "batch.hash", (double)(step % (step < 2000 ? 1000 : 9)), 0);
    story_put(s, rank, HEALTH_SCALAR, "amp.scale", step % 201 < 100 ? 65536 : 32768, 0);
    if (step % 300 == 0)
        story_put(s, rank, HEALTH_SCALAR, "loss", 1 + (double)step / 1800, MODE_EVAL);
    for (size_t i = 0; step % SAMPLE_STEPS == 0 && i < COUNT_OF(tensors); i++) {
        story_put(s, rank, HEALTH_PARAMETER_DIMS, tensors[i], 2, 0);
        story_put(s, rank, HEALTH_GRADIENT_L2, tensors[i], i ? chance : 1e-9 * chance, 0);
        story_put(s, rank, HEALTH_WEIGHT_L2, tensors[i], 5 + chance, 0);
        story_put(s, rank, HEALTH_UPDATE_RATIO, tensors[i], i ? 1e-3 : 1e-12, 0);
        story_put(s, rank, HEALTH_OUTPUT_DEAD, tensors[i], i == 1 ? 0.9 : 0.1, 0);
    }
}

/* ---- steps ---- */

/* The steps of a rank until the moment that the story has come to. */
static void story_steps(struct story *s, int rank)
{
    const uint32_t pid = 70 + (uint32_t)rank;
    struct writer *w = s->k.events;
    if (s->rank_ms[rank] >= HANG_S * 1000 && s->rank_ms[rank] < HANG_OVER_S * 1000)
        s->rank_ms[rank] = HANG_OVER_S * 1000;
    while (s->rank_ms[rank] + STEP_MS <= s->at_ms) {
        const int64_t at = s->rank_ms[rank] * NS_PER_MS, sec = s->rank_ms[rank] / 1000;
        const bool first = s->rank_ms[rank] % 1000 < STEP_MS;
        if (first && sec % EVAL_EVERY_S < 10)
            recordkit_thread(w, pid, pid, at, "D10000000 E30000000");
        else if (first && sec % CHECKPOINT_S == 0)
            recordkit_thread(w, pid, pid, at, "D5000000 F8000000 B10000000 O2000000 K20000000");
        else if (first && sec == DETAIL_S + 10)
            recordkit_thread(w, pid, pid, at - 10 * NS_PER_S, "W10000000000");
        else if (story_random(s) % 40 == 0)
            recordkit_thread(w, pid, pid, at, "D28000000 F8000000 B10000000 O1000000");
        else
            recordkit_thread(w, pid, pid, at, "D5000000 N32 F8000000 B10000000 O2000000");
        recordkit_device(w, pid, (unsigned)rank, at + 5 * NS_PER_MS, "F9000000 B11000000");
        if (s->rank_ms[rank] % HEALTH_MS == 0)
            story_health(s, rank);
        s->rank_ms[rank] += STEP_MS;
    }
}

/* What is recorded long after it began. The process has another thread, so it is seen until then.
 */
static void story_late(struct story *s)
{
    struct writer *w = s->k.events;
    const int64_t at = s->at_ms * NS_PER_MS, hang = (int64_t)HANG_S * NS_PER_S + 2 * NS_PER_MS;
    if (s->at_ms == LATE_S * 1000)
        recordkit_thread(w, 70, 71, at - 200 * NS_PER_S, "K199000000000");
    if (s->at_ms == HANG_S * 1000 + 1000)
        recordkit_thread(w, 70, 70, hang, "D5000000 F5000000?");
    if (s->at_ms > HANG_S * 1000 && s->at_ms < HANG_END_S * 1000)
        recordkit_thread(w, 70, 71, at, "U1000000");
    if (s->at_ms == HANG_END_S * 1000)
        recordkit_thread(w, 70, 70, hang + 5 * NS_PER_MS, "F5000000000");
}

static void story_fact(struct story *s, int rank)
{
    recordkit_fact(s->k.events, 70 + (uint32_t)rank, 70 + (uint32_t)rank, "process.rank", rank);
    recordkit_fact(s->k.events, 70 + (uint32_t)rank, 70 + (uint32_t)rank, "process.device", rank);
}

static void story_node(const struct story *s, const char *status)
{
    char json[256];
    snprintf(json, sizeof json,
             "{\"status\":\"%s\",\"cores\":%d,\"start_ns\":%" PRId64 ",\"end_ns\":%" PRId64 "}",
             status, CORES, KIT_START, KIT_START + s->at_ms * NS_PER_MS);
    kit_node(s->k.run, s->k.node, writer_session(s->k.metrics), json);
}

static void story_begin(struct story *s, const char *run, int64_t loop_ms)
{
    s->k = recordkit_open(run, "n1");
    story_open_groups(s);
    s->rank_ms[0] = loop_ms;
    s->rank_ms[1] = MAX_OF(loop_ms, (int64_t)RANK_1_S * 1000);
    recordkit_mark(&s->k, MARK_JOB_START, s->at_ms * NS_PER_MS, 1);
    story_node(s, "running");
    story_fact(s, 0);
}

static void story_go_on(struct story *s, int64_t until_ms)
{
    struct err e;
    for (; s->at_ms < until_ms; s->at_ms += PERIOD_MS) {
        story_row(s);
        if (s->at_ms == RANK_1_S * 1000)
            story_fact(s, 1);
        if (s->at_ms % 1000 == 0) {
            story_steps(s, 0);
            story_steps(s, 1);
            story_late(s);
            OK(writer_flush(s->k.metrics, false, &e));
            OK(writer_flush(s->k.events, false, &e));
        }
    }
    story_node(s, "running");
}

/* ---- rules of the user ---- */

static const char *const custom_keys[] = {"name",  "metric", "aggregate", "window",
                                          "above", "for",    "entity"};
static const char *const custom_values[][COUNT_OF(custom_keys)] = {
    {"Busy", "cpu.util", "mean", "7s", "50", "10s", "cpu3"},
    {"Peak", "cpu.util", "p95", "1s", "95", "0s", "cpu0"},
    {"Gpu", "gpu.util", "max", "10s", "60", "20s", "each"},
    {"Memory", "mem.util", "min", "30s", "31", "60s", "each"},
};
enum { CUSTOM_N = COUNT_OF(custom_values) };

/* `m` NULL: once. */
static void put_custom(struct custom_memory *m, struct run *r, struct jw *j)
{
    for (size_t i = 0; i < CUSTOM_N; i++) {
        struct custom_rule c = custom_rule_new();
        struct arena a = {0};
        struct verdict v;
        struct err e;
        for (size_t k = 0; k < COUNT_OF(custom_keys); k++)
            OK(custom_rule_set(&c, custom_keys[k], custom_values[i][k], &e));
        OK(custom_rule_check(&c, m ? &m[i] : NULL, r, &a, &v, &e));
        verdict_json(j, NULL, &v, NULL);
        arena_free(&a);
    }
}

static struct custom_memory remembered[CUSTOM_N];

static void forget_custom(void)
{
    for (size_t i = 0; i < CUSTOM_N; i++)
        custom_memory_free(&remembered[i]);
}

/* `v` NULL: from a run that is opened anew. */
static void put_verdicts(struct evaluation *v, struct run **before, const char *path,
                         struct buf *out)
{
    struct arena a = {0};
    struct checked *c = arena_new(&a, struct checked);
    const struct pricing unpriced = {0};
    struct rule_params p;
    struct jw j = {.out = out};
    struct run *anew = NULL, **r = v ? before : &anew;
    struct err e;
    out->len = 0;
    rule_params_init(&p, &a);
    OK(v ? run_open_next(r, path, "n1", &e) : run_open_node(r, path, "n1", &e));
    OK(evaluation_run(v, *r, &(struct check_ask){.params = &p, .pricing = &unpriced}, &a, c, &e));
    jw_array(&j, NULL);
    for (size_t i = 0; i < RULE_N; i++)
        verdict_json(&j, NULL, &c->verdicts.v[i], p.v[i]);
    put_custom(v ? remembered : NULL, *r, &j);
    jw_end(&j);
    run_close(anew);
    arena_free(&a);
}

/* Both answers, and that they are one. */
static void compare(struct evaluation *v, struct run **r, const struct story *s)
{
    struct buf again = {0}, anew = {0};
    put_verdicts(v, r, s->k.run, &again);
    put_verdicts(NULL, NULL, s->k.run, &anew);
    CHECK_INT(again.len, anew.len);
    CHECK(memcmp(again.p, anew.p, anew.len) == 0);
    buf_free(&again);
    buf_free(&anew);
}

/* The verdicts at the end have these findings, so they were compared, too. */
static void check_health_is_found(const struct story *s)
{
    static const char *const found[] = {"NonFinite",        "LossSpike",      "GradientSpike",
                                        "Overfit",          "DuplicatedData", "DeadRelu",
                                        "VanishingGradient"};
    struct buf out = {0};
    put_verdicts(NULL, NULL, s->k.run, &out);
    buf_u8(&out, 0);
    for (size_t i = 0; i < COUNT_OF(found); i++) {
        char text[64];
        snprintf(text, sizeof text, "\"rule\":\"%s\"", found[i]);
        const char *at = strstr((const char *)out.p, text);
        if (!at || strncmp(strstr(at, "\"state\":"), "\"state\":\"issue\"", 15) != 0)
            test_fail(__FILE__, __LINE__, "%s: %.300s", found[i], at ? at : "none");
    }
    buf_free(&out);
}

TEST(a_run_that_grows_is_judged_as_if_it_were_read_anew)
{
    const char *run = kit_run("run", "run", "run", KIT_START);
    struct evaluation *v = evaluation_open();
    struct run *r = NULL;
    struct story s = {.seed = 7};
    story_begin(&s, run, LOOP_S * 1000);
    for (int64_t ms = 1000; ms < SESSION_S * 1000;
         ms += ms < HANG_S * 1000 ? 1000 + story_random(&s) % 50000 : 11000) {
        story_go_on(&s, ms / PERIOD_MS * PERIOD_MS);
        compare(v, &r, &s);
    }
    struct recordkit first = s.k; /* it is killed: the story goes on in a copy of the folder */
    run = recordkit_killed(&first, "killed");
    snprintf(s.k.run, sizeof s.k.run, "%s", run);
    compare(v, &r, &s);
    story_close_groups(&s);
    s.at_ms += 20 * 1000;
    story_begin(&s, run, s.at_ms + 10 * 1000);
    for (int64_t ms = s.at_ms; ms < END_S * 1000; ms += 1000 + story_random(&s) % 50000) {
        story_go_on(&s, ms / PERIOD_MS * PERIOD_MS);
        compare(v, &r, &s);
    }
    recordkit_close(&s.k, 0, s.at_ms * NS_PER_MS, "finished");
    compare(v, &r, &s);
    check_health_is_found(&s);
    story_close_groups(&s);
    recordkit_close(&first, 0, 0, "finished");
    evaluation_close(v);
    forget_custom();
    run_close(r);
}

/* ---- what is opened ---- */

static int begun; /* files that were read from their begin */

int __real_fmap_open(const char *path, bool growing, struct fmap *out, struct err *e);
int __wrap_fmap_open(const char *path, bool growing, struct fmap *out, struct err *e);
int __wrap_fmap_open(const char *path, bool growing, struct fmap *out, struct err *e)
{
    begun++;
    return __real_fmap_open(path, growing, out, e);
}

int __real_fmap_follow(const char *path, struct fmap *out, struct buf *more, struct err *e);
int __wrap_fmap_follow(const char *path, struct fmap *out, struct buf *more, struct err *e);
int __wrap_fmap_follow(const char *path, struct fmap *out, struct buf *more, struct err *e)
{
    begun += out->len == 0;
    return __real_fmap_follow(path, out, more, e);
}

TEST(of_the_files_of_a_run_that_grows_only_what_is_new_is_read)
{
    const char *run = kit_run("run", "run", "run", KIT_START);
    struct evaluation *v = evaluation_open();
    struct run *r = NULL;
    struct story s = {.seed = 7};
    struct buf out = {0};
    story_begin(&s, run, LOOP_S * 1000);
    story_go_on(&s, 60 * 1000);
    put_verdicts(v, &r, s.k.run, &out);
    CHECK(begun > 0);
    for (int64_t ms = 70 * 1000; ms <= 300 * 1000; ms += 10 * 1000) {
        begun = 0;
        story_go_on(&s, ms);
        put_verdicts(v, &r, s.k.run, &out);
        CHECK_INT(begun, 0);
    }
    recordkit_close(&s.k, 0, s.at_ms * NS_PER_MS, "finished");
    story_close_groups(&s);
    buf_free(&out);
    evaluation_close(v);
    forget_custom();
    run_close(r);
}

/* The file has zeros from one of its pages on. */
static void make_zero(const char *path, bool most)
{
    static const char zeros[4096];
    struct stat st;
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    CHECK(fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 1 << 16);
    const off_t pages = st.st_size / (off_t)sizeof zeros, from = most ? 1 : pages / 2;
    for (off_t at = from * (off_t)sizeof zeros; at < st.st_size; at += (off_t)sizeof zeros) {
        const size_t n = (size_t)MIN_OF(st.st_size - at, (off_t)sizeof zeros);
        CHECK(pwrite(fd, zeros, n, at) == (ssize_t)n);
    }
    close(fd);
}

/* Their disk is damaged, or their space was given back (--to-only). */
TEST(a_run_whose_sealed_readings_are_gone_is_judged_by_the_others)
{
    const char *run = kit_run("run", "run", "run", KIT_START);
    struct evaluation *v = evaluation_open();
    struct run *r = NULL;
    struct story s = {.seed = 7};
    struct buf out = {0};
    char path[PATH_LEN];
    struct err e;
    story_begin(&s, run, LOOP_S * 1000);
    for (int64_t ms = 60 * 1000; ms <= 420 * 1000; ms += 20 * 1000) {
        story_go_on(&s, ms);
        if (ms == 300 * 1000 || ms == 400 * 1000) {
            OK(path_join(path, &e, "%s/node-n1/metrics.fp", s.k.run));
            make_zero(path, ms > 300 * 1000);
        }
        put_verdicts(v, &r, s.k.run, &out);
        CHECK(out.len > 0);
    }
    recordkit_close(&s.k, 0, s.at_ms * NS_PER_MS, "finished");
    story_close_groups(&s);
    buf_free(&out);
    evaluation_close(v);
    forget_custom();
    run_close(r);
}
