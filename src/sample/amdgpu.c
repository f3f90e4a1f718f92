/* SPDX-License-Identifier: Apache-2.0 */
/* amdgpu.c - see amdgpu.h. */
#include "sample/amdgpu.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "sample/source.h"
#include "sample/textscan.h"

#define AMD_VENDOR "0x1002"

bool amdgpu_number(const void *text, size_t n, double *out)
{
    const char *p = text, *end = p + n;
    uint64_t v;
    if (!scan_u64(&p, end, &v) || (p < end && *p != '\n'))
        return false;
    *out = (double)v;
    return true;
}

static bool active_level(const char *p, const char *end, uint64_t *mhz)
{
    uint64_t level;
    if (end == p || end[-1] != '*' || !scan_u64(&p, end, &level) || p == end || *p++ != ':')
        return false;
    return scan_u64(&p, end, mhz) && end - p >= 3 && memcmp(p + 1, "hz", 2) == 0 && *p == 'M';
}

bool amdgpu_dpm_mhz(const void *text, size_t n, double *out)
{
    const char *p = text, *end = p + n;
    while (p < end) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        const char *stop = nl ? nl : end;
        uint64_t mhz;
        if (active_level(p, stop, &mhz)) {
            *out = (double)mhz;
            return true;
        }
        p = nl ? nl + 1 : end;
    }
    return false;
}

/* The table begins with its size (16 bits), its format and its content (8 bits each). */
bool amdgpu_metric(const void *p, size_t n, enum amdgpu_at at, double *out)
{
    enum { LEAST_SIZE = 80, NOT_THERE = 0xffff };
    struct cur c = cur_of(p, n);
    const uint16_t size = cur_u16(&c);
    const uint8_t format = cur_u8(&c), content = cur_u8(&c);
    if (c.bad || format != 1 || content < 1 || content > 3 || size > n || size < LEAST_SIZE)
        return false;
    uint16_t v;
    memcpy(&v, (const uint8_t *)p + at, sizeof v);
    if (v == NOT_THERE)
        return false;
    *out = v;
    return true;
}

/* "card12" but not "card12-DP-1" */
static bool card_number(const char *name, unsigned *out)
{
    const char *p = name + 4, *end = name + strlen(name);
    int v;
    if (strncmp(name, "card", 4) != 0 || !scan_int(&p, end, &v) || p != end)
        return false;
    *out = (unsigned)v;
    return true;
}

static bool is_amd(const char *device)
{
    char path[AMDGPU_PATH + 16], text[16] = "";
    snprintf(path, sizeof path, "%s/vendor", device);
    return file_peek(path, text, sizeof text - 1) > 0 && text_starts(text, AMD_VENDOR);
}

static void find_hwmon(struct amdgpu_card *c)
{
    char path[AMDGPU_PATH];
    if (snprintf(path, sizeof path, "%s/hwmon", c->device) >= (int)sizeof path)
        return;
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));)
        if (strncmp(e->d_name, "hwmon", 5) == 0 && strlen(e->d_name) < 16)
            snprintf(c->hwmon, sizeof c->hwmon, "%.480s/%.16s", path, e->d_name);
    if (d)
        closedir(d);
}

static int amdgpu_by_number(const void *a, const void *b)
{
    const struct amdgpu_card *x = a, *y = b;
    return x->number < y->number ? -1 : x->number > y->number;
}

unsigned amdgpu_find(struct amdgpu_card out[AMDGPU_MOST], const char *sys)
{
    char drm[AMDGPU_PATH];
    unsigned n = 0;
    if (snprintf(drm, sizeof drm, "%s/class/drm", sys) > AMDGPU_PATH / 2)
        return 0;
    DIR *d = opendir(drm);
    for (struct dirent *e; d && n < AMDGPU_MOST && (e = readdir(d));) {
        struct amdgpu_card *c = &out[n];
        *c = (struct amdgpu_card){0};
        if (!card_number(e->d_name, &c->number))
            continue;
        snprintf(c->device, sizeof c->device, "%.256s/card%u/device", drm, c->number);
        if (!is_amd(c->device))
            continue;
        find_hwmon(c);
        n++;
    }
    if (d)
        closedir(d);
    qsort(out, n, sizeof *out, amdgpu_by_number);
    return n;
}
