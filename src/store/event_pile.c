/* SPDX-License-Identifier: Apache-2.0 */
/* event_pile.c - see event_pile.h. */
#include "store/event_pile.h"

#include <stdlib.h>

#include "base/mem.h"

void pile_grow(struct event_pile *p)
{
    p->parts = xrealloc(p->parts, p->n_parts + 1, sizeof *p->parts);
    p->parts[p->n_parts++] = xmalloc(sizeof(struct pile_part));
}

void pile_free(struct event_pile *p)
{
    for (uint32_t i = 0; i < p->n_parts; i++)
        free(p->parts[i]);
    free(p->parts);
    *p = (struct event_pile){0};
}
