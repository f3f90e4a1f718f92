/* SPDX-License-Identifier: Apache-2.0 */
/* core_gate.h - what Gate and SyncGate share: where a thread is, and how a gate looks.
 *
 * A gate's struct begins with PyObject base and PyObject *original. Every attribute but a few, its
 * class too, is the original's. */
#ifndef PYTHON_CORE_GATE_H
#define PYTHON_CORE_GATE_H

#include <stdbool.h>

#include "core.h"

/* What this thread is inside of. Nothing in it survives the call that set it. initial-exec: a load,
 * where a module that is loaded late would otherwise call a function for it. */
extern _Thread_local uint32_t core_inside __attribute__((tls_model("initial-exec")));

/* Set in processes that only the gates made with `always` may mark: loader workers. */
extern bool core_quiet;

PyObject *core_looks_getattr(PyObject *self, PyObject *name);
int core_looks_setattr(PyObject *self, PyObject *name, PyObject *value);
PyObject *core_looks_repr(PyObject *self);
PyObject *core_looks_reduce(PyObject *self, PyObject *none);
PyObject *core_looks_class(PyObject *self, void *none);
PyObject *core_looks_dict(PyObject *self, void *none);
PyObject *core_looks_original(PyObject *self, void *none);

#define CORE_LOOKS_GETSET                                                                          \
    {"__class__", core_looks_class, NULL, NULL, NULL},                                             \
        {"__dict__", core_looks_dict, NULL, NULL, NULL},                                           \
    {                                                                                              \
        "_footplate_original", core_looks_original, NULL, NULL, NULL                               \
    }

#endif
