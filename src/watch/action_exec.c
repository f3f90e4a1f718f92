/* SPDX-License-Identifier: Apache-2.0 */
/* action_exec.c - runs a command with the verdict on its stdin. */
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "watch/action.h"
#include "watch/runner.h"

enum { LINES_MOST = 5 };

static const struct action_key keys[] = {
    {"command", "command to run: a string for the shell, or a list of arguments", true},
    {0},
};

static int action_exec_make(struct action *a, const struct action_setting *s, struct arena *arena,
                            struct err *e)
{
    size_t n;
    const char **words = action_list(s, "command", arena, &n);
    bool listed = false;
    for (size_t i = 0; i < s->n; i++)
        listed |= s->v[i].listed && strcmp(s->v[i].key, "command") == 0;
    if (n == 0 || !*words[0])
        return err_set(e, ERR_USAGE, "exec needs 'command'");
    a->command = words;
    if (!listed) {
        a->command = arena_array(arena, const char *, 4);
        a->command[0] = "sh";
        a->command[1] = "-c";
        a->command[2] = words[0];
    }
    /* The first word alone: what follows may be a secret. */
    const size_t first = strcspn(words[0], " \t\n");
    a->label = arena_printf(arena, "exec %s",
                            path_base(arena_strndup(arena, words[0], MIN_OF(first, (size_t)60))));
    return 0;
}

/* The last lines that the command said. */
static void tell_output(const struct action *a, const char *output, const struct action_means *m)
{
    struct arena arena = {0};
    const char *end = output + strlen(output), *from = end;
    for (int lines = 0; from > output; from--)
        if (from[-1] == '\n' && from != end && ++lines == LINES_MOST)
            break;
    while (from < end) {
        const size_t n = strcspn(from, "\n");
        if (n > 0)
            m->tell(m->ctx, arena_printf(&arena, "%s: %.*s", a->label, (int)n, from));
        from += n + (from[n] == '\n');
    }
    arena_free(&arena);
}

static int action_exec_perform(const struct action *a, const struct action_news *n,
                               const struct action_means *m, struct err *e)
{
    struct runner_result r;
    if (!m->runner)
        return err_set(e, ERR_NOT_FOUND, "the helper process for actions is not running");
    const int rc = runner_run(m->runner, a->number, n->json, n->json_len, a->timeout_ns, &r, e);
    if (rc)
        return rc;
    tell_output(a, r.output, m);
    if (r.timed_out)
        return err_set(e, ERR_LIMIT, "it took longer than %g s and was killed",
                       (double)a->timeout_ns / 1e9);
    return r.status ? err_set(e, ERR_SYS, "it exited with status %d", r.status) : 0;
}

const struct action_kind action_exec = {
    .name = "exec",
    .help = "Runs a command with the result of the rule as JSON on its stdin.",
    .keys = keys,
    .make = action_exec_make,
    .perform = action_exec_perform,
};
