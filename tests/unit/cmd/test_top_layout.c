/* SPDX-License-Identifier: Apache-2.0 */
/* test_top_layout.c - a frame of `footplate top` at many sizes: nothing is wider than the screen,
 * nothing important is left out, and what was not measured is not zero. */
#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/table.h"
#include "cmd/top_view.h"
#include "test.h"

enum { CORES_MOST = 256, GPUS_MOST = 8, FINDINGS = 5 };

static double cores[CORES_MOST];
static struct top_gpu gpus[GPUS_MOST];
static char gpu_names[GPUS_MOST][8];
static struct top_finding findings[FINDINGS];
static struct arena arena;
static const char **lines;
static size_t n_lines;

static struct top_view small_view(void)
{
    for (size_t i = 0; i < CORES_MOST; i++)
        cores[i] = (double)(i % 101);
    struct top_view v = {
        .name = "demo",
        .command = "python train.py",
        .status = RUN_RUNNING,
        .duration_s = 75,
        .node = {.id = "host",
                 .count = 1,
                 .cpu = 50,
                 .iowait = 0,
                 .cores = cores,
                 .n_cores = 4,
                 .mem = 25,
                 .mem_used = 4e9,
                 .mem_total = 16e9,
                 .job_cpu = 150,
                 .job_rss = 1e9,
                 .job_processes = 1,
                 .job_threads = 12,
                 .gpu_name = "",
                 .gpu_why = "no GPU found"},
        .steps = {.number = 1234,
                  .rate = 12.5,
                  .since_s = 0.1,
                  .ranks = 1,
                  .p50_s = 0.08,
                  .p95_s = 0.1,
                  .mean_s = 0.1,
                  .samples_s = 400,
                  .n_clocks = 1,
                  .clocks = {{.label = "host time",
                              .n = 3,
                              .parts = {{"data", 0.05}, {"forward", 0.03}, {"other", 0.02}}}}},
        .judged = true,
        .none_words = "No issues found",
        .passed = 7,
        .skipped = 3,
    };
    for (v.steps.n_rates = 0; v.steps.n_rates < 60; v.steps.n_rates++)
        v.steps.rates[v.steps.n_rates] = (double)v.steps.n_rates;
    return v;
}

static void give_gpus(struct top_view *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        snprintf(gpu_names[i], sizeof gpu_names[i], "gpu%zu", i);
        gpus[i] = (struct top_gpu){.entity = gpu_names[i],
                                   .busy = 83,
                                   .sm = 71.4,
                                   .tensor = 20,
                                   .mem_used = 70e9,
                                   .mem_total = 150e9,
                                   .power = 650,
                                   .power_limit = 700,
                                   .temp = 66,
                                   .clock_sm = 1605,
                                   .clock_mem = 3201};
    }
    v->node.gpus = gpus;
    v->node.n_gpus = n;
    v->node.gpu_name = "NVIDIA H200";
}

static void give_findings(struct top_view *v, size_t n)
{
    static const char *const titles[] = {"First", "Second", "Third", "Fourth", "Fifth"};
    for (size_t i = 0; i < n; i++)
        findings[i] = (struct top_finding){
            .severity = i ? SEVERITY_INFO : SEVERITY_CRITICAL,
            .title = titles[i],
            .size = "13.0 s lost, 70.8 % of the training loop",
            .message = "loader wait was 71 % of the iteration, 57 ms of 80 ms; num_workers is 2.",
            .advice = i ? "Do something else." : "Set num_workers to 14.",
        };
    v->findings = findings;
    v->n_findings = n;
}

/* The frame, in one text. */
static const char *frame(const struct top_view *v, struct top_choice c, struct top_page p)
{
    struct buf b = {0};
    if (!c.interval_ns)
        c.interval_ns = NS_PER_S;
    n_lines = top_layout(v, &c, &p, &arena, &lines);
    for (size_t i = 0; i < n_lines; i++)
        buf_printf(&b, "%s\n", lines[i]);
    const char *text = arena_strndup(&arena, (const char *)b.p, b.len);
    buf_free(&b);
    return text;
}

static const char *plain(const struct top_view *v, size_t columns, size_t rows)
{
    return frame(v, (struct top_choice){.clock = "10:11:12"},
                 (struct top_page){columns, rows, false});
}

static size_t widest(void)
{
    size_t most = 0;
    for (size_t i = 0; i < n_lines; i++)
        most = MAX_OF(most, text_columns(lines[i]));
    return most;
}

static bool has(const char *text, const char *part)
{
    if (strstr(text, part))
        return true;
    fprintf(stderr, "no '%s' in\n%s", part, text);
    return false;
}

TEST(planned_steps_are_shown_with_the_time_that_is_left)
{
    struct top_view v = small_view();
    v.steps.planned = 20000;
    v.steps.left_s = 1500;
    CHECK(has(plain(&v, 120, 40), "step 1234 of 20 000, 12.5 steps/s, 25 min 00 s left"));
    v.status = RUN_FINISHED;
    CHECK(!has(plain(&v, 120, 40), " left"));
}

TEST(every_size_is_filled_and_no_line_is_too_wide)
{
    static const size_t sizes[][2] = {{80, 24}, {120, 40}, {250, 70}, {100, 30}, {40, 12},
                                      {20, 5},  {3, 2},    {1, 1},    {500, 200}};
    struct top_view v = small_view();
    give_gpus(&v, 8);
    give_findings(&v, FINDINGS);
    v.node.n_cores = 96;
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        (void)plain(&v, sizes[i][0], sizes[i][1]);
        CHECK(n_lines == sizes[i][1]);
        CHECK(widest() <= sizes[i][0]);
    }
}

TEST(a_small_screen_has_cores_gpus_steps_shares_and_the_first_advice)
{
    struct top_view v = small_view();
    give_findings(&v, 2);
    const char *t = plain(&v, 80, 24);
    CHECK(has(t, "demo  running for 75.0 s"));
    CHECK(has(t, "10:11:12  every 1 s\n"));
    CHECK(has(t, "50.0 %] 4 cores"));
    CHECK(has(t, "25.0 %] 3.73 GiB of 14.9 GiB"));
    CHECK(has(t, "1.50 cores busy, memory 954 MiB, 1 process, 12 threads"));
    CHECK(has(t, "GPU        no GPU found"));
    CHECK(has(t, "step 1234, 12.5 steps/s"));
    CHECK(has(t, "█  last "));
    CHECK(has(t, "p50 80 ms, p95 100 ms, 400 samples/s"));
    CHECK(has(t, "  data          [|||"));
    CHECK(has(t, "50.0 %]     50 ms"));
    CHECK(has(t, "> critical First: 13.0 s lost"));
    CHECK(has(t, "fix  Set num_workers to 14."));
    CHECK(has(t, "  info     Second"));
    CHECK(!strstr(t, "Do something else"));
    CHECK(has(t, "q quit  h help"));
}

TEST(eight_gpus_and_96_cores_fit_80_by_24_with_the_first_finding)
{
    struct top_view v = small_view();
    v.node.n_cores = 96;
    give_gpus(&v, 8);
    give_findings(&v, 2);
    const char *t = plain(&v, 80, 24);
    CHECK(has(t, "0-55       ▁▁▁▁"));
    CHECK(has(t, "56-95 "));
    CHECK(has(t, "gpu7  ["));
    CHECK(has(t, "71.4 %  65.2 GiB/140 GiB 650/700 W 66 °C 1605 MHz\n"));
    CHECK(has(t, "host time: data 50.0 %, forward 30.0 %"));
    CHECK(has(t, "> critical First"));
    CHECK(has(t, "fix  Set num_workers to 14."));
}

TEST(ninety_six_cores_are_bars_on_a_large_screen)
{
    struct top_view v = small_view();
    v.node.n_cores = 96;
    const char *t = plain(&v, 250, 70);
    CHECK(has(t, "95[|"));
    CHECK(!strstr(t, "56-95"));
}

TEST(what_was_not_measured_is_not_zero)
{
    struct top_view v = small_view();
    give_gpus(&v, 1);
    v.node.cpu = v.node.mem = v.node.job_cpu = v.node.job_rss = cores[1] = NAN;
    v.node.cpu_why = "no /proc/stat";
    v.node.mem_why = "";
    gpus[0].sm = gpus[0].power = gpus[0].temp = NAN;
    v.steps.rate = NAN;
    const char *t = plain(&v, 80, 40);
    CHECK(has(t, "CPU        not measured: no /proc/stat\n"));
    CHECK(has(t, "memory     not measured\n"));
    CHECK(has(t, "job        not measured\n"));
    CHECK(has(t, "       -] "));
    CHECK(has(t, "83.0 %]       -  65.2 GiB/140 GiB         -     - 1605 MHz\n"));
    CHECK(has(t, "no rate yet"));
    CHECK(!strstr(t, " 0.0 %]       -"));
}

TEST(a_run_without_steps_says_why_and_one_without_rules_that_none_applied)
{
    struct top_view v = small_view();
    v.steps = (struct top_steps){.none = "no steps were detected: no process reported events."};
    v.passed = 0;
    const char *t = plain(&v, 80, 24);
    CHECK(has(t, "steps      no steps were detected: no process reported events.\n"));
    CHECK(has(t, "no rule applied, 3 skipped"));
    v.judged = false;
    CHECK(has(plain(&v, 80, 24), "the rules have not been evaluated yet"));
}

TEST(gpu_time_comes_before_host_time)
{
    struct top_view v = small_view();
    v.steps.n_clocks = 2;
    v.steps.clocks[1] = v.steps.clocks[0];
    v.steps.clocks[0].label = "GPU time, 3 of 9 steps timed";
    const char *t = plain(&v, 80, 40), *gpu = strstr(t, "GPU time, 3 of 9 steps timed\n");
    CHECK(gpu);
    CHECK(gpu && strstr(gpu, "host time\n"));
}

TEST(a_step_that_takes_much_too_long_is_said)
{
    struct top_view v = small_view();
    v.steps.since_s = 90;
    CHECK(has(plain(&v, 80, 24), "step 1234, began 90.0 s ago"));
}

TEST(long_names_are_cut_and_control_characters_do_not_reach_the_terminal)
{
    char name[600];
    memset(name, 'n', sizeof name);
    name[0] = '\033';
    name[sizeof name - 1] = '\0';
    struct top_view v = small_view();
    v.name = v.command = v.note = v.node.gpu_why = v.node.id = name;
    v.node.count = 2;
    give_findings(&v, 1);
    findings[0].title = findings[0].size = findings[0].message = findings[0].advice = name;
    const char *t = plain(&v, 80, 24);
    CHECK(widest() == 80);
    CHECK(!strchr(t, '\033'));
    CHECK(has(t, "?nnnn"));
    CHECK(has(t, "n…"));
    CHECK(has(t, "10:11:12  every 1 s\n"));
}

TEST(colour_changes_no_character)
{
    struct top_view v = small_view();
    give_gpus(&v, 2);
    give_findings(&v, 2);
    const char *without = plain(&v, 100, 40);
    const char *with =
        frame(&v, (struct top_choice){.clock = "10:11:12"}, (struct top_page){100, 40, true});
    CHECK(strchr(with, '\033') && !strchr(without, '\033'));
    struct buf b = {0};
    for (const char *p = with; *p; p++)
        if (*p == '\033')
            p = strchr(p, 'm');
        else
            buf_u8(&b, (uint8_t)*p);
    CHECK_STR(arena_strndup(&arena, (const char *)b.p, b.len), without);
    buf_free(&b);
}

TEST(the_selected_finding_is_shown_in_full_and_scrolls_into_view)
{
    struct top_view v = small_view();
    give_findings(&v, FINDINGS);
    const struct top_page page = {80, 20, false};
    const char *t = frame(&v, (struct top_choice){.selected = 4}, page);
    CHECK(has(t, "> info     Fifth"));
    CHECK(has(t, "Do something else."));
    CHECK(!strstr(t, "Set num_workers to 14"));
    CHECK(has(frame(&v, (struct top_choice){.selected = 99}, page), "> info     Fifth"));
}

TEST(help_and_pause_are_visible)
{
    struct top_view v = small_view();
    const struct top_page page = {80, 24, false};
    CHECK(has(frame(&v, (struct top_choice){.help = true}, page), "stop and resume reading"));
    CHECK(
        has(frame(&v, (struct top_choice){.paused = true, .clock = "1:00"}, page), "PAUSED  1:00"));
}

TEST(without_a_screen_all_lines_are_there_and_no_keys)
{
    struct top_view v = small_view();
    v.node.n_cores = 96;
    give_gpus(&v, 8);
    give_findings(&v, FINDINGS);
    const char *t = frame(&v, (struct top_choice){0}, (struct top_page){80, 0, false});
    CHECK(has(t, "Fifth"));
    CHECK(!strstr(t, "q quit"));
    CHECK(n_lines > 30);
}

TEST(several_nodes_are_named)
{
    struct top_view v = small_view();
    v.node.count = 4;
    v.node.number = 1;
    const char *t = plain(&v, 100, 24);
    CHECK(has(t, "node host, 2 of 4"));
    CHECK(has(t, "n node"));
}
