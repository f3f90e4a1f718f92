/* SPDX-License-Identifier: Apache-2.0 */
/* make_v1.c - made tests/golden/v1, with the first version of the format. Kept to show how; the
 * files are not made again. usage: make_golden_v1 FOLDER */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "golden_v1.h"
#include "record/group.h"
#include "store/format.h"
#include "store/writer.h"

static const char run_json[] = "{\n"
                               "  \"format\": \"footplate-run\",\n"
                               "  \"format_version\": 1,\n"
                               "  \"footplate_version\": \"0.1.0\",\n"
                               "  \"id\": \"golden-20260921-142640-90ld\",\n"
                               "  \"name\": \"golden\",\n"
                               "  \"command\": [\"python\", \"train.py\", \"--lr\", \"0.1\"],\n"
                               "  \"directory\": \"/home/user/project\",\n"
                               "  \"git_commit\": \"0123456789abcdef0123456789abcdef01234567\",\n"
                               "  \"labels\": {\"team\": \"vision\", \"gr\xc3\xb6\xc3\x9f"
                               "e\": \"klein\"},\n"
                               "  \"start_ns\": 1790000000000000000,\n"
                               "  \"interval_ms\": 100\n"
                               "}\n";

static const char node_a[] =
    "{\n"
    "  \"format_version\": 1, \"id\": \"a\", \"session\": 1, \"status\": \"finished\",\n"
    "  \"why\": null, \"host\": \"alpha\", \"kernel\": \"6.1.0\", \"cpu_model\": \"Example CPU\",\n"
    "  \"cores\": 2, \"memory_bytes\": 68719476736,\n"
    "  \"gpus\": [{\"entity\": \"gpu0\", \"name\": \"Example GPU\", \"uuid\": \"GPU-1\",\n"
    "    \"driver\": \"535.1\", \"memory_bytes\": 85899345920}],\n"
    "  \"gpu_absent\": null, \"launcher\": {\"name\": \"torchrun\", \"rank\": 0, \"world_size\": "
    "2,\n"
    "    \"local_rank\": 0}, \"interval_ns\": 100000000, \"start_ns\": 1790000001000000000,\n"
    "  \"end_ns\": 1790000121000000000, \"exit_status\": 0,\n"
    "  \"self\": {\"cpu_s\": 0.25, \"bytes_written\": 12345}\n"
    "}\n";

static const char node_b[] = "{\"format_version\": 1, \"id\": \"b\", \"session\": 1,\n"
                             "  \"status\": \"running\", \"host\": \"beta\",\n"
                             "  \"start_ns\": 1790000105000000000, \"exit_status\": null}\n";

static const char node_b2[] =
    "{\"format_version\": 1, \"id\": \"b\", \"session\": 2, \"status\": \"failed\",\n"
    "  \"host\": \"beta\", \"start_ns\": 1790001000000000000, \"end_ns\": 1790001050000000000,\n"
    "  \"exit_status\": 137, \"why\": \"killed\"}\n";

static char root[512];

_Noreturn static void fail(const struct err *e)
{
    fprintf(stderr, "make_golden_v1: %s\n", e->msg);
    exit(1);
}

static const char *at(char *path, const char *name)
{
    struct err e;
    if (path_join(path, &e, "%s/%s", root, name))
        fail(&e);
    return path;
}

static void save(const char *name, const void *p, size_t n)
{
    char path[PATH_LEN];
    struct err e;
    if (file_replace(at(path, name), p, n, &e))
        fail(&e);
}

/* Stands in for the clocks (linked with --wrap), so that every tie is the same in every run. */
static int64_t wall_at_zero;

struct clock_tie __wrap_clock_tie_now(void);
struct clock_tie __wrap_clock_tie_now(void)
{
    return (struct clock_tie){{0}, {wall_at_zero}};
}

/* The same id in every run of this program. */
static void restamp(const char *name, const char *id)
{
    char path[PATH_LEN], *p;
    struct arena a = {0};
    struct err e;
    size_t n;
    if (file_read(at(path, name), 1 << 24, &a, &p, &n, &e))
        fail(&e);
    memcpy(p + 40, id, FILE_ID_LEN);
    const uint64_t sum = format_sum(p, FILE_HEADER_LEN - 8);
    memcpy(p + FILE_HEADER_LEN - 8, &sum, 8);
    save(name, p, n);
    arena_free(&a);
}

static mono_ns us(int64_t t)
{
    return (mono_ns){t * NS_PER_US};
}

static void flush(struct writer *w)
{
    struct err e;
    if (writer_flush(w, true, &e))
        fail(&e);
}

static void log_one(struct writer *w, enum mark_id id, int64_t t_us, int64_t number,
                    const char *text)
{
    struct sink *s = writer_sink(w);
    struct mark m = {.id = id, .at = us(t_us), .number = number};
    snprintf(m.text, sizeof m.text, "%s", text);
    s->ops->mark(s, &m);
}

static void cpu_rows(struct writer *w)
{
    struct group g;
    group_open(&g, "cpu", 100 * NS_PER_MS);
    const slot_id core[] = {group_add(&g, M_CPU_UTIL, "cpu0"), group_add(&g, M_CPU_UTIL, "cpu1")};
    const slot_id all = group_add_mean(&g, M_CPU_UTIL, ENTITY_TOTAL, 2);
    for (int i = 0; i < A_FAST_ROWS + A_SLOW_ROWS; i++) {
        if (i == A_FAST_ROWS)
            group_set_period(&g, 200 * NS_PER_MS);
        for (int k = 0; k < 2; k++)
            g.cells[core[k]] = golden_core(i, k);
        g.cells[all] = golden_core(i, 0) + golden_core(i, 1);
        group_commit(&g, writer_sink(w),
                     us(i < A_FAST_ROWS ? golden_fast_us(i) : golden_slow_us(i - A_FAST_ROWS)));
        if (i % 100 == 0)
            flush(w);
    }
    group_close(&g);
}

static void gpu_rows(struct writer *w)
{
    struct group g;
    group_open(&g, "gpu", 500 * NS_PER_MS);
    const slot_id power = group_add(&g, M_GPU_POWER, "gpu0");
    const slot_id memory = group_add(&g, M_GPU_MEM_USED, "gpu0");
    for (int i = 0; i < A_GPU_ROWS; i++) {
        if (i % 10 != 3)
            g.cells[power] = golden_power(i);
        g.cells[memory] = golden_memory(i);
        group_commit(&g, writer_sink(w), us(golden_gpu_us(i)));
    }
    group_close(&g);
}

static void process_rows(struct writer *w)
{
    struct group g;
    group_open(&g, "proc", 500 * NS_PER_MS);
    for (int i = 0; i < A_PROCESSES; i++) {
        char name[32];
        snprintf(name, sizeof name, "%d worker", 100 + i);
        const slot_id s = group_add(&g, M_PROC_THREADS, name);
        for (int k = 0; k < 10; k++) {
            g.cells[s] = i + 1;
            group_commit(&g, writer_sink(w), us(golden_proc_us(i * 10 + k)));
        }
        group_drop(&g, s);
    }
    group_close(&g);
}

static struct writer *open_node(const char *node, int64_t start)
{
    wall_at_zero = start;
    char path[PATH_LEN];
    struct writer *w;
    struct err e;
    if (dir_make(at(path, node), &e) || writer_open(&w, path, &e))
        fail(&e);
    return w;
}

static void make_a(void)
{
    struct writer *w = open_node("node-a", GOLDEN_START_A);
    struct sink *s = writer_sink(w);
    struct err e;
    struct loss l = {.id = LOSS_UNSUPPORTED, .count = 3, .at = us(1500000)};
    snprintf(l.what, sizeof l.what, "%s", GOLDEN_LOSS);
    snprintf(l.why, sizeof l.why, "%s", GOLDEN_LOSS_WHY);
    log_one(w, MARK_JOB_START, 1000000, 4242, GOLDEN_TRAIN);
    s->ops->loss(s, &l);
    cpu_rows(w);
    gpu_rows(w);
    process_rows(w);
    log_one(w, MARK_JOB_EXIT, 121000000, 0, "");
    if (writer_close(w, &e))
        fail(&e);
    restamp("node-a/metrics.fp", "golden-v1-node-a");
    save("node-a/node.json", node_a, sizeof node_a - 1);
}

static void b_rows(struct writer *w)
{
    struct group g;
    group_open(&g, "wide", 10 * NS_PER_MS);
    for (int c = 0; c < B_COLUMNS; c++) {
        char name[32];
        snprintf(name, sizeof name, "gpu%d", c);
        group_add(&g, M_GPU_CLOCK_SM, name);
    }
    for (int i = 0; i < B_ROWS; i++) {
        for (int c = 0; c < B_COLUMNS; c++)
            g.cells[c] = golden_b(i, c);
        group_commit(&g, writer_sink(w), us(golden_b_us(i)));
        if (i % 250 == 249)
            flush(w);
    }
    group_close(&g);
}

/* What a recorder writes when the wall clock jumps: a tie, then rows as before. */
static void add_jump(void)
{
    char path[PATH_LEN], *p;
    struct arena a = {0};
    struct buf out = {0}, payload = {0};
    struct err e;
    size_t n;
    uint64_t segment;
    if (file_read(at(path, "node-b/metrics.tail"), 1 << 24, &a, &p, &n, &e))
        fail(&e);
    memcpy(&segment, p + 16, sizeof segment);
    const size_t begun = record_begin(&payload, TAG_TIE);
    buf_varint(&payload, zigzag(GOLDEN_JUMP_US * NS_PER_US));
    buf_varint(&payload, zigzag(GOLDEN_START_B + GOLDEN_JUMP_US * NS_PER_US + GOLDEN_JUMP_NS));
    record_end(&payload, begun);
    for (int i = 0; i < B_AFTER_JUMP; i++) {
        buf_u8(&payload, TAG_ROW);
        buf_varint(&payload, 0);
        buf_varint(&payload, 0);
        for (int c = 0; c < B_COLUMNS; c++)
            buf_u8(&payload, 0); /* as before */
    }
    buf_put(&out, p, n);
    buf_u32(&out, (uint32_t)payload.len);
    buf_u32(&out, format_sum32(payload.p, payload.len, segment));
    buf_put(&out, payload.p, payload.len);
    buf_put(&out, "torn", 4); /* the frame that was being written when it died */
    save("node-b/metrics.tail", out.p, out.len);
    buf_free(&out);
    buf_free(&payload);
    arena_free(&a);
}

static void make_b(void)
{
    const pid_t pid = fork();
    if (pid == 0) {
        b_rows(open_node("node-b", GOLDEN_START_B));
        _exit(0); /* as after kill -9 */
    }
    int status;
    if (pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0)
        exit(1);
    add_jump();
    restamp("node-b/metrics.fp", "golden-v1-node-b");
    restamp("node-b/metrics.tail", "golden-v1-node-b");
    save("node-b/node.json", node_b, sizeof node_b - 1);
}

static void make_b2(void)
{
    struct writer *w = open_node("node-b", GOLDEN_START_B);
    struct group g;
    struct err e;
    group_open(&g, "wide", NS_PER_S);
    const slot_id s = group_add(&g, M_GPU_CLOCK_SM, "gpu0");
    for (int i = 0; i < B2_ROWS; i++) {
        g.cells[s] = 1000 + i;
        group_commit(&g, writer_sink(w), us(golden_b2_us(i)));
    }
    log_one(w, MARK_SIGNAL, golden_b2_us(10), 9, "SIGKILL");
    group_close(&g);
    if (writer_close(w, &e))
        fail(&e);
    restamp("node-b/metrics-2.fp", "golden-v1-b-two!");
    save("node-b/node-2.json", node_b2, sizeof node_b2 - 1);
}

int main(int argc, char **argv)
{
    struct err e;
    if (argc != 2 || strlen(argv[1]) >= sizeof root) {
        fputs("usage: make_golden_v1 FOLDER\n", stderr);
        return 2;
    }
    snprintf(root, sizeof root, "%s", argv[1]);
    if (dir_make(root, &e))
        fail(&e);
    make_a();
    make_b();
    make_b2();
    save("run.json", run_json, sizeof run_json - 1);
    return 0;
}
