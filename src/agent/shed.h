/* SPDX-License-Identifier: Apache-2.0 */
/* shed.h - gives back memory that is not needed for a while. */
#ifndef AGENT_SHED_H
#define AGENT_SHED_H

/* For after the start, and after work that is done once a minute: its code would lie in memory for
 * good otherwise, a megabyte of it in a recorder of four. What is needed again comes back from the
 * page cache, a few pages at a time. */
void shed_idle_code(void);

#endif
