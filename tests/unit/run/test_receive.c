/* SPDX-License-Identifier: Apache-2.0 */
/* test_receive.c - runs that arrive part by part. */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/receive.h"
#include "run/storage.h"
#include "test.h"

#define ABOUT "{\"format\": \"footplate-run\", \"id\": \"r\", \"start_ns\": 1790000000000000000}"
#define ABOUT_LATER                                                                                \
    "{\"format\": \"footplate-run\", \"id\": \"r\", \"start_ns\": 1790000001000000000}"

static bool sync_fails;

int __wrap_syncfs(int fd);
int __wrap_syncfs(int fd)
{
    (void)fd;
    errno = EIO;
    return sync_fails ? -1 : 0;
}

static struct receive_place place(const char *node, const char *file)
{
    return (struct receive_place){test_tmpdir(), "r", node, file};
}

/* A file that has a header, a few bytes, and the end of a closed file where that is wanted. */
static struct buf file_of(enum file_kind kind, uint64_t segment, uint8_t id, bool closed)
{
    struct buf b = {0};
    struct file_header h = {.kind = kind, .segment = segment};
    memset(h.id, id, sizeof h.id);
    file_header_put(&b, &h);
    buf_put(&b, "0123456789abcdef", 16);
    if (closed) {
        buf_u64(&b, FILE_HEADER_LEN);
        buf_put(&b, FILE_END_MAGIC, 8);
    }
    return b;
}

static struct receive_part part_of(const struct buf *b, size_t from, size_t to, uint8_t id)
{
    struct receive_part part = {.offset = from, .p = b->p + from, .n = to - from};
    memset(part.id, id, sizeof part.id);
    return part;
}

static void make_run(void)
{
    const struct receive_place about = place(NULL, RUN_ABOUT);
    struct err e;
    OK(receive_own(&about, "team", true, &e));
    OK(receive_put(&about, ABOUT, strlen(ABOUT), &e));
}

TEST(only_names_of_files_of_a_run_are_allowed)
{
    static const struct {
        const char *run, *node, *file;
        enum run_file_kind kind; /* OTHER: refused */
    } rows[] = {
        {"r", NULL, "run.json", RUN_FILE_ABOUT},
        {"r", NULL, "findings.json", RUN_FILE_WHOLE},
        {"r", NULL, "report.html", RUN_FILE_WHOLE},
        {"r", NULL, "received.json", RUN_FILE_OTHER},
        {"r", NULL, "metrics.fp", RUN_FILE_OTHER},
        {"r", "n", "run.json", RUN_FILE_OTHER},
        {"r", "n", "node.json", RUN_FILE_NODE},
        {"r", "n", "node-2.json", RUN_FILE_NODE},
        {"r", "n", "node-1.json", RUN_FILE_OTHER},
        {"r", "n", "node-02.json", RUN_FILE_OTHER},
        {"r", "n", "metrics.fp", RUN_FILE_SEALED},
        {"r", "n", "metrics-12.fp", RUN_FILE_SEALED},
        {"r", "n", "events.tail", RUN_FILE_TAIL},
        {"r", "n", "trace-12-0.fp", RUN_FILE_SEALED},
        {"r", "n", "trace-12-python-3-2.tail", RUN_FILE_TAIL},
        {"r", "n", "trace-12.fp", RUN_FILE_OTHER},
        {"r", "n", "trace--1.fp", RUN_FILE_OTHER},
        {"r", "n", "lock", RUN_FILE_OTHER},
        {"r", "n", "metrics.fp.tmp-1", RUN_FILE_OTHER},
        {"r", "n", "../metrics.fp", RUN_FILE_OTHER},
        {"r", "n", "", RUN_FILE_OTHER},
        {"..", NULL, "run.json", RUN_FILE_OTHER},
        {".r", NULL, "run.json", RUN_FILE_OTHER},
        {"a/b", NULL, "run.json", RUN_FILE_OTHER},
        {"", NULL, "run.json", RUN_FILE_OTHER},
        {"r", "..", "node.json", RUN_FILE_OTHER},
        {"r", "a/..", "node.json", RUN_FILE_OTHER},
        {"r", "", "node.json", RUN_FILE_OTHER},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct receive_place at = {"/x", rows[i].run, rows[i].node, rows[i].file};
        enum run_file_kind kind = RUN_FILE_OTHER;
        struct err e;
        const int rc = receive_check_place(&at, &kind, &e);
        CHECK_INT(rc, rows[i].kind == RUN_FILE_OTHER ? ERR_USAGE : 0);
        if (rc == 0)
            CHECK_INT(kind, rows[i].kind);
    }
}

TEST(parts_are_appended_where_the_file_ends_and_nowhere_else)
{
    const struct receive_place at = place("n", "metrics.fp");
    struct buf b = file_of(FILE_SEALED, 0, 7, true);
    struct receive_part part = part_of(&b, 0, 70, 7);
    struct receive_file f;
    struct err e;
    make_run();
    OK(receive_append(&at, &part, &f, &e));
    CHECK_INT(f.size, 70);
    CHECK_INT(receive_append(&at, &part, &f, &e), ERR_BUSY); /* the same again */
    CHECK_INT(f.size, 70);
    part = part_of(&b, 80, b.len, 7); /* a hole */
    CHECK_INT(receive_append(&at, &part, &f, &e), ERR_BUSY);
    CHECK_INT(f.size, 70);
    part = part_of(&b, 70, b.len, 7);
    OK(receive_append(&at, &part, &f, &e));
    CHECK(f.size == b.len && f.complete);
    buf_free(&b);
}

TEST(a_file_of_another_recorder_is_left_alone)
{
    const struct receive_place at = place("n", "metrics.fp");
    struct buf b = file_of(FILE_SEALED, 0, 7, false), other = file_of(FILE_SEALED, 0, 8, false);
    struct receive_part part = part_of(&b, 0, b.len, 7);
    struct receive_file f;
    struct err e;
    make_run();
    OK(receive_append(&at, &part, &f, &e));
    part = part_of(&other, 0, other.len, 8);
    CHECK_INT(receive_append(&at, &part, &f, &e), ERR_USAGE);
    part = part_of(&other, 0, other.len, 7); /* announced as another than it is */
    part.offset = 0;
    const struct receive_place second = place("n", "metrics-2.fp");
    CHECK_INT(receive_append(&second, &part, &f, &e), ERR_FORMAT);
    part = part_of(&other, 0, 10, 8); /* less than a header */
    CHECK_INT(receive_append(&second, &part, &f, &e), ERR_FORMAT);
    buf_free(&b);
    buf_free(&other);
}

TEST(a_part_that_is_refused_leaves_no_folder)
{
    const struct receive_place at = place("n", "metrics.fp");
    char path[PATH_LEN];
    struct buf b = file_of(FILE_SEALED, 0, 7, false);
    struct receive_part part = part_of(&b, 70, b.len, 7);
    struct receive_file f;
    struct err e;
    make_run();
    CHECK_INT(receive_append(&at, &part, &f, &e), ERR_BUSY);
    part = part_of(&b, 0, 0, 7);
    CHECK_INT(receive_append(&at, &part, &f, &e), ERR_FORMAT);
    OK(path_join(path, &e, "%s/r/node-n", test_tmpdir()));
    CHECK(!storage_has(path));
    buf_free(&b);
}

TEST(a_tail_begins_again_with_a_later_segment_and_never_goes_back)
{
    const struct receive_place at = place("n", "metrics.tail");
    struct buf b = file_of(FILE_TAIL, 4, 7, false), next = file_of(FILE_TAIL, 5, 7, false);
    struct receive_part part = part_of(&b, 0, b.len, 7);
    struct receive_file f;
    struct err e;
    make_run();
    part.segment = 4;
    OK(receive_append(&at, &part, &f, &e));
    struct receive_part later = part_of(&next, 0, 70, 7);
    later.segment = 5;
    OK(receive_append(&at, &later, &f, &e));
    CHECK(f.size == 70 && f.segment == 5);
    CHECK_INT(receive_append(&at, &part, &f, &e), ERR_USAGE);
    buf_free(&b);
    buf_free(&next);
}

TEST(a_torn_header_begins_again)
{
    const struct receive_place at = place("n", "metrics.fp");
    char path[PATH_LEN];
    struct buf b = file_of(FILE_SEALED, 0, 7, false);
    struct receive_part part = part_of(&b, 0, b.len, 7);
    struct receive_file f;
    struct err e;
    make_run();
    OK(receive_append(&at, &part, &f, &e));
    OK(receive_path(&at, path, &e));
    CHECK(truncate(path, 20) == 0); /* killed while it wrote */
    OK(receive_look(&at, &f, &e));
    CHECK_INT(f.size, 0);
    OK(receive_append(&at, &part, &f, &e));
    CHECK_INT(f.size, b.len);
    buf_free(&b);
}

TEST(a_complete_file_removes_its_tail_and_takes_no_more)
{
    const struct receive_place at = place("n", "metrics.fp"), tail = place("n", "metrics.tail");
    char path[PATH_LEN];
    struct buf b = file_of(FILE_SEALED, 0, 7, true), t = file_of(FILE_TAIL, 1, 7, false);
    struct receive_part part = part_of(&t, 0, t.len, 7);
    struct receive_file f;
    struct err e;
    make_run();
    part.segment = 1;
    OK(receive_append(&tail, &part, &f, &e));
    part = part_of(&b, 0, b.len, 7);
    part.complete = true;
    OK(receive_append(&at, &part, &f, &e));
    OK(receive_path(&tail, path, &e));
    CHECK(!storage_has(path));
    part = part_of(&b, b.len, b.len, 7); /* the answer was lost: once more */
    part.complete = true;
    OK(receive_append(&at, &part, &f, &e));
    part = (struct receive_part){.offset = b.len, .p = "x", .n = 1};
    memset(part.id, 7, sizeof part.id);
    CHECK_INT(receive_append(&at, &part, &f, &e), ERR_USAGE);
    buf_free(&b);
    buf_free(&t);
}

TEST(a_file_is_complete_and_without_a_tail_only_when_it_is_durable)
{
    const struct receive_place at = place("n", "metrics.fp"), tail = place("n", "metrics.tail");
    char path[PATH_LEN];
    struct buf b = file_of(FILE_SEALED, 0, 7, true), t = file_of(FILE_TAIL, 1, 7, false);
    struct receive_part part = part_of(&t, 0, t.len, 7);
    struct receive_file f;
    struct err e;
    make_run();
    part.segment = 1;
    OK(receive_append(&tail, &part, &f, &e));
    OK(receive_path(&tail, path, &e));
    part = part_of(&b, 0, b.len, 7);
    part.complete = true;
    sync_fails = true;
    CHECK_INT(receive_append(&at, &part, &f, &e), ERR_SYS);
    CHECK(storage_has(path));
    sync_fails = false;
    part = part_of(&b, b.len, b.len, 7);
    part.complete = true;
    OK(receive_append(&at, &part, &f, &e));
    CHECK(!storage_has(path));
    buf_free(&b);
    buf_free(&t);
}

TEST(only_a_file_without_data_is_taken_back)
{
    const struct receive_place at = place("n", "events.fp"), tail = place("n", "events.tail");
    char path[PATH_LEN];
    struct buf b = file_of(FILE_SEALED, 0, 7, false), t = file_of(FILE_TAIL, 1, 7, false);
    struct receive_part part = part_of(&b, 0, FILE_HEADER_LEN, 7), last = part_of(&t, 0, t.len, 7);
    struct receive_file f;
    struct err e;
    uint8_t other[FILE_ID_LEN] = {1};
    last.segment = 1;
    make_run();
    OK(receive_append(&at, &part, &f, &e));
    OK(receive_append(&tail, &last, &f, &e));
    CHECK_INT(receive_remove(&at, other, &e), ERR_USAGE);
    OK(receive_remove(&at, part.id, &e));
    OK(receive_path(&at, path, &e));
    CHECK(!storage_has(path));
    OK(receive_path(&tail, path, &e));
    CHECK(!storage_has(path));
    OK(receive_remove(&at, part.id, &e));
    part = part_of(&b, 0, b.len, 7);
    OK(receive_append(&at, &part, &f, &e));
    CHECK_INT(receive_remove(&at, part.id, &e), ERR_USAGE);
    buf_free(&b);
    buf_free(&t);
}

TEST(a_run_belongs_to_the_token_that_made_it)
{
    const struct receive_place at = place("n", "metrics.fp");
    struct err e;
    CHECK_INT(receive_own(&at, "team", false, &e), ERR_NOT_FOUND);
    make_run();
    OK(receive_own(&at, "team", false, &e));
    CHECK_INT(receive_own(&at, "others", false, &e), ERR_USAGE);
    CHECK_INT(receive_own(&at, "others", true, &e), ERR_USAGE);
}

TEST(a_run_that_was_recorded_here_is_nobodys)
{
    const struct receive_place at = place(NULL, RUN_ABOUT);
    char path[PATH_LEN];
    struct err e;
    OK(path_join(path, &e, "%s/r", test_tmpdir()));
    CHECK(mkdir(path, 0777) == 0);
    OK(receive_path(&at, path, &e));
    OK(storage_of(path)->put(path, ABOUT, strlen(ABOUT), STORAGE_PUT_ABSENT, &e));
    CHECK_INT(receive_own(&at, "team", true, &e), ERR_USAGE);
}

TEST(the_same_description_twice_is_fine_and_another_is_refused)
{
    const struct receive_place at = place(NULL, RUN_ABOUT);
    static const char other[] = "{\"format\": \"footplate-run\", \"id\": \"x\"}";
    struct err e;
    make_run();
    OK(receive_put(&at, ABOUT, strlen(ABOUT), &e));
    CHECK_INT(receive_put(&at, ABOUT_LATER, strlen(ABOUT_LATER), &e), 0); /* of another node */
    CHECK_INT(receive_put(&at, other, strlen(other), &e), ERR_BUSY);
    CHECK_INT(receive_put(&at, "{", 1, &e), ERR_FORMAT);
    CHECK_INT(receive_put(&at, "{}", 2, &e), ERR_FORMAT);
}

static bool is_there(const char *name)
{
    char path[PATH_LEN];
    struct err e;
    OK(path_join(path, &e, "%s/r/node-n/%s", test_tmpdir(), name));
    return storage_has(path);
}

TEST(what_a_killed_hub_left_of_a_file_goes_when_the_file_comes_again)
{
    static const char *const names[] = {"node.json.tmp-0badcafe", "node-2.json.tmp-0badcafe",
                                        "node.json.tmp"};
    const struct receive_place node = place("n", "node.json");
    struct err e;
    make_run();
    OK(receive_put(&node, "{}", 2, &e));
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char path[PATH_LEN];
        OK(path_join(path, &e, "%s/r/node-n/%s", test_tmpdir(), names[i]));
        OK(storage_of(path)->put(path, "{", 1, STORAGE_PUT_ABSENT, &e));
    }
    OK(receive_put(&node, "{}", 2, &e));
    CHECK(is_there("node.json") && !is_there(names[0]));
    CHECK(is_there(names[1]) && is_there(names[2])); /* of other files */
}
