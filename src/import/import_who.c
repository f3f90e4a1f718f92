/* SPDX-License-Identifier: Apache-2.0 */
/* import_who.c - see import_who.h. */
#include "import/import_who.h"

/* "80807" of "80807-host"; 0: the name begins with no number. */
static uint32_t pid_in_name(const char *worker)
{
    uint32_t pid = 0;
    const char *p = worker;
    for (; *p >= '0' && *p <= '9' && p - worker < 9; p++)
        pid = pid * 10 + (uint32_t)(*p - '0');
    return *p == '-' || *p == '\0' ? pid : 0;
}

uint32_t import_pid(const struct import_ask *ask)
{
    const uint32_t named = pid_in_name(ask->hint.worker);
    if (ask->pid)
        return ask->pid;
    if (named)
        return named;
    return ask->hint.has_rank ? (uint32_t)(ask->hint.rank & INT32_MAX) + 1 : 1;
}

struct event import_rank_event(int64_t rank, mono_ns at)
{
    return (struct event){
        .at = at,
        .kind = EVENT_COUNT,
        .value = rank,
        .category = event_words[EV_RANK].category,
        .name = event_words[EV_RANK].name,
    };
}
