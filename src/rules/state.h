/* SPDX-License-Identifier: Apache-2.0 */
/* state.h - the memory that a rule's state owns. One function of each struct goes through all of
 * it, to free it or to give a copy of the struct memory of its own. */
#ifndef RULES_STATE_H
#define RULES_STATE_H

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum state_op {
    STATE_FREE,
    STATE_COPY, /* the struct is a copy, byte by byte, of one that stays */
};

/* `p` is the address of a pointer to so many bytes, or to NULL. */
static inline void state_memory(enum state_op op, void *p, size_t bytes)
{
    void *old, *copy = NULL;
    memcpy(&old, p, sizeof old);
    if (op == STATE_FREE)
        free(old);
    else if (old)
        copy = memcpy(xmalloc(bytes), old, bytes);
    memcpy(p, &copy, sizeof copy);
}

/* The same of a struct with a growing array (vec.h): v, n and cap. A freed one is empty. */
#define STATE_VEC(op, x)                                                                           \
    do {                                                                                           \
        state_memory((op), &(x)->v, (x)->cap * sizeof *(x)->v);                                    \
        if ((op) == STATE_FREE)                                                                    \
            (x)->n = (x)->cap = 0;                                                                 \
    } while (0)

#endif
