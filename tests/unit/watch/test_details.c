/* SPDX-License-Identifier: Apache-2.0 */
/* test_details.c - what the hooks leave becomes files of the node. */
#include <stdio.h>
#include <sys/stat.h>

#include "base/file.h"
#include "store/reader.h"
#include "test.h"
#include "watch/watch.h"

#define TRACE                                                                                      \
    "{\"schemaVersion\": 1, \"traceEvents\": [\n"                                                  \
    "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"pid\": 42, \"tid\": 42, "      \
    "\"ts\": 1711964646000000.5, \"dur\": 10},\n"                                                  \
    "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::add\", \"pid\": 42, \"tid\": 42}\n"    \
    "]}\n"

#define PROFILE                                                                                    \
    "{\"version\": 1, \"profiler\": \"cprofile\", \"timer\": \"total_time\", \"pid\": 42, "        \
    "\"rank\": 0, \"start_step\": 1, \"end_step\": 2, \"start_ns\": 10, \"end_ns\": 20, "          \
    "\"functions\": [{\"file\": \"/a/b.py\", \"line\": 3, \"name\": \"f\", \"calls\": 2, "         \
    "\"self_s\": 0.1, \"total_s\": 1}], \"phases\": {}}"

struct place {
    char folder[PATH_LEN], node[PATH_LEN];
    struct writer *w;
    struct details *d;
};

static void open_place(struct place *p)
{
    struct err e;
    OK(path_join(p->folder, &e, "%s/rings", test_tmpdir()));
    OK(path_join(p->node, &e, "%s/node-a", test_tmpdir()));
    OK(dir_make(p->folder, &e));
    OK(dir_make(p->node, &e));
    OK(writer_open(&p->w, p->node, &e));
    p->d = details_open(
        &(struct details_ask){p->folder, p->node, writer_session(p->w), writer_sink(p->w)});
}

static void leave(const struct place *p, const char *name, const char *text)
{
    char path[PATH_LEN];
    struct err e;
    OK(path_join(path, &e, "%s/%s", p->folder, name));
    OK(file_create(path, text, strlen(text), &e));
}

static bool is_there(const char *folder, const char *name)
{
    char path[PATH_LEN];
    struct stat st;
    struct err e;
    OK(path_join(path, &e, "%s/%s", folder, name));
    return stat(path, &st) == 0;
}

static void close_place(struct place *p)
{
    struct err e;
    details_close(p->d);
    OK(writer_close(p->w, &e));
}

/* The loss of that kind in a file of the node; false: there is none. */
static bool find_loss(const struct place *p, const char *name, enum loss_id id, struct loss *out)
{
    char path[PATH_LEN];
    struct store *s;
    struct err e;
    OK(path_join(path, &e, "%s/%s", p->node, name));
    OK(store_open(&s, path, &e));
    bool found = false;
    for (uint32_t i = 0; i < s->n_losses && !found; i++) {
        *out = s->losses[i];
        found = out->id == id;
    }
    store_close(s);
    return found;
}

TEST(a_window_of_operators_becomes_a_file_of_its_node)
{
    struct place p;
    open_place(&p);
    leave(&p, "detail-42-0.json", TRACE);
    details_look(p.d);
    close_place(&p);
    CHECK(is_there(p.node, "trace-42-0.fp"));
    CHECK(!is_there(p.node, "trace-42-0.tail"));
    CHECK(!is_there(p.folder, "detail-42-0.json"));
}

TEST(a_profile_of_functions_becomes_a_file_of_its_node)
{
    struct place p;
    open_place(&p);
    leave(&p, "python-42-1.json", PROFILE);
    close_place(&p); /* takes what nobody has pointed out */
    CHECK(is_there(p.node, "trace-42-python-1.fp"));
    CHECK(!is_there(p.folder, "python-42-1.json"));
}

TEST(saved_tensors_become_a_file_of_their_node_as_they_are)
{
    struct place p;
    open_place(&p);
    leave(&p, "tensors-0-100-42-0.npz", "PK\3\4 and more");
    details_look(p.d);
    close_place(&p);
    CHECK(is_there(p.node, "tensors-0-100-42-0.npz"));
    CHECK(!is_there(p.folder, "tensors-0-100-42-0.npz"));
}

TEST(what_is_no_file_of_tensors_is_a_loss_and_leaves_nothing)
{
    struct place p;
    struct loss l;
    open_place(&p);
    leave(&p, "tensors-0-100-42-0.npz", "nothing of that kind");
    close_place(&p);
    CHECK(!is_there(p.node, "tensors-0-100-42-0.npz"));
    CHECK(!is_there(p.folder, "tensors-0-100-42-0.npz"));
    CHECK(find_loss(&p, "metrics.fp", LOSS_DETAIL, &l));
}

TEST(what_a_window_could_not_keep_is_a_loss_of_its_file)
{
    struct place p;
    struct loss l;
    open_place(&p);
    leave(&p, "detail-42-0.json", TRACE);
    close_place(&p);
    CHECK(find_loss(&p, "trace-42-0.fp", LOSS_MALFORMED, &l));
    CHECK_STR(loss_what(&l, (char[ENTITY_LEN]){0}), "trace no-time");
    CHECK_INT(l.count, 1);
}

TEST(a_window_that_cannot_be_read_is_a_loss_and_leaves_nothing)
{
    struct place p;
    struct loss l;
    open_place(&p);
    leave(&p, "detail-42-0.json", "no trace");
    close_place(&p);
    CHECK(!is_there(p.node, "trace-42-0.fp"));
    CHECK(!is_there(p.node, "trace-42-0.tail"));
    CHECK(!is_there(p.folder, "detail-42-0.json"));
    CHECK(find_loss(&p, "metrics.fp", LOSS_DETAIL, &l));
    CHECK_STR(loss_what(&l, (char[ENTITY_LEN]){0}), "detail-42-0.json");
}

TEST(files_of_other_names_are_left_alone)
{
    struct place p;
    open_place(&p);
    leave(&p, "detail-42.json", TRACE);
    leave(&p, ".detail-42-0.json", TRACE);
    leave(&p, "config.json", "{}");
    close_place(&p);
    CHECK(is_there(p.folder, "detail-42.json"));
    CHECK(is_there(p.folder, ".detail-42-0.json"));
    CHECK(is_there(p.folder, "config.json"));
}
