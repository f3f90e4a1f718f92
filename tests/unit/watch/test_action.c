/* SPDX-License-Identifier: Apache-2.0 */
/* test_action.c - actions as users write them, for whom they are, and what performs them. */
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "agent/http.h"
#include "base/mem.h"
#include "net/curl.h"
#include "rules/rule.h"
#include "test.h"
#include "watch/action.h"

/* ---- as written ---- */

struct made {
    struct arena arena;
    struct settings s;
    struct action a;
    struct err e;
    int rc;
};

/* The action of one text, as --action takes it. */
static void make(struct made *m, const char *text)
{
    const struct origin o = {FROM_FILE, "test"};
    struct err e;
    arena_free(&m->arena);
    settings_init(&m->s, &m->arena);
    OK(settings_apply(&m->s, SETTING_ACTIONS, text, &o, &e));
    CHECK_INT(m->s.n_actions, 1);
    m->rc = action_make(&m->a, &m->s, &m->s.actions[0], &m->arena, &m->e);
    if (m->rc == 0)
        m->e.msg[0] = 0;
}

TEST(what_an_action_leaves_out_has_a_default)
{
    struct made m = {0};
    make(&m, "do: webhook, url: 'http://127.0.0.1:8080/hook?token=abc'");
    CHECK_INT(m.rc, 0);
    CHECK(m.a.kind == &action_webhook && m.a.on_issue && !m.a.on_clear);
    CHECK_INT(m.a.n_rules, 0);
    CHECK_INT(m.a.least, SEVERITY_INFO);
    CHECK_INT(m.a.most, 20);
    CHECK_INT(m.a.per_ns, 3600 * NS_PER_S);
    CHECK_INT(m.a.timeout_ns, 10 * NS_PER_S);
    CHECK_STR(m.a.label, "webhook 127.0.0.1:8080");
    arena_free(&m.arena);
}

TEST(all_of_an_action_can_be_said)
{
    struct made m = {0};
    make(&m, "{do: exec, on: [issue, clear], rules: [StepOutlier, Dataloader], severity: warning, "
             "limit: 3/min, timeout: 2s, command: [./tell, \"a b\"]}");
    CHECK_STR(m.e.msg, "");
    CHECK(m.a.on_issue && m.a.on_clear);
    CHECK_INT(m.a.n_rules, 2);
    CHECK_STR(m.a.rules[1], "Dataloader");
    CHECK_INT(m.a.least, SEVERITY_WARNING);
    CHECK_INT(m.a.most, 3);
    CHECK_INT(m.a.per_ns, 60 * NS_PER_S);
    CHECK_INT(m.a.timeout_ns, 2 * NS_PER_S);
    CHECK_STR(m.a.command[1], "a b");
    CHECK(m.a.command[2] == NULL);
    make(&m, "do: exec, command: mail -s x me");
    CHECK_STR(m.a.command[0], "sh");
    CHECK_STR(m.a.command[2], "mail -s x me");
    CHECK_STR(m.a.label, "exec mail");
    make(&m, "do: stop, rules: Own");
    CHECK(m.rc != 0);
    m.s.rule_files[m.s.n_rule_files++] = "rules.py"; /* it may be in there */
    CHECK_INT(action_make(&m.a, &m.s, &m.s.actions[0], &m.arena, &m.e), 0);
    make(&m, "do: stop, grace: 30s");
    CHECK_INT(m.a.grace_ns, 30 * NS_PER_S);
    arena_free(&m.arena);
}

TEST(a_wrong_action_is_refused_with_a_sentence)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"on: issue", "missing 'do'; it is one of stop, webhook, email, exec"},
        {"do: wobhook", "unknown action 'wobhook' (did you mean 'webhook'?)"},
        {"do: stop, urll: x", "stop has no key 'urll'"},
        {"do: webhook, urll: x", "webhook has no key 'urll' (did you mean 'url'?)"},
        {"do: webhook", "webhook needs 'url'"},
        {"do: webhook, url: 'ftp://x'", "'url': a URL must start with http:// or https://"},
        {"do: webhook, url: 'http://me:pw@x/'", "'url': a URL with a user name"},
        {"do: webhook, url: 'http://x:0/'", "'url': not a host name (example: example.org:80)"},
        {"do: webhook, url: a, url-env: B", "both 'url' and 'url-env' are set"},
        {"do: webhook, url-env: NOT_THERE", "environment variable 'NOT_THERE' is not set"},
        {"do: stop, on: clear", "'on: clear' cannot be used with stop"},
        {"do: stop, on: maybe", "'on': 'maybe' is neither issue nor clear"},
        {"do: stop, rules: StepOutlyer", "unknown rule 'StepOutlyer'; did you mean StepOutlier"},
        {"do: stop, severity: dire", "'severity': 'dire' is not one of info, warning, critical"},
        {"do: stop, limit: often", "'limit': 'often' is not a rate (examples: 10/h"},
        {"do: stop, limit: 0/h", "'limit': '0/h' is not a rate (examples: 10/h"},
        {"do: stop, timeout: 1h", "'timeout': '1h' is not between"},
        {"do: [stop, exec]", "'do' takes one value, not a list"},
        {"do: exec", "exec needs 'command'"},
        {"do: email, from: a@b, to: c@d", "email needs 'server'"},
        {"do: email, server: x", "email needs 'from' and 'to'"},
        {"do: email, server: x, from: me, to: c@d", "'from': 'me' is not an email address"},
        {"do: email, server: x, from: a@b, to: ['c@d', 'x>@y']",
         "'to': 'x>@y' is not an email address"},
        {"do: email, server: x, from: a@b, to: c@d, user: me",
         "'user' and 'password' must be set together"},
        {"do: email, server: x, from: a@b, to: c@d, tls: maybe", "'tls': 'maybe' is not one of"},
    };
    struct made m = {0};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        make(&m, rows[i].text);
        CHECK_INT(m.rc, ERR_USAGE);
        if (strncmp(m.e.msg, rows[i].says, strlen(rows[i].says)) != 0 &&
            !strstr(m.e.msg, rows[i].says))
            test_fail(__FILE__, __LINE__, "%s: %s", rows[i].text, m.e.msg);
    }
    arena_free(&m.arena);
}

TEST(secrets_come_from_the_environment_and_stand_in_no_label)
{
    struct made m = {0};
    setenv("HOOK_URL", "http://hooks.example.org/T0/s3cret", 1);
    setenv("SMTP_PASSWORD", "s3cret", 1);
    make(&m, "do: webhook, url-env: HOOK_URL");
    CHECK_STR(m.a.url, "http://hooks.example.org/T0/s3cret");
    CHECK_STR(m.a.label, "webhook hooks.example.org:80");
    make(&m, "do: email, server: 'mx', from: a@b, to: c@d, user: u, password-env: SMTP_PASSWORD, "
             "tls: 'off'");
    CHECK_STR(m.e.msg, "");
    CHECK_STR(m.a.password, "s3cret");
    CHECK_STR(m.a.label, "email via mx:25");
    struct buf b = {0};
    settings_table[SETTING_ACTIONS].print(&m.s, SETTING_ACTIONS, &b);
    buf_u8(&b, 0);
    CHECK_STR((const char *)b.p, "email");
    buf_free(&b);
    arena_free(&m.arena);
}

/* ---- for whom ---- */

TEST(an_action_is_for_changes_that_cross_its_severity)
{
    static const struct {
        enum rule_state before;
        enum severity severity_before;
        enum rule_state now;
        enum severity severity;
        bool is_for, clear;
    } rows[] = {
        {RULE_NOT_EVALUATED, 0, RULE_ISSUE, SEVERITY_WARNING, true, false},
        {RULE_CLEAR, 0, RULE_ISSUE, SEVERITY_CRITICAL, true, false},
        {RULE_CLEAR, 0, RULE_ISSUE, SEVERITY_INFO, false, false},
        {RULE_ISSUE, SEVERITY_INFO, RULE_ISSUE, SEVERITY_WARNING, true, false},
        {RULE_ISSUE, SEVERITY_WARNING, RULE_ISSUE, SEVERITY_CRITICAL, false, false},
        {RULE_ISSUE, SEVERITY_WARNING, RULE_ISSUE, SEVERITY_INFO, true, true},
        {RULE_ISSUE, SEVERITY_CRITICAL, RULE_CLEAR, 0, true, true},
        {RULE_ISSUE, SEVERITY_INFO, RULE_CLEAR, 0, false, true},
        {RULE_NOT_EVALUATED, 0, RULE_CLEAR, 0, false, false},
    };
    const char *names[] = {"StepOutlier"};
    struct action a = {.kind = &action_exec,
                       .on_issue = true,
                       .on_clear = true,
                       .least = SEVERITY_WARNING,
                       .rules = names,
                       .n_rules = 1};
    struct verdict v = {.rule = &rule_step_outlier};
    bool clear;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        v.state = rows[i].now;
        v.severity = rows[i].severity;
        CHECK_INT(action_is_for(&a, &v, rows[i].before, rows[i].severity_before, &clear),
                  rows[i].is_for);
        CHECK(!rows[i].is_for || clear == rows[i].clear);
    }
    v = (struct verdict){&rule_dataloader, RULE_ISSUE, SEVERITY_CRITICAL};
    CHECK(!action_is_for(&a, &v, RULE_CLEAR, 0, &clear));
    a.on_issue = false;
    v.rule = &rule_step_outlier;
    CHECK(!action_is_for(&a, &v, RULE_CLEAR, 0, &clear));
}

/* ---- the thread ---- */

/* A kind that only counts, and waits when it is told to. */
static _Atomic int performed, waiting_ms;

static int count(const struct action *a, const struct action_news *n, const struct action_means *m,
                 struct err *e)
{
    (void)a;
    (void)n;
    (void)m;
    usleep((useconds_t)waiting_ms * 1000);
    return performed++ < 0 ? err_set(e, ERR_SYS, "no") : 0;
}

static const struct action_kind counting = {.name = "count", .perform = count};

struct heard {
    struct sink sink;
    pthread_mutex_t lock;
    int losses, marks, lines;
    char why[TEXT_LEN];
};

static void hear_loss(struct sink *s, const struct loss *l)
{
    struct heard *h = (struct heard *)s;
    pthread_mutex_lock(&h->lock);
    h->losses++;
    snprintf(h->why, sizeof h->why, "%s", l->why);
    pthread_mutex_unlock(&h->lock);
}

static void hear_mark(struct sink *s, const struct mark *m)
{
    struct heard *h = (struct heard *)s;
    (void)m;
    pthread_mutex_lock(&h->lock);
    h->marks++;
    pthread_mutex_unlock(&h->lock);
}

static void hear_line(void *ctx, const char *line)
{
    struct heard *h = ctx;
    (void)line;
    pthread_mutex_lock(&h->lock);
    h->lines++;
    pthread_mutex_unlock(&h->lock);
}

static const struct sink_ops hearing = {.loss = hear_loss, .mark = hear_mark};

static struct actions *start(struct heard *h, const struct action *a)
{
    struct actions *out;
    struct err e;
    *h = (struct heard){.sink = {&hearing}};
    pthread_mutex_init(&h->lock, NULL);
    const struct actions_ask ask = {.v = a,
                                    .n = 1,
                                    .run = "r",
                                    .run_id = "r",
                                    .node = "n",
                                    .sink = &h->sink,
                                    .means = {.print = hear_line, .ctx = h},
                                    .warn = hear_line};
    OK(actions_start(&out, &ask, &e));
    return out;
}

static void tell_issue(struct actions *a, int times)
{
    struct arena arena = {0};
    struct rule_params p;
    rule_params_init(&p, &arena);
    struct verdict v = {.rule = &rule_step_outlier, .why = "", .arena = &arena};
    struct finding *f = verdict_find(&v, "n", "");
    finding_say(&v, f, "it is so");
    for (int i = 0; i < times; i++)
        actions_news(a, &v, RULE_CLEAR, SEVERITY_INFO, p.v[RULE_step_outlier]);
    arena_free(&arena);
}

TEST(what_is_queued_is_performed_before_the_end)
{
    struct heard h;
    const struct action a = {
        .kind = &counting, .label = "count", .on_issue = true, .most = 100, .per_ns = NS_PER_S};
    struct actions *all = start(&h, &a);
    tell_issue(all, 5);
    CHECK(actions_stop(all, 10 * NS_PER_S));
    CHECK_INT(performed, 5);
    CHECK_INT(h.marks, 5);
    CHECK_INT(h.losses + h.lines, 0);
}

TEST(more_than_the_limit_is_dropped_counted_and_told_once)
{
    struct heard h;
    const struct action a = {.kind = &counting,
                             .label = "count",
                             .on_issue = true,
                             .most = 2,
                             .per_ns = 3600 * NS_PER_S};
    struct actions *all = start(&h, &a);
    tell_issue(all, 5);
    CHECK(actions_stop(all, 10 * NS_PER_S));
    CHECK_INT(performed, 2);
    CHECK_INT(h.losses, 3);
    CHECK_INT(h.lines, 1);
    CHECK_STR(h.why, "rate limit reached");
}

TEST(a_full_queue_drops_and_nobody_waits)
{
    struct heard h;
    const struct action a = {.kind = &counting,
                             .label = "count",
                             .on_issue = true,
                             .most = 1000,
                             .per_ns = 3600 * NS_PER_S};
    waiting_ms = 300;
    struct actions *all = start(&h, &a);
    const mono_ns before = clock_mono();
    tell_issue(all, 200);
    CHECK(mono_diff(clock_mono(), before) < 5 * NS_PER_S);
    waiting_ms = 0;
    CHECK(actions_stop(all, 30 * NS_PER_S));
    CHECK(performed >= 64 && performed <= 66);
    CHECK_INT(h.losses, 200 - performed);
}

TEST(a_thread_that_hangs_is_left_alone_and_touches_nothing_any_more)
{
    struct heard h;
    const struct action a = {
        .kind = &counting, .label = "count", .on_issue = true, .most = 100, .per_ns = NS_PER_S};
    waiting_ms = 500;
    struct actions *all = start(&h, &a);
    tell_issue(all, 2);
    CHECK(!actions_stop(all, 50 * NS_PER_MS));
    CHECK_INT(h.losses, 1); /* that it was not done */
    h.sink.ops = NULL;      /* whoever uses it now crashes */
    usleep(1300 * 1000);
    CHECK_INT(performed, 1);
}

TEST(a_failure_is_told_once_and_counted_each_time)
{
    struct heard h;
    const struct action a = {
        .kind = &counting, .label = "count", .on_issue = true, .most = 100, .per_ns = NS_PER_S};
    performed = -3;
    struct actions *all = start(&h, &a);
    tell_issue(all, 4);
    CHECK(actions_stop(all, 10 * NS_PER_S));
    CHECK_INT(h.losses, 3);
    CHECK_INT(h.marks, 1);
    CHECK_INT(h.lines, 1);
}

/* ---- commands ---- */

static const char *const echo[] = {"sh", "-c", "cat; echo err >&2; exit 3", NULL};
static const char *const hang[] = {"sh", "-c", "echo begun; sleep 1000", NULL};
static const char *const absent[] = {"/nonexistent/program", NULL};
static const char *const deaf[] = {"sh", "-c",
                                   "exec <&-; i=0; while [ $i -lt 2000 ]; do "
                                   "i=$((i+1)); echo line $i; done",
                                   NULL};

static int refuse(const void *ctx, const void *text, size_t n, struct err *e)
{
    if (n == 0)
        return 0;
    return err_set(e, ERR_FORMAT, "%s: %.*s", (const char *)ctx, (int)n, (const char *)text);
}

static const struct runner_task tasks[] = {
    {.argv = echo}, {.argv = hang}, {.argv = absent}, {.argv = deaf}, {.call = refuse, .ctx = "no"},
};

static struct runner *runner(void)
{
    struct runner *r;
    struct err e;
    OK(runner_start(&r, tasks, COUNT_OF(tasks), &e));
    return r;
}

TEST(a_command_gets_its_text_and_its_output_and_status_come_back)
{
    struct runner *r = runner();
    struct runner_result out;
    struct err e;
    OK(runner_run(r, 0, "hello\n", 6, 10 * NS_PER_S, &out, &e));
    CHECK_INT(out.status, 3);
    CHECK(!out.timed_out);
    CHECK_STR(out.output, "hello\nerr\n");
    OK(runner_run(r, 2, "", 0, 10 * NS_PER_S, &out, &e));
    CHECK_INT(out.status, 127);
    CHECK(strstr(out.output, "cannot run '/nonexistent/program'"));
    runner_stop(r);
}

TEST(a_command_that_takes_too_long_is_killed)
{
    struct runner *r = runner();
    struct runner_result out;
    struct err e;
    const mono_ns before = clock_mono();
    OK(runner_run(r, 1, "x", 1, 300 * NS_PER_MS, &out, &e));
    CHECK(out.timed_out && out.status == 128 + SIGKILL);
    CHECK_STR(out.output, "begun\n");
    CHECK(mono_diff(clock_mono(), before) < 5 * NS_PER_S);
    runner_stop(r);
}

TEST(a_command_need_not_listen_and_only_the_end_of_what_it_says_is_kept)
{
    struct runner *r = runner();
    struct runner_result out;
    struct err e;
    char *much = xcalloc(1, 1 << 20);
    OK(runner_run(r, 3, much, 1 << 20, 20 * NS_PER_S, &out, &e));
    CHECK_INT(out.status, 0);
    CHECK(strlen(out.output) > RUNNER_OUTPUT / 2 && strlen(out.output) < RUNNER_OUTPUT);
    CHECK(strstr(out.output, "line 2000\n"));
    free(much);
    runner_stop(r);
}

TEST(a_function_is_called_with_its_text_and_its_error_comes_back)
{
    struct runner *r = runner();
    struct runner_result out;
    struct err e;
    OK(runner_run(r, 4, "hello", 5, 10 * NS_PER_S, &out, &e));
    CHECK_INT(out.status, 1);
    CHECK_STR(out.output, "no: hello");
    OK(runner_run(r, 4, "", 0, 10 * NS_PER_S, &out, &e));
    CHECK_INT(out.status, 0);
    CHECK_STR(out.output, "");
    runner_stop(r);
}

TEST(the_runner_is_no_child_of_ours)
{
    struct runner *r = runner();
    struct runner_result out;
    struct err e;
    OK(runner_run(r, 0, "x", 1, 10 * NS_PER_S, &out, &e));
    char path[64], text[64] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *f = fopen(path, "r");
    if (!f)
        SKIP("this kernel does not list children");
    const size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    CHECK_INT(n, 0);
    runner_stop(r);
}

/* ---- texts ---- */

TEST(urls_are_taken_apart)
{
    struct http_url u;
    struct err e;
    OK(http_url_parse(&u, "http://example.org", &e));
    CHECK(!u.tls && u.port == 80 && !*u.path);
    OK(http_url_parse(&u, "HTTPS://[::1]:8443/a?b=c", &e));
    CHECK(u.tls && u.port == 8443);
    CHECK_STR(u.host, "::1");
    CHECK_STR(u.path, "/a?b=c");
    OK(http_url_parse(&u, "http://x?b", &e));
    CHECK_STR(u.path, "?b");
    static const char *const wrong[] = {
        "",           "http://",    "http:///x",     "x.org",        "http://x:99999",
        "http://x:/", "http://x y", "http://x\r\n/", "http://[::1/", "http://x/a\r\nEvil: 1"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        CHECK_INT(http_url_parse(&u, wrong[i], &e), ERR_USAGE);
}

TEST(a_mail_has_short_lines_plain_headers_and_both_parts)
{
    const char *to[] = {"a@b.c", "d@e.f"};
    const struct mail_route m = {.from = "x@y.z", .to = to, .n_to = 2};
    char *json = xcalloc(1, 5001);
    memset(json, 'j', 5000);
    struct buf b = mail_message(&m, "one\r\nBcc: evil@x \xc3\xa4", ".\r\n.", json,
                                (wall_ns){1700000000 * NS_PER_S});
    buf_u8(&b, 0);
    const char *text = (const char *)b.p;
    CHECK(strstr(text, "Subject: one??Bcc: evil@x ??\r\n"));
    CHECK(strstr(text, "To: <a@b.c>,\r\n <d@e.f>\r\n"));
    CHECK(strstr(text, "Date: Tue, 14 Nov 2023 22:13:20 +0000\r\n"));
    CHECK(strstr(text, "\r\n\r\nLg0KLg==\r\n"));
    for (const char *p = text; *p;) {
        const char *end = strstr(p, "\r\n");
        CHECK(end && end - p <= 78 && *p != '.');
        p = end + 2;
    }
    buf_free(&b);
    free(json);
}
