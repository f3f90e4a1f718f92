/* SPDX-License-Identifier: Apache-2.0 */
/* proclabel.h - a process in few words: "python train.py". */
#ifndef AGENT_PROCLABEL_H
#define AGENT_PROCLABEL_H

#include <stddef.h>
#include <stdint.h>

/* From the arguments of a command line, `len` bytes with a NUL after each. Pure. */
void command_label(char *out, size_t size, const char *args, size_t len);
/* Of a living process; "process 123" when it cannot be asked (`proc` NULL, or it is gone). */
void process_label(char *out, size_t size, const char *proc, uint32_t pid);

#endif
