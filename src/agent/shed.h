/* SPDX-License-Identifier: Apache-2.0 */
/* shed.h - gives back memory that only the start needed. */
#ifndef AGENT_SHED_H
#define AGENT_SHED_H

/* Code that ran once lies in memory for good otherwise, a megabyte of it in a recorder of four.
 * What is still needed comes back from the page cache, a few pages at a time. */
void shed_startup_code(void);

#endif
