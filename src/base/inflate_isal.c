/* SPDX-License-Identifier: Apache-2.0 */
/* inflate_isal.c - gzip by Intel's ISA-L, where it is there. */
#include "base/inflate_internal.h"

#ifdef FP_HAVE_ISAL
#include <dlfcn.h>
#include <isa-l/igzip_lib.h>
#include <limits.h>
#include <stdlib.h>

#include "base/isal.h"
#include "base/mem.h"

struct inflate_isal_engine {
    void *library;
    void (*init)(struct inflate_state *);
    void (*reset)(struct inflate_state *);
    int (*step)(struct inflate_state *);
    struct inflate_state state;
};

static void inflate_isal_load(struct inflate_isal_engine *g)
{
    *(void **)&g->init = dlsym(g->library, "isal_inflate_init");
    *(void **)&g->reset = dlsym(g->library, "isal_inflate_reset");
    *(void **)&g->step = dlsym(g->library, "isal_inflate");
}

static void inflate_isal_engine_close(void *state)
{
    struct inflate_isal_engine *g = state;
    if (g->library)
        dlclose(g->library);
    free(g);
}

static void *inflate_isal_engine_open(void)
{
    struct inflate_isal_engine *g = xcalloc(1, sizeof *g);
    g->library = isal_open();
    if (g->library)
        inflate_isal_load(g);
    if (!g->init || !g->reset || !g->step) {
        inflate_isal_engine_close(g);
        return NULL;
    }
    g->init(&g->state);
    g->state.crc_flag = ISAL_GZIP;
    return g;
}

static void inflate_isal_engine_reset(void *state)
{
    struct inflate_isal_engine *g = state;
    g->reset(&g->state);
    g->state.crc_flag = ISAL_GZIP;
}

static enum inflate_step inflate_isal_engine_step(void *state, struct inflate_io *io)
{
    struct inflate_isal_engine *g = state;
    const uint32_t in = (uint32_t)MIN_OF(io->in_left, UINT32_MAX);
    const uint32_t out = (uint32_t)MIN_OF(io->out_left, UINT32_MAX);
    g->state.next_in = (uint8_t *)(uintptr_t)io->in; /* it does not write there */
    g->state.avail_in = in;
    g->state.next_out = io->out;
    g->state.avail_out = out;
    const int rc = g->step(&g->state);
    isal_leave();
    io->in = g->state.next_in;
    io->in_left -= in - g->state.avail_in;
    io->out += out - g->state.avail_out;
    io->out_left -= out - g->state.avail_out;
    if (rc != ISAL_DECOMP_OK && rc != ISAL_END_INPUT && rc != ISAL_OUT_OVERFLOW)
        return STEP_DAMAGED;
    return g->state.block_state == ISAL_BLOCK_FINISH ? STEP_MEMBER : STEP_GOES_ON;
}

const struct inflate_ops inflate_isal = {inflate_isal_engine_open, inflate_isal_engine_reset,
                                         inflate_isal_engine_step, inflate_isal_engine_close};

#else

static void *inflate_isal_engine_open(void)
{
    return NULL;
}

const struct inflate_ops inflate_isal = {inflate_isal_engine_open, NULL, NULL, NULL};

#endif
