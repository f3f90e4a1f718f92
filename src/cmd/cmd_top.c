/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_top.c - a run while it runs, in a second terminal. One thread reads the run, the main thread
 * draws what was read last and answers keys, so that a long run does not delay them. */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "agent/lane.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/table.h"
#include "base/thread.h"
#include "cmd/check.h"
#include "cmd/cmd.h"
#include "cmd/screen.h"
#include "cmd/top_view.h"
#include "run/run_info.h"

enum { STACK = 8 << 20, COLUMNS_PLAIN = 80 };

#define INTERVAL_LEAST_NS (NS_PER_S / 2)
#define INTERVAL_MOST_NS  (60 * NS_PER_S)

/* ---- which run ---- */

/* The newest run that is being recorded, else the newest. */
static int top_find_run(const char *dir, const char *ref, char path[], struct err *e)
{
    struct arena a = {0};
    struct run_listed *runs;
    size_t n;
    if (ref)
        return run_find(dir, ref, path, e);
    int rc = run_list(runs_folder(dir), &a, &runs, &n, e);
    size_t i = 0;
    for (; rc == 0 && i < n; i++) {
        struct run_info info;
        struct err ignored;
        if (run_info_of(&info, &runs[i], &a, &ignored) == 0 && info.status == RUN_RUNNING)
            break;
    }
    if (rc == 0 && i < n)
        rc = path_join(path, e, "%s", runs[i].path);
    else if (rc == 0)
        rc = run_find(dir, "last", path, e);
    arena_free(&a);
    return rc;
}

/* The run that follows in the list, or the first one. */
static void top_next_run(const char *dir, char path[])
{
    struct arena a = {0};
    struct run_listed *runs;
    size_t n, i = 0;
    struct err e;
    if (run_list(runs_folder(dir), &a, &runs, &n, &e) == 0 && n > 0) {
        while (i < n && strcmp(runs[i].path, path) != 0)
            i++;
        (void)!path_join(path, &e, "%s", runs[i + 1 < n ? i + 1 : 0].path);
    }
    arena_free(&a);
}

/* ---- the thread that reads ---- */

/* A view, or why there is none. */
struct top_result {
    struct arena arena;
    struct top_view view;
    int rc; /* not 0: there is no view */
    struct err e;
};

struct top_reader {
    struct top_source *source;
    pthread_t thread;
    int wake; /* an eventfd: there is a result */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* Under the lock. */
    char path[PATH_LEN];
    size_t node;
    int64_t interval_ns;
    bool paused, stop, now;
    struct top_result *result; /* NULL: it was taken */
};

static void top_result_free(struct top_result *x)
{
    if (x)
        arena_free(&x->arena);
    free(x);
}

static mono_ns top_reader_due(const struct top_reader *t)
{
    if (t->now)
        return (mono_ns){0};
    return t->paused ? (mono_ns){SCHEDULE_NEVER} : top_source_next(t->source);
}

/* False: it is time to stop. */
static bool top_reader_wait(struct top_reader *t, struct top_want *w, char path[])
{
    pthread_mutex_lock(&t->lock);
    while (!t->stop && clock_mono().ns < top_reader_due(t).ns)
        (void)thread_wait(&t->changed, &t->lock, top_reader_due(t));
    t->now = false;
    memcpy(path, t->path, PATH_LEN);
    *w = (struct top_want){path, t->node, t->interval_ns};
    const bool go_on = !t->stop;
    pthread_mutex_unlock(&t->lock);
    return go_on;
}

static void top_reader_give(struct top_reader *t, struct top_result *x)
{
    const uint64_t one = 1;
    pthread_mutex_lock(&t->lock);
    struct top_result *old = t->result;
    t->result = x;
    pthread_mutex_unlock(&t->lock);
    top_result_free(old);
    (void)!write(t->wake, &one, sizeof one);
}

static struct top_result *top_result_read(struct top_source *s, const struct top_want *w)
{
    struct top_result *x = xcalloc(1, sizeof *x);
    x->rc = top_source_read(s, w, &x->arena, &x->view, &x->e);
    return x;
}

static void *top_reader_main(void *arg)
{
    struct top_reader *t = arg;
    struct top_want w;
    char path[PATH_LEN];
    while (top_reader_wait(t, &w, path))
        top_reader_give(t, top_result_read(t->source, &w));
    return NULL;
}

static int top_reader_start(struct top_reader *t, struct err *e)
{
    t->now = true;
    t->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (t->wake < 0)
        return err_sys(e, "cannot make an eventfd");
    pthread_mutex_init(&t->lock, NULL);
    thread_cond_init(&t->changed);
    const int rc = thread_start(&t->thread, STACK, top_reader_main, t, "fp-top", e);
    if (rc)
        close(t->wake);
    return rc;
}

static void top_reader_stop(struct top_reader *t)
{
    thread_set_flag(&t->stop, &t->lock, &t->changed);
    pthread_join(t->thread, NULL);
    top_result_free(t->result);
    close(t->wake);
}

/* ---- what is shown ---- */

struct top {
    struct screen screen;
    struct top_reader reader;
    struct top_choice choice;
    struct top_result *shown; /* NULL: nothing was read yet */
    struct err problem;       /* why the last reading failed; code 0: it did not */
    const char *dir;
    bool color;
};

/* False: the terminal has closed. */
static bool top_draw(struct top *t)
{
    struct arena a = {0};
    const char **lines;
    char clock[16];
    struct top_choice choice = t->choice;
    struct top_view view = {.name = "reading the run", .command = "", .node = {.gpu_name = ""}};
    const time_t now = time(NULL);
    struct tm tm;
    if (t->shown)
        view = t->shown->view;
    if (t->problem.code)
        view.note = t->problem.msg;
    if (localtime_r(&now, &tm) && strftime(clock, sizeof clock, "%H:%M:%S", &tm))
        choice.clock = clock;
    const struct top_page page = {t->screen.columns, t->screen.rows, t->color};
    const size_t n = t->shown || choice.help ? top_layout(&view, &choice, &page, &a, &lines) : 0;
    const char *begin[] = {t->problem.code ? text_safe(&a, t->problem.msg) : "reading the run ..."};
    const bool drawn = n ? screen_draw(&t->screen, lines, n) : screen_draw(&t->screen, begin, 1);
    arena_free(&a);
    return drawn;
}

static void top_take_result(struct top *t)
{
    uint64_t count;
    (void)!read(t->reader.wake, &count, sizeof count);
    pthread_mutex_lock(&t->reader.lock);
    struct top_result *x = t->reader.result;
    t->reader.result = NULL;
    pthread_mutex_unlock(&t->reader.lock);
    if (!x)
        return;
    t->problem = x->e;
    if (x->rc) { /* the last view stays */
        top_result_free(x);
        return;
    }
    top_result_free(t->shown);
    t->shown = x;
}

/* Takes over what the user chose; `now`: it is read at once. */
static void top_wake_reader(struct top *t, bool now)
{
    struct top_reader *r = &t->reader;
    pthread_mutex_lock(&r->lock);
    r->interval_ns = t->choice.interval_ns;
    r->paused = t->choice.paused;
    r->now |= now;
    pthread_mutex_unlock(&r->lock);
    pthread_cond_signal(&r->changed);
}

/* ---- keys ---- */

static void top_set_interval(struct top *t, int64_t ns)
{
    t->choice.interval_ns = MIN_OF(MAX_OF(ns, INTERVAL_LEAST_NS), INTERVAL_MOST_NS);
    top_wake_reader(t, true);
}

static void top_scale_interval(struct top *t, int by)
{
    top_set_interval(t, by > 0 ? t->choice.interval_ns * 2 : t->choice.interval_ns / 2);
}

static void top_show_help(struct top *t, int leave)
{
    t->choice.help = !leave && !t->choice.help;
}

static void top_pause(struct top *t, int unused)
{
    (void)unused;
    t->choice.paused = !t->choice.paused;
    top_wake_reader(t, !t->choice.paused);
}

static void top_select(struct top *t, int by)
{
    const size_t n = t->shown ? t->shown->view.n_findings : 0;
    size_t *at = &t->choice.selected;
    *at = MIN_OF(*at, n ? n - 1 : 0);
    if (by < 0)
        *at -= MIN_OF(*at, (size_t) - (int64_t)by);
    else
        *at = MIN_OF(*at + (size_t)by, n ? n - 1 : 0);
}

static void top_next_node(struct top *t, int by)
{
    const size_t count = t->shown ? t->shown->view.node.count : 0;
    if (count < 2)
        return;
    pthread_mutex_lock(&t->reader.lock);
    t->reader.node = (t->reader.node + (by < 0 ? count - 1 : 1)) % count;
    pthread_mutex_unlock(&t->reader.lock);
    top_wake_reader(t, true);
}

static void top_change_run(struct top *t, int unused)
{
    char path[PATH_LEN];
    (void)unused;
    pthread_mutex_lock(&t->reader.lock);
    memcpy(path, t->reader.path, sizeof path);
    pthread_mutex_unlock(&t->reader.lock);
    top_next_run(t->dir, path);
    pthread_mutex_lock(&t->reader.lock);
    memcpy(t->reader.path, path, sizeof path);
    t->reader.node = 0;
    pthread_mutex_unlock(&t->reader.lock);
    t->choice.selected = 0;
    top_wake_reader(t, true);
}

enum { PAGE = 5 };

static const struct {
    int key;
    void (*act)(struct top *t, int by);
    int by;
} top_actions[] = {
    {'h', top_show_help, 0},
    {'?', top_show_help, 0},
    {'\033', top_show_help, 1},
    {'j', top_select, 1},
    {KEY_DOWN, top_select, 1},
    {'k', top_select, -1},
    {KEY_UP, top_select, -1},
    {KEY_PAGE_DOWN, top_select, PAGE},
    {KEY_PAGE_UP, top_select, -PAGE},
    {KEY_HOME, top_select, INT_MIN},
    {'g', top_select, INT_MIN},
    {KEY_END, top_select, INT_MAX},
    {'G', top_select, INT_MAX},
    {' ', top_pause, 0},
    {'p', top_pause, 0},
    {'+', top_scale_interval, 1},
    {'=', top_scale_interval, 1},
    {'-', top_scale_interval, -1},
    {'n', top_next_node, 1},
    {KEY_RIGHT, top_next_node, 1},
    {KEY_LEFT, top_next_node, -1},
    {'r', top_change_run, 0},
};

/* False: quit. */
static bool top_on_key(struct top *t, int key)
{
    if (key >= '1' && key <= '9')
        top_set_interval(t, (key - '0') * NS_PER_S);
    for (size_t i = 0; i < COUNT_OF(top_actions); i++)
        if (top_actions[i].key == key)
            top_actions[i].act(t, top_actions[i].by);
    return key != 'q' && key != 'Q';
}

/* ---- the loop ---- */

/* Returns the signal that ended it; 0: the user quit, or the terminal has closed. */
static int top_loop(struct top *t)
{
    while (top_draw(t)) {
        const struct screen_input in =
            screen_wait(&t->screen, t->reader.wake, mono_add(clock_mono(), INTERVAL_MOST_NS));
        if (in.event == SCREEN_ENDED)
            return in.signal == SIGINT ? 0 : in.signal;
        if (in.event == SCREEN_KEY && !top_on_key(t, in.key))
            break;
        if (in.event == SCREEN_WOKEN)
            top_take_result(t);
    }
    return 0;
}

static int top_watch(struct top *t, struct err *e)
{
    int rc = screen_open(&t->screen, e);
    if (rc)
        return rc;
    rc = top_reader_start(&t->reader, e);
    const int sig = rc == 0 ? top_loop(t) : 0;
    screen_close(&t->screen);
    if (rc == 0)
        top_reader_stop(&t->reader);
    top_result_free(t->shown);
    if (sig) {
        (void)signal(sig, SIG_DFL);
        (void)raise(sig);
    }
    return rc;
}

/* ---- one frame ---- */

static int top_print(const struct top *t, struct err *e)
{
    struct arena a = {0};
    struct top_view view;
    const char **lines;
    const struct top_want want = {t->reader.path, 0, t->choice.interval_ns};
    const size_t columns = term_width(stdout);
    const struct top_page page = {columns ? columns : COLUMNS_PLAIN, 0, t->color};
    const int rc = top_source_read(t->reader.source, &want, &a, &view, e);
    const size_t n = rc == 0 ? top_layout(&view, &t->choice, &page, &a, &lines) : 0;
    for (size_t i = 0; i < n; i++)
        puts(lines[i]);
    arena_free(&a);
    return rc;
}

/* ---- the command ---- */

enum { O_INTERVAL, O_ONCE, O_DIR };

static const struct opt options[] = {
    [O_INTERVAL] = {"interval", 'i', "TIME", OPT_DURATION, .lo = INTERVAL_LEAST_NS,
                    .hi = INTERVAL_MOST_NS, .otherwise = "1s",
                    .help = "Time between two readings of the run, and the time that CPU, memory "
                            "and GPU are the means of."},
    [O_ONCE] = {"once", 0, NULL, OPT_FLAG, .help = "Print one frame as text and end."},
    [O_DIR] = {OPT_ROW_DIR},
    {0},
};

static int cmd_top_run(const struct cmd_args *args, struct err *e)
{
    struct check *check;
    struct top *t = arena_new(args->arena, struct top);
    t->dir = args->opt[O_DIR].text;
    t->color = term_color(stdout);
    t->choice.interval_ns = t->reader.interval_ns = args->opt[O_INTERVAL].number;
    TRY(check_open(&check, args, e));
    TRY(check_choose_pricing(check, NULL, NULL, e));
    TRY(top_find_run(t->dir, args->arg[0], t->reader.path, e));
    t->reader.source = top_source_open(check);
    const int rc =
        args->opt[O_ONCE].given || !screen_can_open() ? top_print(t, e) : top_watch(t, e);
    top_source_close(t->reader.source);
    return rc;
}

const struct cmd cmd_top = {
    .name = "top",
    .summary = "watch a run in the terminal while it runs",
    .args = CMD_ARGS({"RUN", ARG_RUN, .optional = true,
                      .help = "The run: its folder, the start of its name or ID, or 'last' "
                              "(default: the newest run that is running, otherwise the last)."}),
    .options = options,
    .help = CMD_HELP("Shows a run while it runs, for a second terminal: cores, memory, GPUs, steps "
                     "per second, what an iteration is spent on, and the findings with the advice "
                     "of the first one. Numbers of the whole run are those of 'footplate show' and "
                     "'footplate check'.",
                     "Keys: q quits, h shows all keys, j and k select a finding, space pauses, + "
                     "and - or 1 to 9 change the interval, n shows the next node, r the next run.",
                     "It only reads the folder of the run, and takes at most 1 % of a core: what "
                     "takes longer to read is read less often. If stdout is not a terminal, one "
                     "frame is printed as text. Rules written in Python are left to 'footplate "
                     "check'."),
    .examples = CMD_EXAMPLES({"footplate top", "Watch the run that is running."},
                             {"footplate top last --once", "Print the state of the last run."}),
    .run = cmd_top_run,
};
