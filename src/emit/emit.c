/* SPDX-License-Identifier: Apache-2.0 */
/* emit.c - libfootplate: include/footplate/emit.h over the ring. It runs inside the job, so it has
 * what the rest of the tree avoids, state of the process and of each thread, and lacks what the
 * rest has: nothing here allocates, waits, prints or ends the program. */
#define FP_NO_INLINE
#include <stdlib.h>
#include <string.h>

#include "emit/emit_here.h"

_Static_assert((int)FP_STEP_BEGIN_ == (int)RING_STEP_BEGIN, "kinds are those of the ring");
_Static_assert((int)FP_STEP_END_ == (int)RING_STEP_END, "kinds are those of the ring");
_Static_assert((int)FP_SPAN_BEGIN_ == (int)RING_SPAN_BEGIN, "kinds are those of the ring");
_Static_assert((int)FP_SPAN_END_ == (int)RING_SPAN_END, "kinds are those of the ring");
_Static_assert((int)FP_MARK_ == (int)RING_MARK, "kinds are those of the ring");
_Static_assert((int)FP_COUNT_INT_ == (int)RING_COUNT_INT, "kinds are those of the ring");
_Static_assert((int)FP_COUNT_REAL_ == (int)RING_COUNT_REAL, "kinds are those of the ring");
_Static_assert((int)FP_PAST_BEGIN_ == (int)RING_PAST_BEGIN, "kinds are those of the ring");
_Static_assert((int)FP_PAST_END_ == (int)RING_PAST_END, "kinds are those of the ring");
_Static_assert((int)FP_LOSS_ == (int)RING_LOSS, "kinds are those of the ring");

uint8_t fp_on_;

struct ring_writer fp_writer_;
EMIT_OF_THREAD struct ring_thread fp_thread_ = RING_THREAD_INIT;

void fp_emit_(uint64_t event, uint64_t value)
{
    emit_here(event, value);
}

RING_NO_CANARY static void emit_mono(uint64_t event, uint64_t value)
{
    ring_put_mono(&fp_writer_, &fp_thread_, (struct ring_payload){event, value});
}

void (*fp_write_)(uint64_t event, uint64_t value) = fp_emit_;

static void in_child(void)
{
    ring_writer_forked(&fp_writer_);
}

static int is_set(const char *name)
{
    const char *v = secure_getenv(name);
    return v && v[0] && strcmp(v, "0") != 0;
}

/* secure_getenv: a program with more rights than its user must not write to a place that the user
 * names. */
static void emit_start_in(const char *dir)
{
    const char *clock = secure_getenv("FOOTPLATE_CLOCK");
    const int mono = clock && strcmp(clock, "monotonic") == 0;
    const int first = !fp_writer_.live;
    if (is_set("FOOTPLATE_DISABLE"))
        return;
    ring_writer_start(&fp_writer_, &fp_on_, dir, mono ? RING_CLOCK_MONOTONIC : 0);
    if (fp_writer_.clock == RING_CLOCK_MONOTONIC)
        fp_write_ = emit_mono;
    if (fp_on_ && first)
        pthread_atfork(NULL, NULL, in_child);
}

__attribute__((constructor)) static void emit_start(void)
{
    emit_start_in(secure_getenv(RING_ENV));
}

/* Between two recordings names still get ids: the second recording needs them. */
static int emit_paused;

int emit_begin(const char *dir)
{
    if (!fp_enabled())
        emit_start_in(dir);
    return fp_enabled();
}

void emit_end(void)
{
    ring_writer_end(&fp_writer_);
    emit_paused = fp_writer_.live != NULL;
}

__attribute__((destructor)) static void stop(void)
{
    ring_writer_stop(&fp_writer_);
}

static inline void emit_emit(uint32_t what, fp_name name, uint64_t value)
{
    if (fp_enabled())
        fp_write_(fp_said_(what, name), value);
}

fp_name fp_intern(const char *text)
{
    return fp_enabled() || emit_paused ? ring_intern(&fp_writer_, text) : 0;
}

void fp_fact(fp_name name, int64_t value)
{
    if (fp_enabled())
        ring_put_fact(&fp_writer_, &fp_thread_, name, (uint64_t)value);
}

uint64_t fp_asked(void)
{
    return fp_enabled() ? ring_asked(&fp_writer_) : 0;
}

int fp_enabled(void)
{
    return __atomic_load_n(&fp_on_, __ATOMIC_RELAXED);
}

void fp_step_begin(uint64_t step, enum fp_mode mode)
{
    emit_emit(FP_STEP_BEGIN_ | (uint32_t)mode << 8, 0, step);
}

void fp_step_end(uint64_t step, enum fp_mode mode)
{
    emit_emit(FP_STEP_END_ | (uint32_t)mode << 8, 0, step);
}

void fp_span_begin(fp_name name)
{
    emit_emit(FP_SPAN_BEGIN_, name, 0);
}

void fp_span_begin_value(fp_name name, int64_t value)
{
    emit_emit(FP_SPAN_BEGIN_, name, (uint64_t)value);
}

void fp_span_past(fp_name name, unsigned lane, uint64_t began_ago_ns, uint64_t ended_ago_ns)
{
    emit_emit(FP_PAST_BEGIN_ | (lane & 0xff) << 8, name, began_ago_ns);
    emit_emit(FP_PAST_END_ | (lane & 0xff) << 8, name, ended_ago_ns);
}

void fp_span_end(fp_name name)
{
    emit_emit(FP_SPAN_END_, name, 0);
}

void fp_mark(fp_name name)
{
    emit_emit(FP_MARK_, name, 0);
}

void fp_counter(fp_name name, int64_t value)
{
    emit_emit(FP_COUNT_INT_, name, (uint64_t)value);
}

void fp_counter_real(fp_name name, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    emit_emit(FP_COUNT_REAL_, name, bits);
}
