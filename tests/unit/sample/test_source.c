/* SPDX-License-Identifier: Apache-2.0 */
/* test_source.c - files that are kept open. */
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "capture.h"
#include "sample/source.h"

TEST(a_changed_file_is_read_anew_from_its_start)
{
    struct probe_env m = machine_made();
    struct source s = {0};
    struct reading r;
    struct err e;
    char text[32];
    machine_put(m.proc, "a", "one");
    OK(source_open(&s, &e, "%s/a", m.proc));
    CHECK(source_read(&s, text, sizeof text, &r));
    CHECK_INT(r.n, 3);
    machine_put(m.proc, "a", "three");
    CHECK(source_read(&s, text, sizeof text, &r));
    CHECK_INT(r.n, 5);
    CHECK(memcmp(text, "three", 5) == 0);
    CHECK(!r.full);
    CHECK(source_read(&s, text, 5, &r));
    CHECK(r.full);
    source_close(&s);
    source_close(&s);
}

TEST(a_file_that_is_not_there_is_named_in_the_error)
{
    struct source s = {0};
    struct err e = {0};
    CHECK(source_open(&s, &e, "/nowhere/%s", "x") == ERR_SYS);
    CHECK(strstr(e.msg, "/nowhere/x"));
    CHECK(!source_is_open(&s));
}

TEST(a_vanished_file_is_opened_again_when_it_is_back)
{
    char path[64];
    struct source s = {0};
    struct reading r;
    struct err e;
    char text[64];
    /* A process' file: gone with the process. */
    const pid_t pid = fork();
    if (pid == 0) {
        pause();
        _exit(0);
    }
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    OK(source_open(&s, &e, "%s", path));
    CHECK(source_read(&s, text, sizeof text, &r));
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    CHECK(!source_read(&s, text, sizeof text, &r));
    CHECK_INT(r.sys, ESRCH);
    CHECK_INT(s.fd, -1);
    CHECK(!source_read(&s, text, sizeof text, &r));
    CHECK_INT(r.sys, ENOENT);
    free(s.path);
    s.path = strdup("/proc/self/statm");
    CHECK(source_read(&s, text, sizeof text, &r));
    source_close(&s);
}

TEST(a_text_larger_than_a_page_comes_whole)
{
    struct probe_env m = machine_made();
    struct source s = {0};
    struct textbuf b = {0};
    struct near_text near;
    struct reading r;
    struct err e;
    const char *text;
    char *big = malloc(50001);
    memset(big, 'x', 50000);
    big[50000] = '\0';
    machine_put(m.proc, "big", big);
    OK(source_open(&s, &e, "%s/big", m.proc));
    CHECK(source_read_text(&s, &near, &b, &text, &r));
    CHECK_INT(r.n, 50000);
    CHECK(text[49999] == 'x');
    machine_put(m.proc, "big", "small");
    CHECK(source_read_text(&s, &near, &b, &text, &r));
    CHECK_INT(r.n, 5);
    source_close(&s);
    textbuf_free(&b);
    free(big);
}

TEST(the_kernels_paged_files_come_whole)
{
    /* mountinfo and the like are handed out a page at a time; compare with stdio's view. */
    struct source s = {0};
    struct textbuf b = {0};
    struct near_text near;
    struct reading r;
    struct err e;
    const char *text;
    for (int i = 0; i < 200; i++) /* many lines: neighbours that differ are not merged */
        CHECK(mmap(NULL, 4096, i % 2 ? PROT_READ : PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
    OK(source_open(&s, &e, "/proc/self/maps"));
    CHECK(source_read_text(&s, &near, &b, &text, &r));
    CHECK(r.n > 8192);
    CHECK(text[r.n - 1] == '\n');
    CHECK(memmem(text, r.n, "[stack]", 7));
    CHECK(memmem(text, r.n, "[vdso]", 6));
    source_close(&s);
    textbuf_free(&b);
}

TEST(reading_a_closed_source_fails_without_harm)
{
    struct source s = {0};
    struct reading r;
    char text[8];
    CHECK(!source_read(&s, text, sizeof text, &r));
    CHECK_INT(r.sys, EBADF);
    CHECK(file_peek("/nowhere", text, sizeof text) == -ENOENT);
}
