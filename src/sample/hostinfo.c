/* SPDX-License-Identifier: Apache-2.0 */
/* hostinfo.c - what machine this is; see hostinfo.h. What cannot be read stays empty. */
#include "sample/hostinfo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/file.h"
#include "base/mem.h"
#include "sample/procfs.h"
#include "sample/source.h"
#include "sample/textscan.h"

/* A file of one line. */
static void hostinfo_read_line(char out[HOST_TEXT], const char *folder, const char *name)
{
    char path[PATH_LEN], text[HOST_TEXT];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    const long n = file_peek(path, text, sizeof text);
    size_t len = n > 0 ? (size_t)n : 0;
    while (len && (text[len - 1] == '\n' || text[len - 1] == ' '))
        len--;
    scan_copy(out, HOST_TEXT, text, len);
}

static void read_uname(struct hostinfo *out)
{
    struct utsname u;
    if (uname(&u) != 0)
        return;
    snprintf(out->hostname, sizeof out->hostname, "%s", u.nodename);
    snprintf(out->kernel, sizeof out->kernel, "%.40s %.60s %.20s", u.sysname, u.release, u.machine);
}

static void read_cores(struct hostinfo *out, const char *text, size_t n)
{
    struct lines l = lines_of(text, n);
    struct cpu_line c;
    while (procfs_cpu_next(&l, &c))
        out->cores += c.core != CPU_ALL;
}

void hostinfo_read(struct hostinfo *out, const char *proc, const char *sys)
{
    enum { TEXT_SIZE = 256 * 1024 }; /* cpuinfo's first core, and the cpu lines of 2000 cores */
    *out = (struct hostinfo){0};
    read_uname(out);
    hostinfo_read_line(out->boot_id, proc, "sys/kernel/random/boot_id");
    hostinfo_read_line(out->dmi_vendor, sys, "class/dmi/id/sys_vendor");
    hostinfo_read_line(out->dmi_product, sys, "class/dmi/id/product_name");
    char path[PATH_LEN], *text = xmalloc(TEXT_SIZE);
    struct meminfo m;
    snprintf(path, sizeof path, "%s/cpuinfo", proc);
    long n = file_peek(path, text, TEXT_SIZE);
    if (n > 0)
        procfs_cpu_model(text, (size_t)n, out->cpu_model, sizeof out->cpu_model);
    snprintf(path, sizeof path, "%s/stat", proc);
    n = file_peek(path, text, TEXT_SIZE);
    if (n > 0)
        read_cores(out, text, (size_t)n);
    snprintf(path, sizeof path, "%s/meminfo", proc);
    n = file_peek(path, text, TEXT_SIZE);
    if (n > 0 && procfs_meminfo(text, (size_t)n, &m))
        out->memory_bytes = m.kb[MEM_TOTAL] * 1024;
    free(text);
}
