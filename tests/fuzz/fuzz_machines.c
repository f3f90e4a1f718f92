/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_machines.c - any bytes as a table of machines: refused with a sentence, or whole, and then
 * good for right-sizing. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cost/rightsize.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void check(bool fine)
{
    if (!fine)
        abort();
}

static void check_machine(const struct machine *m)
{
    check(*m->name && m->gpu);
    check(m->cores >= 0 && m->memory_gib >= 0 && m->price_per_hour >= 0 && m->gpus >= 0);
}

/* The first machine of the table, used little. */
static void size_up(const struct machines *t, struct arena *a)
{
    const struct used_node v[] = {{t->v[0], {10, 10, 10, 10}}, {t->v[0], {10, NAN, 10, NAN}}};
    const struct right_size *r = rightsize(t, v, 2, 1, a);
    check(!r || (r->best.machine && r->best.n >= 1 && r->best.n <= 2 && *r->why));
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct arena a = {0};
    struct machines t;
    struct err e;
    if (machines_parse(&t, arena_strndup(&a, (const char *)p, n), "m.csv", &a, &e) == 0) {
        check(t.n <= MACHINES_MOST);
        for (size_t i = 0; i < t.n; i++)
            check_machine(&t.v[i]);
        if (t.n)
            size_up(&t, &a);
    } else {
        check(strlen(e.msg) > 0);
    }
    arena_free(&a);
    return 0;
}
