/* SPDX-License-Identifier: Apache-2.0 */
/* procfs_cgroup.c - where a process' control groups are, and their files; see procfs.h. */
#include <string.h>

#include "sample/procfs.h"
#include "sample/textscan.h"

/* Whether a comma-separated list holds the word. */
static bool list_has(const char *p, const char *end, const char *word)
{
    const size_t len = strlen(word);
    while (p < end) {
        const char *comma = memchr(p, ',', (size_t)(end - p));
        const char *stop = comma ? comma : end;
        if ((size_t)(stop - p) == len && memcmp(p, word, len) == 0)
            return true;
        p = stop + (comma != NULL);
    }
    return false;
}

/* Paths are kept byte for byte: they are opened, not shown. */
static bool copy_path(char *out, size_t size, const char *p, const char *end)
{
    const size_t len = (size_t)(end - p);
    if (len == 0 || len >= size || memchr(p, '\0', len))
        return false;
    memcpy(out, p, len);
    out[len] = '\0';
    return true;
}

/* hierarchy:controllers:path, version 2 is "0::path" */
bool procfs_cgroup_path(const char *text, size_t n, const char *controller, char *out, size_t size)
{
    struct lines l = lines_of(text, n);
    const char *p, *end;
    while (lines_next(&l, &p, &end)) {
        const char *list = memchr(p, ':', (size_t)(end - p));
        const char *path = list ? memchr(list + 1, ':', (size_t)(end - list - 1)) : NULL;
        if (!path)
            continue;
        const bool v2 = path == list + 1;
        if (*controller ? !v2 && list_has(list + 1, path, controller) : v2)
            return copy_path(out, size, path + 1, end);
    }
    return false;
}

static bool is_octal(const char *p)
{
    return p[0] >= '0' && p[0] <= '3' && p[1] >= '0' && p[1] <= '7' && p[2] >= '0' && p[2] <= '7';
}

/* mountinfo writes blanks, tabs, line ends and backslashes as \ooo. */
static void unescape(char *s)
{
    char *to = s;
    while (*s) {
        if (*s == '\\' && s[1] && s[2] && s[3] && is_octal(s + 1)) {
            const int c = (s[1] - '0') * 64 + (s[2] - '0') * 8 + (s[3] - '0');
            *to++ = (char)c;
            s += 4;
        } else {
            *to++ = *s++;
        }
    }
    *to = '\0';
}

/* id parent major:minor root point options [optional...] - type source super_options */
static bool parse_mount(const char *p, const char *end, const char *controller,
                        struct cgroup_mount *out)
{
    const char *root, *point, *word;
    size_t root_len, point_len, len;
    if (!scan_skip_words(&p, end, 3) || !scan_word(&p, end, &root, &root_len) ||
        !scan_word(&p, end, &point, &point_len))
        return false;
    do {
        if (!scan_word(&p, end, &word, &len))
            return false;
    } while (len != 1 || *word != '-');
    if (!scan_word(&p, end, &word, &len))
        return false;
    if (*controller) {
        if (len != strlen("cgroup") || memcmp(word, "cgroup", len) != 0 ||
            !scan_skip_words(&p, end, 1) || !scan_word(&p, end, &word, &len) ||
            !list_has(word, word + len, controller))
            return false;
    } else if (len != strlen("cgroup2") || memcmp(word, "cgroup2", len) != 0) {
        return false;
    }
    return copy_path(out->root, sizeof out->root, root, root + root_len) &&
           copy_path(out->point, sizeof out->point, point, point + point_len);
}

bool procfs_cgroup_mount(const char *text, size_t n, const char *controller,
                         struct cgroup_mount *out)
{
    struct lines l = lines_of(text, n);
    const char *p, *end;
    while (lines_next(&l, &p, &end))
        if (parse_mount(p, end, controller, out)) {
            unescape(out->root);
            unescape(out->point);
            return true;
        }
    return false;
}

/* Version 1 writes "no limit" as the most whole pages that fit in a signed 64-bit number. */
#define V1_LARGEST ((uint64_t)1 << 62)

static bool parse_number(const char **p, const char *end, uint64_t *out)
{
    scan_blanks(p, end);
    if (SCAN_STARTS(*p, end, "max") || SCAN_STARTS(*p, end, "-1")) {
        *p += **p == 'm' ? strlen("max") : strlen("-1");
        *out = CGROUP_NO_LIMIT;
        return true;
    }
    if (!scan_u64(p, end, out))
        return false;
    if (*out >= V1_LARGEST)
        *out = CGROUP_NO_LIMIT;
    return true;
}

bool procfs_cgroup_number(const char *text, size_t n, uint64_t *out)
{
    const char *p = text, *end = n ? text + n : text;
    return parse_number(&p, end, out);
}

bool procfs_cgroup_cpu_max(const char *text, size_t n, struct cgroup_quota *out)
{
    const char *p = text, *end = n ? text + n : text;
    struct cgroup_quota q;
    if (!parse_number(&p, end, &q.quota_us) || !scan_u64(&p, end, &q.period_us) || q.period_us == 0)
        return false;
    *out = q;
    return true;
}
