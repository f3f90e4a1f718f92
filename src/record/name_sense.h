/* SPDX-License-Identifier: Apache-2.0 */
/* name_sense.h - what the names of a framework's profiler say where their category leaves it open:
 * a collective's kernel is a kernel like any other to the profiler. All names with a meaning are
 * in one table. */
#ifndef RECORD_NAME_SENSE_H
#define RECORD_NAME_SENSE_H

enum name_sense {                       /* bits */
                  NAME_COMM_OP = 1,     /* on a thread: a collective */
                  NAME_COMM_KERNEL = 2, /* on a device: a collective's kernel */
                  NAME_MEMCPY = 4,      /* on a device */
                  NAME_MEMSET = 8,      /* on a device */
                  NAME_LOADER = 16,     /* on a thread: the next batch is awaited */
                  NAME_MODULE = 32,     /* on a thread: a module of the model */
                  NAME_STEP = 64,       /* a profiler's step, given as a plain span */
};

unsigned name_sense(const char *name);
/* After what makes a name that of a module; the name itself when it is none. */
const char *name_of_module(const char *name);
/* After what makes a name that of a step: its number, as text. */
const char *name_of_step(const char *name);

#endif
