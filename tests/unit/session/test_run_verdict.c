/* SPDX-License-Identifier: Apache-2.0 */
/* The lines and files at the end of a recording. Its process prints the lines, so they go to a
 * file. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "query/runkit.h"
#include "session/session.h"
#include "test.h"
#include "userrules/user_rules.h"

static int lines_fd;

static void print_line(void *ctx, const char *line)
{
    (void)ctx;
    (void)!write(lines_fd, line, strlen(line));
    (void)!write(lines_fd, "\n", 1);
}

static const char *make_run(void)
{
    const char *path = kit_run("r", "r", "r", KIT_START);
    struct buf payload = {0};
    kit_group(&payload, 0, "g", NS_PER_S, 0);
    kit_slot(&payload, 0, 0, "cpu.util", "%", "total", 1);
    for (int i = 0; i < 10; i++) {
        kit_row(&payload, 0, 0);
        kit_cell(&payload, i ? 0 : 50);
    }
    kit_node(path, "a", 1,
             "{\"id\": \"a\", \"status\": \"finished\", \"interval_ns\": 1000000000}");
    kit_metrics(path, "a", &payload);
    buf_free(&payload);
    return path;
}

/* Evaluates the run at `path`; returns what was printed. */
static const char *verdict_of(const char *path, bool quiet, struct arena *a)
{
    char file[PATH_LEN], *text;
    struct err e;
    size_t n;
    struct user_rule_set *user = arena_new(a, struct user_rule_set);
    struct run_verdict_ask ask = {
        .path = path, .own = user, .quiet = quiet, .report = true, .print = print_line};
    snprintf(file, sizeof file, "%s/lines", test_tmpdir());
    lines_fd = open(file, O_CREAT | O_TRUNC | O_RDWR, 0600);
    rule_params_init(&ask.params, a);
    run_verdict(&ask);
    close(lines_fd);
    OK(file_read(file, 1 << 20, a, &text, &n, &e));
    return text;
}

static bool has_file(const char *run, const char *name)
{
    char path[PATH_LEN];
    snprintf(path, sizeof path, "%s/%s", run, name);
    return access(path, R_OK) == 0;
}

TEST(a_run_without_steps_says_that_no_rules_ran_and_has_its_files)
{
    struct arena a = {0};
    const char *path = make_run();
    const char *lines = verdict_of(path, false, &a);
    CHECK(strstr(lines, "No rules ran: no training steps were detected"));
    CHECK(strstr(lines, "report: "));
    CHECK(has_file(path, "findings.json"));
    CHECK(has_file(path, "report.html") && has_file(path, "report.json"));
    arena_free(&a);
}

TEST(quiet_prints_nothing_and_still_writes_the_files)
{
    struct arena a = {0};
    const char *path = make_run();
    CHECK_STR(verdict_of(path, true, &a), "");
    CHECK(has_file(path, "findings.json"));
    arena_free(&a);
}

TEST(a_run_that_cannot_be_opened_is_reported)
{
    struct arena a = {0};
    CHECK(strstr(verdict_of("/nonexistent", false, &a), "could not evaluate the rules: "));
    arena_free(&a);
}
