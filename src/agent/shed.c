/* SPDX-License-Identifier: Apache-2.0 */
/* shed.c - see shed.h. */
#include "agent/shed.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>

/* Code is never written to, so all of it is as the file has it. */
static void shed_line(const char *line)
{
    uintptr_t from, to;
    char may[5], path[2];
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %*s %*s %*s %1s", &from, &to, may, path) == 4 &&
        may[0] == 'r' && may[1] == '-' && may[2] == 'x' && path[0] == '/')
        madvise((void *)from, to - from, MADV_DONTNEED);
}

void shed_idle_code(void)
{
    char line[512];
    FILE *f = fopen("/proc/self/maps", "re");
    while (f && fgets(line, sizeof line, f))
        shed_line(line);
    if (f)
        fclose(f);
}
