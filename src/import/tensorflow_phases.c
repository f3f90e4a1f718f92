/* SPDX-License-Identifier: Apache-2.0 */
/* tensorflow_phases.c - forward and backward passes from operators that a training container
 * marked with them. Operators of a phase run on many threads at once, so the marks of all threads
 * are gathered, sorted and joined until the phase changes. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "import/tensorflow.h"

#define MARKER "aws_marker-"

static const struct {
    const char *word;
    enum tf_phase phase;
} words[] = {
    {"ForwardPass/", TF_FORWARD},
    {"ComputeGradient/", TF_BACKWARD},
    {"ApplyGradient/", TF_BACKWARD},
};

enum tf_phase tf_phase_of(const char *name)
{
    const size_t n = sizeof MARKER - 1;
    if (strncmp(name, MARKER, n) != 0)
        return TF_NO_PHASE;
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (text_starts(name + n, words[i].word))
            return words[i].phase;
    return TF_NO_PHASE;
}

void tf_phases_add(struct tf_phases *p, enum tf_phase phase, const struct event *v)
{
    struct tf_stretch *last = p->n ? &p->v[p->n - 1] : NULL;
    const int64_t end = v->at.ns + v->dur_ns;
    if (last && last->phase == phase && v->at.ns >= last->at && v->at.ns <= last->end) {
        last->end = MAX_OF(last->end, end);
        return;
    }
    if (p->n == TF_STRETCHES_MOST) {
        p->dropped++;
        return;
    }
    if (p->n == p->cap) {
        p->cap = p->cap ? 2 * p->cap : 64;
        p->v = xrealloc(p->v, p->cap, sizeof *p->v);
    }
    p->v[p->n++] = (struct tf_stretch){v->at.ns, end, phase};
}

static int tensorflow_phases_by_begin(const void *a, const void *b)
{
    const struct tf_stretch *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

void tf_phases_join(struct tf_phases *p)
{
    size_t kept = 0;
    if (p->n)
        qsort(p->v, p->n, sizeof *p->v, tensorflow_phases_by_begin);
    for (size_t i = 0; i < p->n; i++) {
        struct tf_stretch *last = kept ? &p->v[kept - 1] : NULL;
        if (last && last->phase == p->v[i].phase) {
            last->end = MAX_OF(last->end, p->v[i].end);
            continue;
        }
        if (last) /* where they overlap, the later one has begun */
            last->end = MIN_OF(last->end, p->v[i].at);
        p->v[kept++] = p->v[i];
    }
    p->n = kept;
}

void tf_phases_free(struct tf_phases *p)
{
    free(p->v);
    *p = (struct tf_phases){0};
}
