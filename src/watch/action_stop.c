/* SPDX-License-Identifier: Apache-2.0 */
/* action_stop.c - ends the job. */
#include "base/duration.h"
#include "watch/action.h"

#define GRACE_NS     (10 * NS_PER_S)
#define GRACE_MIN_NS NS_PER_S
#define GRACE_MAX_NS (3600 * NS_PER_S)

static const struct action_key keys[] = {
    {"grace", "time between SIGTERM and SIGKILL, from 1s to 1h (default: 10s)", false},
    {0},
};

static int action_stop_make(struct action *a, const struct action_setting *s, struct arena *arena,
                            struct err *e)
{
    const char *text = action_setting_get(s, "grace");
    (void)arena;
    a->label = "stop";
    a->grace_ns = GRACE_NS;
    if (a->on_clear)
        return err_set(e, ERR_USAGE, "'on: clear' cannot be used with stop");
    if (!text)
        return 0;
    return duration_parse_within("'grace'", text, GRACE_MIN_NS, GRACE_MAX_NS, &a->grace_ns, e);
}

static int action_stop_perform(const struct action *a, const struct action_news *n,
                               const struct action_means *m, struct err *e)
{
    (void)e;
    m->stop(m->ctx, n->rule, a->grace_ns);
    return 0;
}

const struct action_kind action_stop = {
    .name = "stop",
    .help = "Stops the job: SIGTERM, then SIGKILL after a grace period.",
    .keys = keys,
    .urgent = true,
    .make = action_stop_make,
    .perform = action_stop_perform,
};
