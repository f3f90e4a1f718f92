/* SPDX-License-Identifier: Apache-2.0 */
/* mangled_text.c - see mangled.h. Every text is bounded: a few bytes of a mangled name can stand
 * for a text of any size, because what was written may be referred to again. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/demangle.h"
#include "base/mangled.h"
#include "base/mem.h"

void mangled_put_n(struct mangled *m, const char *s, size_t n)
{
    if (m->bad || n >= m->room - m->len) {
        m->bad = true;
        return;
    }
    memcpy(m->out + m->len, s, n);
    m->len += n;
    m->declarator = 0;
}

void mangled_put(struct mangled *m, const char *s)
{
    mangled_put_n(m, s, strlen(s));
}

bool mangled_take(struct mangled *m, char c)
{
    if (*m->p != c)
        return false;
    m->p++;
    return true;
}

void mangled_need(struct mangled *m, char c)
{
    m->bad = m->bad || !mangled_take(m, c);
}

/* What was written from there on can be referred to. */
void mangled_remember(struct mangled *m, size_t from)
{
    const size_t n = m->len - from;
    if (m->bad || m->n_subs == SUBS_MOST || n > POOL - m->pool_len) {
        m->bad = true;
        return;
    }
    memcpy(m->pool + m->pool_len, m->out + from, n);
    m->subs[m->n_subs].at = (uint32_t)m->pool_len;
    m->subs[m->n_subs++].len = (uint32_t)n;
    m->pool_len += n;
}

size_t mangled_number(struct mangled *m)
{
    size_t n = 0;
    m->bad = m->bad || !isdigit((unsigned char)*m->p);
    for (; isdigit((unsigned char)*m->p) && n < 100000; m->p++)
        n = 10 * n + (size_t)(*m->p - '0');
    return n;
}

/* "_" is 0, "0_" 1, "Z_" 36: of the forms S_, T_ and the numbers of lambdas. */
size_t mangled_sequence(struct mangled *m)
{
    size_t n = 0;
    if (mangled_take(m, '_'))
        return 0;
    for (; (isdigit((unsigned char)*m->p) || isupper((unsigned char)*m->p)) && n < 100000; m->p++)
        n = 36 * n + (size_t)(isdigit((unsigned char)*m->p) ? *m->p - '0' : *m->p - 'A' + 10);
    mangled_need(m, '_');
    return n + 1;
}

bool name_demangle(const char *name, char *to, size_t room)
{
    to[0] = '\0';
    if (strncmp(name, "_Z", 2) != 0)
        return false;
    struct mangled *m = xmalloc(sizeof *m);
    memset(m, 0, offsetof(struct mangled, pool)); /* its length says what of the pool is there */
    m->p = name + 2;
    m->out = to;
    m->room = room;
    mangled_name(m);
    const bool good = !m->bad && m->len > 0;
    to[good ? m->len : 0] = '\0';
    free(m);
    return good;
}
