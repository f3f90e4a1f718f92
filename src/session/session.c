/* SPDX-License-Identifier: Apache-2.0 */
/* session.c - see session.h. */
#include "session/session.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/helper.h"
#include "agent/keeper.h"
#include "base/human.h"
#include "base/table.h"
#include "base/thread.h"
#include "config/python_env.h"
#include "control/control_client.h"
#include "cost/machines.h"
#include "run/run_info.h"
#include "run/rundir.h"
#include "run/shipping.h"
#include "session/dashboard.h"
#include "ship/ship_live.h"
#include "userrules/user_rules.h"
#include "watch/watch.h"

/* One write per line, so that the output of the job cannot split it. Lines that continue the one
 * before are indented and have no name in front, so that they can be pasted elsewhere. */
static void session_print(void *ctx, const char *line)
{
    (void)ctx;
    struct arena a = {0};
    fprintf(stderr, "%s%s\n", *line == ' ' ? "" : "footplate: ", text_safe(&a, line));
    arena_free(&a);
}

/* Invalid settings do not prevent a job from running: they are only reported. */
static void session_print_problems(const struct settings *s, struct arena *a)
{
    for (size_t i = 0; i < s->problems.n; i++)
        session_print(NULL, s->problems.v[i]);
    if (s->problems.left_off > 0)
        session_print(NULL,
                      arena_printf(a, "and %zu more; run 'footplate config' to see all settings",
                                   s->problems.left_off));
}

/* The settings of rules, parsed. */
struct session_rules {
    struct rule_params params;
    struct user_rule_set user;
    struct user_rules_memory memory; /* of the helper process */
    struct action *actions;
    size_t n_actions;
};

/* An invalid option is an error; an invalid value of a file or the environment is reported and
 * ignored. */
static int session_take_rule(struct settings *s, const struct rule_setting *r,
                             struct session_rules *out, struct err *e)
{
    const size_t name = strcspn(r->text, ".=");
    if (user_rules_set(&out->user, r->text, s->arena))
        return 0;
    if (rule_params_set(&out->params, r->text, e) == 0) {
        if (rule_unsupported(r->text, name) < RULES_UNSUPPORTED)
            remarks_add(&s->problems, "%.*s is not evaluated: not supported yet", (int)name,
                        r->text);
        return 0;
    }
    if (r->from.source == FROM_OPTION)
        return err_in(e, "%s", r->from.where);
    remarks_add(&s->problems, "%s: %s; ignored", r->from.where, e->msg);
    return 0;
}

static int session_take_custom(struct settings *s, const struct action_setting *from,
                               struct user_rule_set *u, struct err *e)
{
    const int rc = user_rules_add(u, from, e);
    if (rc == 0 || from->from.source == FROM_OPTION)
        return rc;
    remarks_add(&s->problems, "%s; ignored", e->msg);
    return 0;
}

static int session_take_rules(struct settings *s, struct session_rules *out, struct arena *a,
                              struct err *e)
{
    rule_params_init(&out->params, a);
    user_rules_files(&out->user, s, a);
    for (size_t i = 0; i < s->n_rule_settings; i++)
        TRY(session_take_rule(s, &s->rule_settings[i], out, e));
    for (size_t i = 0; i < s->n_custom; i++)
        TRY(session_take_custom(s, &s->custom[i], &out->user, e));
    return action_make_all(s, a, &out->actions, &out->n_actions, e);
}

static int session_load(struct settings *out, struct session_rules *wishes,
                        const struct session_options *o, const char *const *argv, struct arena *a,
                        struct err *e)
{
    const struct settings_ask ask = {
        .argv = argv,
        .environment = environ,
        .options = o->table,
        .given = o->given,
    };
    const int rc = settings_load(out, &ask, a, e);
    return rc ? rc : session_take_rules(out, wishes, a, e);
}

int session_settings(struct settings *out, const struct session_options *o, const char *const *argv,
                     struct arena *a, struct err *e)
{
    struct session_rules unused = {0};
    return session_load(out, &unused, o, argv, a, e);
}

static void session_take_labels(struct record_ask *ask, const struct settings *s, struct arena *a)
{
    struct run_label *labels = arena_array(a, struct run_label, s->n_labels + 1);
    for (size_t i = 0; i < s->n_labels; i++)
        labels[i] = (struct run_label){s->labels[i].key, s->labels[i].value};
    ask->labels = labels;
    ask->n_labels = s->n_labels;
}

static const char *session_script_folder(const char *const *argv, struct arena *a)
{
    const struct script script = argv ? script_find(argv) : (struct script){0};
    const char *slash = script.is_file ? strrchr(script.name, '/') : NULL;
    return slash ? arena_strndup(a, script.name, (size_t)(slash - script.name + 1)) : NULL;
}

/* The price of a machine is that of the table, unless it is set. */
static void session_take_price(struct record_ask *ask, const struct settings *s, struct arena *a)
{
    struct machines table;
    struct err e;
    ask->machine = s->machine;
    ask->price_per_hour = s->price_per_hour;
    ask->currency = s->currency;
    if (!s->machine || s->price_per_hour > 0)
        return;
    int rc = machines_load(&table, session_script_folder(ask->argv, a), a, &e);
    const struct machine *m = rc == 0 ? machines_find(&table, s->machine) : NULL;
    if (rc == 0 && !m)
        rc = machines_unknown(&table, s->machine, &e);
    if (rc == 0)
        ask->price_per_hour = m->price_per_hour;
    else
        session_print(NULL, arena_printf(a, "the price of the run is not known: %s", e.msg));
}

static void session_take_settings(struct record_ask *ask, const struct settings *s, struct arena *a)
{
    ask->settings = s;
    ask->dir = s->dir;
    ask->name = s->name;
    ask->interval_ns = s->interval_ns;
    ask->run_id = s->run_id;
    ask->node_id = s->node_id;
    ask->no_hooks = !s->hooks;
    ask->no_others = !s->other_processes;
    session_take_labels(ask, s, a);
    session_take_price(ask, s, a);
}

static void session_verdict(const struct record_ask *ask, const struct session_rules *wishes,
                            const char *path, const char *address)
{
    const struct run_verdict_ask v = {.path = path,
                                      .address = address,
                                      .params = wishes->params,
                                      .own = &wishes->user,
                                      .quiet = ask->quiet,
                                      .report = ask->settings->report,
                                      .print = session_print};
    if (ask->settings->rules)
        run_verdict(&v);
}

enum { EXIT_BY_SIGNAL = 128, EXIT_NOT_STARTED = 1 };

/* A dashboard that does not start does not prevent the job from running. */
static void session_serve(struct dashboard *out, const char *folder, bool quiet, struct arena *a)
{
    struct err e;
    if (dashboard_start(out, folder, &e) != 0)
        session_print(NULL, arena_printf(a, "could not start the dashboard: %s", e.msg));
    else if (!quiet)
        session_print(NULL, arena_printf(a, "dashboard at %s", out->place.address));
}

/* A calling script continues after Ctrl-C unless it sees that the signal ended its child. */
static void session_end_by_sigint(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    signal(SIGINT, SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    raise(SIGINT);
}

/* What the user can do about a failure. */
static const char *session_advice(const struct err *e)
{
    static const struct {
        int sys;
        const char *text;
    } rows[] = {
        {ENOSPC, "free some space, or name another folder with --dir"},
        {EDQUOT, "free some space, or name another folder with --dir"},
        {EMFILE, "allow more open files (ulimit -n)"},
        {ENFILE, "allow more open files (ulimit -n)"},
        {EAGAIN, "allow more processes (ulimit -u)"},
        {ENOMEM, "allow more memory (ulimit -v)"},
        {EFBIG, "allow larger files (ulimit -f)"},
        {EROFS, "name a folder that can be written with --dir"},
        {EACCES, "name a folder that can be written with --dir"},
        {EPERM, "name a folder that can be written with --dir"},
        {ENOENT, "name a folder that can be written with --dir"},
        {ENOTDIR, "name a folder that can be written with --dir"},
        {EEXIST, "name a folder that can be written with --dir"},
    };
    for (size_t i = 0; e->code == ERR_SYS && i < sizeof rows / sizeof *rows; i++)
        if (rows[i].sys == e->sys)
            return rows[i].text;
    return e->code == ERR_BUSY ? "give each recorder its own --node" : "see 'footplate doctor'";
}

enum { STATUS_NOT_FOUND = 127, STATUS_CANNOT_RUN = 126 };

/* Nothing was started. The job runs as it would without Footplate. */
static int session_run_unrecorded(const struct record_ask *ask, const struct err *why,
                                  struct arena *a)
{
    const bool refuse = ask->settings->require_recording;
    session_print(NULL,
                  arena_printf(a, "this run is not recorded: %s. %s. To record it, %s", why->msg,
                               refuse ? "The job is not started (--require-recording)"
                                      : "The job runs without recording",
                               session_advice(why)));
    if (refuse)
        return EXIT_NOT_STARTED;
    const int sys = keeper_become(ask->argv);
    struct err e;
    errno = sys;
    err_sys(&e, "cannot run '%s'", ask->argv[0]);
    session_print(NULL, e.msg);
    return sys == ENOENT || sys == ENOTDIR ? STATUS_NOT_FOUND : STATUS_CANNOT_RUN;
}

/* The name of the run or node, given as an option, is not valid. */
static bool session_is_wrong_use(const struct settings *s, const struct err *e)
{
    return e->code == ERR_USAGE && (settings_origin(s, SETTING_RUN)->source == FROM_OPTION ||
                                    settings_origin(s, SETTING_NODE)->source == FROM_OPTION);
}

static int session_check_user_rules(void *ctx, struct run *r, struct arena *a, struct hosted **out,
                                    size_t *n, struct err *e)
{
    struct session_rules *wishes = ctx;
    return user_rules_check(&wishes->user, &wishes->memory, r, a, out, n, e);
}

static void session_watch(const struct helper_task *t, void *ctx)
{
    const struct watch_ask *ask = ctx;
    struct session_rules *wishes = ask->user_rules;
    watch_main(t, ctx);
    user_rules_forget(&wishes->memory);
}

/* What the helper process is to do. */
static void session_set_helper(struct record_ask *ask, const struct settings *s,
                               struct session_rules *wishes, struct arena *a)
{
    struct watch_ask *watch = arena_new(a, struct watch_ask);
    *watch = (struct watch_ask){
        .no_rules = !s->rules,
        .params = wishes->params,
        .scan_ns = s->scan_ns,
        .actions = wishes->actions,
        .n_actions = wishes->n_actions,
        .check_user_rules = user_rules_any(&wishes->user) ? session_check_user_rules : NULL,
        .user_rules = wishes,
    };
    ask->helper = (struct helper_program){session_watch, watch};
}

/* ---- sends the run elsewhere while it is recorded (--to), in a separate process ----
 *
 * shipper_start before the job, shipper_place once the run folder is there, shipper_end when
 * nothing is added to it any more. */

struct shipper {
    int fd; /* -1: nothing is sent */
    struct rundir dir;
};

enum {
    END_MS = 30000,         /* for the rest of a run whose sending went well until then */
    END_FAILING_MS = 5000,  /* when it did not */
    WATCH_STACK = 64 << 10, /* bytes */
    STARTS_MOST = 1000,     /* of a shipper that is killed again and again */
};

/* When no process waits for the rest any more, `footplate push` may send it, and a request that is
 * tried again here would be answered after that. A killed recorder sends no END: see
 * ship_live.h. */
static void *shipper_watch_end(void *arg)
{
    const int fd = *(const int *)arg;
    struct pollfd p = {.fd = fd, .events = POLLRDHUP};
    char bytes[2]; /* SHIP_LIVE_SOON may come before */
    while (poll(&p, 1, -1) <= 0)
        ;
    const ssize_t n = recv(fd, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
    if (n > 0 && memchr(bytes, SHIP_LIVE_END, (size_t)n))
        _exit(0);
    return NULL;
}

static void shipper_ship(const struct ship_live_ask *ask, const struct ship_live_begin *begin,
                         int fd)
{
    struct shipping how;
    struct err ignored;
    pthread_t watch;
    (void)!thread_start(&watch, WATCH_STACK, shipper_watch_end, &fd, "end", &ignored);
    ship_live(ask, begin, fd, &how);
    (void)!send(fd, &how, sizeof how, MSG_NOSIGNAL);
}

/* A request of a user of the hub: one line of control_protocol.h, which is checked here and by the
 * recorder. Nothing else can come from there, so a hub cannot run code on this machine. */
static bool shipper_control(void *ctx, const char *request, char *answer, size_t size)
{
    const struct ship_live_begin *begin = ctx;
    struct control_request parsed;
    char text[CONTROL_ANSWER];
    struct err e;
    int rc = control_parse(request, strlen(request), &parsed, &e);
    if (rc == 0 && parsed.kind == CONTROL_STATUS)
        rc = err_set(&e, ERR_USAGE, "'status' is not answered to a hub");
    if (rc == 0)
        rc = control_send(begin->id, begin->node, geteuid(), request, text, &e);
    snprintf(answer, size, "%.250s", rc ? e.msg : text);
    return rc == 0;
}

/* One that is killed is started again, and continues from the size that the destination reports. */
static void shipper_process(int fd, void *ctx)
{
    struct ship_live_begin begin;
    int status;
    if (!sidecar_read(fd, &begin, sizeof begin)) /* the job was not started */
        return;
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    for (int i = 0; i < STARTS_MOST; i++) {
        const pid_t pid = fork();
        if (pid == 0) {
            shipper_ship(ctx, &begin, fd);
            _exit(0);
        }
        if (pid < 0 || waitpid(pid, &status, 0) != pid || WIFEXITED(status))
            return;
        sleep(1);
    }
}

/* ERR_USAGE or ERR_NOT_FOUND with a sentence: the run is not sent. */
static int shipper_start(struct shipper *out, const struct settings *s, struct arena *a,
                         struct err *e)
{
    struct ship_live_ask *ask = arena_new(a, struct ship_live_ask);
    struct sidecar sidecar;
    ask->target = (struct ship_target_ask){.to = s->to, .ca = s->to_ca, .pinned_key = s->to_key};
    ask->seal = s->to_interval_ns == TO_SEAL_NS;
    ask->spool = (uint64_t)s->spool;
    ask->interval_ns = ask->seal ? 0 : s->to_interval_ns;
    ask->control = s->to_control ? shipper_control : NULL;
    out->fd = -1;
    TRY(ship_read_token(s->to_token_file, a, &ask->target.token, e));
    TRY(ship_target_check(&ask->target, e));
    TRY(sidecar_start(&sidecar, SOCK_STREAM, shipper_process, ask, e));
    out->fd = sidecar.fd;
    return 0;
}

static void shipper_place(void *ctx, const struct rundir *dir)
{
    struct shipper *s = ctx;
    struct ship_live_begin begin = {.run = ""};
    snprintf(begin.run, sizeof begin.run, "%s", dir->path);
    snprintf(begin.id, sizeof begin.id, "%s", dir->id);
    snprintf(begin.node, sizeof begin.node, "%s", dir->node_id);
    s->dir = *dir;
    if (s->fd >= 0 && send(s->fd, &begin, sizeof begin, MSG_NOSIGNAL) != (ssize_t)sizeof begin) {
        close(s->fd);
        s->fd = -1;
    }
}

/* The machine goes away soon: from now on what is new is sent at once. From any thread. */
static void shipper_hurry(void *ctx)
{
    const struct shipper *s = ctx;
    const char byte = SHIP_LIVE_SOON;
    if (s->fd >= 0)
        (void)!send(s->fd, &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Waits for the rest, a bounded time. False: nothing is sent, and *out is empty. The state is also
 * in the node's folder, for callers that gave up waiting. */
static bool shipper_end(struct shipper *s, struct shipping *out)
{
    struct err e;
    *out = (struct shipping){.state = SHIPPING_WAITING};
    if (s->fd < 0 || !*s->dir.path)
        return false;
    const bool known = shipping_read(s->dir.path, s->dir.node_id, out, &e) == 0;
    const bool fine = known && out->state == SHIPPING_OK;
    struct pollfd p = {.fd = s->fd, .events = POLLIN};
    struct shipping how;
    const char byte = SHIP_LIVE_END;
    if (send(s->fd, &byte, 1, MSG_NOSIGNAL) == 1 &&
        poll(&p, 1, fine ? END_MS : END_FAILING_MS) > 0 && sidecar_read(s->fd, &how, sizeof how))
        *out = how;
    close(s->fd);
    s->fd = -1;
    return true;
}

/* A run that cannot be sent is recorded all the same, unless the user requires it. */
static int session_ship(struct shipper *out, struct record_ask *ask, struct arena *a)
{
    const struct settings *s = ask->settings;
    struct err e;
    if (!s->to && s->spool)
        session_print(NULL, "--to-only has no effect without --to: the whole run stays here");
    if (!s->to)
        return 0;
    if (shipper_start(out, s, a, &e) == 0) {
        ask->placed = shipper_place;
        ask->leaving = shipper_hurry;
        ask->placed_ctx = out;
        ask->spool = (uint64_t)s->spool;
        return 0;
    }
    const bool refuse = ask->argv && s->require_recording;
    session_print(NULL, arena_printf(a, "the run is not sent: %s.%s", e.msg,
                                     refuse ? " The job is not started (--require-recording)"
                                            : " The job runs and is recorded here"));
    return refuse ? EXIT_NOT_STARTED : 0;
}

/* True: all of it is there. */
static bool session_ship_rest(struct shipper *s, const struct record_ask *ask,
                              const struct record_result *result, struct arena *a)
{
    struct shipping how;
    if (!shipper_end(s, &how))
        return false;
    if (how.state != SHIPPING_DONE)
        session_print(NULL, arena_printf(a,
                                         "not all of the run was sent to %s%s%s; 'footplate push "
                                         "%s %s' sends the rest",
                                         ask->settings->to, *how.error ? ": " : "", how.error,
                                         result->path, ask->settings->to));
    else if (!ask->quiet)
        session_print(NULL, arena_printf(a, "the run is at %s (%s)", ask->settings->to,
                                         bytes_text(a, (double)how.bytes)));
    return how.state == SHIPPING_DONE;
}

/* With --to-only. If the beginning of the recording is only at the destination by now, the rules
 * are evaluated there: on S3 with the rights that a writer has anyway. A hub shows nothing to a
 * write token. The folder is removed when all of it is at the destination. */
static void session_end_spool(struct shipper *s, const struct record_ask *ask,
                              const struct session_rules *wishes,
                              const struct record_result *result, struct arena *a)
{
    const char *to = ask->settings->to;
    const bool slash = *to && to[strlen(to) - 1] == '/';
    const char *address = arena_printf(a, "%s%s%s", to, slash ? "" : "/", s->dir.id);
    const bool partial = ship_is_partial(s->dir.path, s->dir.node_id);
    if (!partial)
        session_verdict(ask, wishes, result->path, address);
    if (!session_ship_rest(s, ask, result, a)) {
        if (partial)
            session_print(NULL, "what was sent before was removed here, so the rules are not "
                                "evaluated now");
        return;
    }
    rundir_remove_node(&s->dir);
    if (partial && ship_target_is_open(to))
        session_verdict(ask, wishes, address, address);
    else if (partial && ask->settings->rules)
        session_print(NULL, arena_printf(a,
                                         "the rules are not evaluated now, as a write token does "
                                         "not show the run: 'footplate check %s' does it",
                                         address));
}

static void session_end_run(struct shipper *s, const struct record_ask *ask,
                            const struct session_rules *wishes, const struct record_result *result,
                            struct arena *a)
{
    if (ask->spool && s->fd >= 0) {
        session_end_spool(s, ask, wishes, result, a);
        return;
    }
    session_verdict(ask, wishes, result->path, NULL);
    (void)session_ship_rest(s, ask, result, a);
}

static int session_record(const struct session_options *o, struct record_ask *ask, struct arena *a,
                          struct err *e)
{
    if (ask->argv) /* the settings are not loaded yet */
        keeper_start(ask->argv, opt_given(o->table, o->given, "require-recording") != NULL);
    struct settings *s = arena_new(a, struct settings);
    struct session_rules *wishes = arena_new(a, struct session_rules);
    TRY(session_load(s, wishes, o, ask->argv, a, e));
    if (ask->argv)
        keeper_start(ask->argv, s->require_recording);
    session_print_problems(s, a);
    session_take_settings(ask, s, a);
    session_set_helper(ask, s, wishes, a);
    ask->quiet = o->quiet;
    ask->print = session_print;
    struct record_result result;
    struct dashboard dashboard = {.fd = -1};
    struct shipper shipper = {.fd = -1};
    if (session_ship(&shipper, ask, a))
        return EXIT_NOT_STARTED;
    if (o->serve)
        session_serve(&dashboard, runs_folder(s->dir), ask->quiet, a);
    if (recorder_run(ask, &result, e) == 0) {
        session_end_run(&shipper, ask, wishes, &result, a);
        if (result.interrupted)
            session_end_by_sigint();
        if (result.exit_status < EXIT_BY_SIGNAL) /* else Ctrl-C has been pressed already */
            dashboard_linger(&dashboard);
        return result.exit_status;
    }
    if (session_is_wrong_use(s, e))
        return e->code;
    if (ask->argv && result.exit_status == EXIT_NOT_STARTED)
        return session_run_unrecorded(ask, e, a);
    /* As a shell does: 126 and 127 for a program that cannot be run. */
    session_print(NULL, e->msg);
    return result.exit_status;
}

int session_run(const struct session_options *o, struct record_ask *ask, struct err *e)
{
    struct arena a = {0};
    const int rc = session_record(o, ask, &a, e);
    arena_free(&a);
    return rc;
}
