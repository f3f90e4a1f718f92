/* SPDX-License-Identifier: Apache-2.0 */
/* user_rules.c - see user_rules.h. */
#include "userrules/user_rules.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"
#include "config/python_env.h"
#include "config/settings.h"

enum { ANSWER_MOST = 64 << 20, RULES_MOST = 100 };

static_assert((int)CUSTOM_MOST >= (int)CUSTOM_RULES_MOST,
              "room for all that the settings can hold");

/* ---- from the settings ---- */

void user_rules_files(struct user_rule_set *u, const struct settings *s, struct arena *a)
{
    const char **files = arena_array(a, const char *, s->n_rule_files + 1);
    memcpy(files, s->rule_files, s->n_rule_files * sizeof *files);
    u->files = files;
    u->n_files = s->n_rule_files;
    u->sets = arena_array(a, const char *, s->n_rule_settings + 1);
    u->limit_ns = USER_RULE_LIMIT_NS;
}

bool user_rules_has(const struct user_rule_set *u, const char *name)
{
    return FIND_ANY(i, u->n_custom, strcmp(u->custom[i].name, name) == 0);
}

int user_rules_add(struct user_rule_set *u, const struct action_setting *from, struct err *e)
{
    struct custom_rule r = custom_rule_new();
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < from->n; i++)
        rc = custom_rule_set(&r, from->v[i].key, from->v[i].value, e);
    if (rc == 0)
        rc = custom_rule_done(&r, e);
    if (rc == 0 && user_rules_has(u, r.name))
        rc = err_set(e, ERR_USAGE, "custom rule '%s' is already defined", r.name);
    if (rc != 0)
        return err_in(e, "%s", from->from.where);
    u->custom[u->n_custom++] = r;
    return 0;
}

static bool user_rules_is_builtin(const char *text, struct arena *a)
{
    const char *name = arena_strndup(a, text, strcspn(text, ".="));
    return rule_find(name) || strcmp(name, "ProfilerReport") == 0;
}

bool user_rules_set(struct user_rule_set *u, const char *text, struct arena *a)
{
    if (u->n_files == 0 || user_rules_is_builtin(text, a))
        return false;
    u->sets[u->n_sets++] = text;
    return true;
}

bool user_rules_any(const struct user_rule_set *u)
{
    return u->n_custom > 0 || u->n_files > 0;
}

/* ---- Python: starting ----
 *
 * The rules may do anything in that process. It returns only bytes, with a limit on their
 * number and on the time. */

/* The folder of the package, from the folder of its hooks. */
static const char *python_host_package(struct arena *a)
{
    char path[PATH_LEN];
    if (!hooks_find(path))
        return NULL;
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(path, '/');
        if (!slash)
            return NULL;
        *slash = 0;
    }
    return arena_strdup(a, path);
}

static char **python_host_environment(struct arena *a)
{
    char exe[PATH_LEN];
    program_path(exe);
    const char *const set[] = {arena_printf(a, "FOOTPLATE_BIN=%s", exe), "FOOTPLATE_DISABLE=1"};
    return env_with(a, environ, set, COUNT_OF(set));
}

/* As `python3 -m footplate.rules_host` with the package of the folder that comes first, but nothing
 * is imported from the current folder: it may be one that other users write to. The package's
 * folder is not on sys.path: where pip put it, it has other packages too, which may be another
 * Python's. */
static const char host_code[] =
    "import importlib.util, sys\n"
    "sys.path[:] = [p for p in sys.path if p]\n"
    "folder = sys.argv.pop(1) + '/footplate'\n"
    "spec = importlib.util.spec_from_file_location('footplate', folder + '/__init__.py', "
    "submodule_search_locations=[folder])\n"
    "sys.modules['footplate'] = module = importlib.util.module_from_spec(spec)\n"
    "spec.loader.exec_module(module)\n"
    "from footplate.rules_host import main\n"
    "sys.exit(main())\n";

static char **python_host_command(const struct user_rule_set *u, const char *run,
                                  const char *package, struct arena *a)
{
    size_t n = 0;
    char **argv = arena_array(a, char *, 9 + u->n_sets + u->n_only + u->n_files);
    argv[n++] = arena_strdup(a, "python3");
    argv[n++] = arena_strdup(a, "-c");
    argv[n++] = arena_strdup(a, host_code);
    argv[n++] = arena_strdup(a, package);
    argv[n++] = arena_printf(a, "--limit=%g", (double)u->limit_ns / 1e9);
    for (size_t i = 0; i < u->n_sets; i++)
        argv[n++] = arena_printf(a, "--set=%s", u->sets[i]);
    for (size_t i = 0; i < u->n_only; i++)
        argv[n++] = arena_printf(a, "--only=%s", u->only[i]);
    argv[n++] = arena_strdup(a, "--");
    argv[n++] = arena_strdup(a, run);
    for (size_t i = 0; i < u->n_files; i++)
        argv[n++] = arena_strdup(a, u->files[i]);
    return argv;
}

/* Its stdout is the pipe. */
static int python_host_start(char *const *command, struct arena *a, pid_t *pid, int *from,
                             struct err *e)
{
    int fds[2];
    posix_spawn_file_actions_t actions;
    if (pipe2(fds, O_CLOEXEC) != 0)
        return err_sys(e, "create a pipe");
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
    const int sys =
        posix_spawnp(pid, "python3", &actions, NULL, command, python_host_environment(a));
    posix_spawn_file_actions_destroy(&actions);
    close(fds[1]);
    *from = fds[0];
    if (sys == 0)
        return 0;
    close(fds[0]);
    errno = sys;
    return err_sys(e, "run python3");
}

/* ---- Python: the answer ---- */

static int python_host_read(int from, mono_ns end, struct buf *out, struct err *e)
{
    char chunk[1 << 16];
    for (;;) {
        const int64_t left_ms = (end.ns - clock_mono().ns) / NS_PER_MS;
        struct pollfd p = {.fd = from, .events = POLLIN};
        const int ready = left_ms > 0 ? poll(&p, 1, (int)MIN_OF(left_ms, (int64_t)60000)) : 0;
        if (ready < 0 && errno != EINTR)
            return err_sys(e, "wait for python3");
        if (left_ms <= 0)
            return err_set(e, ERR_LIMIT, "Python took too long");
        if (ready <= 0)
            continue;
        const ssize_t n = read(from, chunk, sizeof chunk);
        if (n < 0)
            return err_sys(e, "read from python3");
        if (n == 0)
            return 0;
        buf_put(out, chunk, (size_t)n);
        if (out->len > ANSWER_MOST)
            return err_set(e, ERR_LIMIT, "Python printed more than %d MiB", ANSWER_MOST >> 20);
    }
}

static int python_host_wait_for(pid_t pid, struct err *e)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return err_sys(e, "wait for python3");
    if (WIFSIGNALED(status))
        return err_set(e, ERR_SYS, "python3 was killed by signal %d", WTERMSIG(status));
    if (WEXITSTATUS(status) != 0)
        return err_set(e, ERR_SYS, "python3 exited with status %d", WEXITSTATUS(status));
    return 0;
}

static int python_host_run(const struct user_rule_set *u, const char *run, struct arena *a,
                           struct buf *out, struct err *e)
{
    const char *package = python_host_package(a);
    /* The host enforces the limit of each rule itself; this is for a host that does not. */
    const mono_ns end = {clock_mono().ns + u->limit_ns * RULES_MOST + 60 * NS_PER_S};
    struct err ended;
    pid_t pid = 0;
    int from = -1;
    if (!package)
        return err_set(e, ERR_NOT_FOUND,
                       "the Python package is not installed next to this program");
    TRY(python_host_start(python_host_command(u, run, package, a), a, &pid, &from, e));
    int rc = python_host_read(from, end, out, e);
    close(from);
    if (rc != 0)
        kill(pid, SIGKILL);
    if (python_host_wait_for(pid, &ended) != 0 && rc == 0) {
        *e = ended;
        rc = ended.code;
    }
    return rc;
}

/* The verdict of a file that returned none. */
static void python_host_give_up(const char *file, const char *why, struct arena *a,
                                struct hosted **out, size_t *n)
{
    *out = arena_new(a, struct hosted);
    (*out)->v = custom_verdict(path_base(file), "", "", a);
    verdict_not_evaluated(&(*out)->v, "%s", why);
    *n = 1;
}

/* A failure of a rule, or of Python, becomes a verdict with the reason. ERR_USAGE when one of the
 * sets is invalid. */
static int python_host_check(const struct user_rule_set *u, const char *run, struct arena *a,
                             struct hosted **out, size_t *n, struct err *e)
{
    struct buf b = {0};
    *n = 0;
    for (size_t i = 0; i < u->n_files; i++)
        if (access(u->files[i], R_OK) != 0)
            return err_set(e, ERR_USAGE, "cannot read the rule file '%s': %s", u->files[i],
                           strerror(errno));
    int rc = u->n_files ? python_host_run(u, run, a, &b, e) : 0;
    if (rc == 0 && u->n_files)
        rc = verdicts_read((const char *)b.p, b.len, a, out, n, e);
    buf_free(&b);
    if (rc == 0 || rc == ERR_USAGE)
        return rc;
    python_host_give_up(u->files[0], e->msg, a, out, n);
    return 0;
}

/* ---- evaluating ---- */

void user_rules_forget(struct user_rules_memory *m)
{
    for (size_t i = 0; i < CUSTOM_MOST; i++)
        custom_memory_free(&m->custom[i]);
}

int user_rules_check(const struct user_rule_set *u, struct user_rules_memory *m, struct run *r,
                     struct arena *a, struct hosted **out, size_t *n, struct err *e)
{
    struct hosted *python;
    size_t n_python;
    int rc = 0;
    TRY(python_host_check(u, run_get_info(r)->path, a, &python, &n_python, e));
    *n = 0;
    *out = arena_array(a, struct hosted, u->n_custom + n_python + 1);
    for (size_t i = 0; rc == 0 && i < u->n_custom; i++)
        if (u->n_only == 0 || text_among(u->custom[i].name, u->only, u->n_only))
            rc = custom_rule_check(&u->custom[i], m ? &m->custom[i] : NULL, r, a, &(*out)[(*n)++].v,
                                   e);
    for (size_t i = 0; i < n_python; i++)
        (*out)[(*n)++] = python[i];
    return rc;
}
