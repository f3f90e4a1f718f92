/* SPDX-License-Identifier: Apache-2.0 */
/* runname.c - see runname.h. */
#include "agent/runname.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "config/script.h"
#include "run/run_names.h"

/* Programs that say little about what runs: their script does. */
static bool runname_is_interpreter(const char *name)
{
    static const char *const words[] = {"python", "torchrun", "bash",       "sh",       "dash",
                                        "perl",   "ruby",     "accelerate", "deepspeed"};
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        const size_t n = strlen(words[i]);
        /* "python3.11" too, but not "shuffle". */
        if (strncmp(name, words[i], n) == 0 && strspn(name + n, "0123456789.") == strlen(name + n))
            return true;
    }
    return false;
}

void run_name_of(char out[RUN_NAME_LEN], const char *const command[])
{
    const char *name = command[0] ? path_base(command[0]) : "";
    if (runname_is_interpreter(name)) {
        const struct script script = script_find(command + 1);
        name = script.name ? path_base(script.name) : name;
    }
    name_sanitize(out, RUN_NAME_LEN, name);
    char *dot = strrchr(out, '.');
    if (dot && dot != out && strlen(dot) == 3 && isalpha((unsigned char)dot[1]))
        *dot = 0;
    if (!*out)
        snprintf(out, RUN_NAME_LEN, "run");
}

bool run_id_of_launcher(char out[RUN_ID_LEN], const struct launcher *l, const char *name)
{
    char text[RUN_ID_LEN + 2 * LAUNCHER_TEXT];
    /* A batch script's job id is that of all its starts, so it needs the step to be one start. */
    const bool several =
        l->world_size > 1 ||
        (l->nodes > 1 && (*l->step || l->rank >= 0 || strcmp(l->name, "sagemaker") == 0));
    if (!several || !*l->job_id)
        return false;
    snprintf(text, sizeof text, "%s-%s%s%s", name, l->job_id, *l->step ? "." : "", l->step);
    name_sanitize(out, RUN_ID_LEN, text);
    return *out != 0;
}

void node_id_default(char out[NODE_ID_LEN], const char *host, const struct launcher *l)
{
    char text[NODE_ID_LEN * 2];
    if (l->local_rank > 0 || (l->local_rank == 0 && l->local_size > 1))
        snprintf(text, sizeof text, "%.*s-%lld", NODE_ID_LEN - 8, host, (long long)l->local_rank);
    else
        snprintf(text, sizeof text, "%.*s", NODE_ID_LEN - 1, host);
    name_sanitize(out, NODE_ID_LEN, text);
    if (!*out)
        snprintf(out, NODE_ID_LEN, "node");
}
