/* SPDX-License-Identifier: Apache-2.0 */
/* footplate/emit.h - tells Footplate what a program does: steps, spans, marks, counters.
 *
 *     fp_name forward = fp_intern("forward");   // once, not in the loop
 *     for (uint64_t i = 0; i < steps; i++) {
 *         fp_step_begin(i, FP_TRAIN);
 *         fp_span_begin(forward);
 *         ...
 *         fp_span_end(forward);
 *         fp_step_end(i, FP_TRAIN);
 *     }
 *
 * Link with -lfootplate. Under `footplate run` each call puts one event of 32 bytes into memory
 * shared with the recorder, in about 10 ns; otherwise it is a load and a branch.
 *
 * Every function may be called from any thread, from signal handlers, after fork, and at exit. None
 * of them blocks, allocates, prints, changes errno, or fails: an event for which there is no room
 * is counted and dropped, and the recorder shows how many. Events of one thread keep their order;
 * spans of one thread nest. C99 and C++98 or later, gcc or clang, Linux. The ABI is stable:
 * functions may be added, none changes. */
#ifndef FOOTPLATE_EMIT_H
#define FOOTPLATE_EMIT_H

#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FP_API __attribute__((visibility("default")))

/* What a string becomes when it is said often. 0 stands for no name. */
typedef uint32_t fp_name;

/* What a step is for. */
enum fp_mode { FP_TRAIN = 0, FP_EVAL = 1, FP_PREDICT = 2 };

/* The number of a name; the same text gives the same number, in forked children too. Names longer
 * than 62 bytes are cut, a program has at most 1023 of them, and what is beyond gets 0. Returns 0
 * when nobody records. */
FP_API fp_name fp_intern(const char *text);

/* A number that says what this process is, such as its rank: a counter that children of fork say
 * again by themselves, when they first say something. At most 16 names. */
FP_API void fp_fact(fp_name name, int64_t value);

/* Grows when the recorder has new settings for hooks in this process; 0 before its first event. */
FP_API uint64_t fp_asked(void);

/* Below this line: how the calls are made. */

enum fp_kind_ {
    FP_STEP_BEGIN_ = 1,
    FP_STEP_END_ = 2,
    FP_SPAN_BEGIN_ = 3,
    FP_SPAN_END_ = 4,
    FP_MARK_ = 5,
    FP_COUNT_INT_ = 6,
    FP_COUNT_REAL_ = 7,
    FP_PAST_BEGIN_ = 9,
    FP_PAST_END_ = 10,
    FP_LOSS_ = 11 /* of our own hooks */
};

extern FP_API uint8_t fp_on_; /* read only: 1 while somebody records */
/* `said` is one word, so that an event is few instructions: what is said, with its mode or lane, in
 * the upper half and the name in the lower. */
FP_API void fp_emit_(uint64_t said, uint64_t value);
extern FP_API void (*fp_write_)(uint64_t said, uint64_t value); /* the same; read only */

static inline uint64_t fp_said_(uint32_t what, fp_name name)
{
    return (uint64_t)what << 32 | name;
}

/* Define FP_NO_INLINE to call the library's functions instead, as other languages do. */
#ifdef FP_NO_INLINE
FP_API int fp_enabled(void);
FP_API void fp_step_begin(uint64_t step, enum fp_mode mode);
FP_API void fp_step_end(uint64_t step, enum fp_mode mode);
FP_API void fp_span_begin(fp_name name);
FP_API void fp_span_begin_value(fp_name name, int64_t value);
FP_API void fp_span_end(fp_name name);
FP_API void fp_span_past(fp_name name, unsigned lane, uint64_t began_ago_ns, uint64_t ended_ago_ns);
FP_API void fp_mark(fp_name name);
FP_API void fp_counter(fp_name name, int64_t value);
FP_API void fp_counter_real(fp_name name, double value);
#else

/* Not 0 while somebody records: for work that is only done to be recorded. */
static inline int fp_enabled(void)
{
    return __builtin_expect(__atomic_load_n(&fp_on_, __ATOMIC_RELAXED) != 0, 0) != 0;
}

static inline void fp_step_begin(uint64_t step, enum fp_mode mode)
{
    if (fp_enabled())
        fp_write_(fp_said_(FP_STEP_BEGIN_ | (uint32_t)mode << 8, 0), step);
}

/* With the number and mode that it began with. */
static inline void fp_step_end(uint64_t step, enum fp_mode mode)
{
    if (fp_enabled())
        fp_write_(fp_said_(FP_STEP_END_ | (uint32_t)mode << 8, 0), step);
}

static inline void fp_span_begin(fp_name name)
{
    if (fp_enabled())
        fp_write_(fp_said_(FP_SPAN_BEGIN_, name), 0);
}

/* The same with a number that is shown with the span. */
static inline void fp_span_begin_value(fp_name name, int64_t value)
{
    if (fp_enabled())
        fp_write_(fp_said_(FP_SPAN_BEGIN_, name), (uint64_t)value);
}

static inline void fp_span_end(fp_name name)
{
    if (fp_enabled())
        fp_write_(fp_said_(FP_SPAN_END_, name), 0);
}

/* A span that is over, told afterwards: how many nanoseconds ago it began and ended. Lane 0 is the
 * thread's own; lane 1 + d is device d (at most 254), whose spans may overlap the thread's. */
static inline void fp_span_past(fp_name name, unsigned lane, uint64_t began_ago_ns,
                                uint64_t ended_ago_ns)
{
    if (fp_enabled()) {
        fp_write_(fp_said_(FP_PAST_BEGIN_ | (lane & 0xff) << 8, name), began_ago_ns);
        fp_write_(fp_said_(FP_PAST_END_ | (lane & 0xff) << 8, name), ended_ago_ns);
    }
}

/* Something happened now. */
static inline void fp_mark(fp_name name)
{
    if (fp_enabled())
        fp_write_(fp_said_(FP_MARK_, name), 0);
}

/* A number that is worth a curve: queue depth, loss, learning rate. */
static inline void fp_counter(fp_name name, int64_t value)
{
    if (fp_enabled())
        fp_write_(fp_said_(FP_COUNT_INT_, name), (uint64_t)value);
}

static inline void fp_counter_real(fp_name name, double value)
{
    if (fp_enabled()) {
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        fp_write_(fp_said_(FP_COUNT_REAL_, name), bits);
    }
}
#endif

#ifdef __cplusplus
}
#endif

#endif
