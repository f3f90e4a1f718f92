/* SPDX-License-Identifier: Apache-2.0 */
/* ops_internal.h - between the files of ops.h: what is gathered of threads (ops_threads.c), what
 * devices add to it (ops_devices.c), and what becomes a row (ops_rows.c). */
#ifndef QUERY_OPS_INTERNAL_H
#define QUERY_OPS_INTERNAL_H

#include "query/ops.h"
#include "query/ops_class.h"
#include "query/ops_launch.h"
#include "query/ops_names.h"

enum { NO_NODE = 0 }; /* node 0 is outside of all spans */

/* In place of a node's number: that of a backward operator, whose node is known only when all
 * threads have been seen. */
#define BACKWARD ((uint32_t)1 << 31)

/* A profiler ties an operator to the one that runs backward for it by two marks with one link, one
 * where each begins. Their values: */
enum { ARROW_FROM = 1, ARROW_TO = 3 };

/* What is known of a name on one side. */
struct stat {
    uint64_t calls;
    int64_t self_ns, total_ns;
    int64_t device_self_ns, device_total_ns;
    uint64_t launched; /* device events that count for it itself */
    uint32_t open;     /* spans of this name that run now */
    bool used;
    enum event_category category;
};

struct side {
    struct op_names names;
    struct stat *v; /* by number of the name */
    uint32_t cap;
};

/* A span of a thread that something was launched in, kept while its process is read. A node's
 * parent has the lower number. */
struct node {
    int64_t device_ns;
    uint32_t parent, name;
    bool outer; /* no span of the same name around it */
};

/* A span that runs. */
struct frame {
    int64_t begin, end;
    uint64_t tie;  /* the id that launches name as their parent */
    uint32_t node; /* NO_NODE as long as nothing was launched in it */
    uint32_t name;
    bool outer, call;
};

struct ops {
    enum ops_by by;
    bool thread; /* that is what the track is */
    struct side cpu, gpu;
    struct node *nodes;
    size_t n_nodes, cap_nodes;
    struct frame *stack;
    size_t depth, cap_stack;
    int64_t cursor; /* time up to here has been given out */
    struct launches launches;
    /* By module: the forward ends of arrows and the nodes they are in; the links of backward ends.
     */
    struct launches arrows;
    uint64_t *backward;
    size_t n_backward, cap_backward;
    /* The outermost operator that runs on this thread, and the arrow that ends in it: the number
     * behind BACKWARD, 0 when there is none. */
    int64_t op_begin, op_end;
    uint32_t op_arrow;
    bool indexed;
    struct stat outside; /* device events that no span counts for */
};

/* Of a side, by the number of the name; may move the others. */
struct stat *ops_stat(struct side *s, uint32_t name);
uint32_t ops_add_node(struct ops *o, const struct node *n);
void ops_begin_thread(struct ops *o);
void ops_sweep_thread(struct ops *o, const struct run_event *v, size_t n);
void ops_end_thread(struct ops *o);
void ops_begin_device(struct ops *o);
void ops_sweep_device(struct ops *o, const struct run_event *v, size_t n);
/* Kernels of one group become one row, in place; operators go. Returns how many rows are left. */
size_t ops_fold_groups(struct op_row *v, size_t n);

#endif
