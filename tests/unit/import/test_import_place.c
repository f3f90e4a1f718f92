/* SPDX-License-Identifier: Apache-2.0 */
/* test_import_place.c - what names of files say. */
#include <sys/stat.h>

#include "base/file.h"
#include "import/import_folder.h"
#include "test.h"

TEST(system_files_name_their_machine)
{
    struct import_hint h;
    CHECK_INT(import_place_of("p/system/incremental/2023111422/1591748100.algo-12.json", &h),
              PLACE_TRACE);
    CHECK_STR(h.node, "algo-12");
    CHECK_STR(h.worker, "");
    CHECK_INT(import_place_of("1591748100.algo-1.json", &h), PLACE_TRACE);
    CHECK_INT(import_place_of("159174810.algo-1.json", &h), PLACE_ANY);
}

TEST(timelines_name_their_worker_and_its_machine)
{
    struct import_hint h;
    CHECK_INT(import_place_of("a/1700000000000000_27-algo-1_pythontimeline.json", &h), PLACE_TRACE);
    CHECK_STR(h.worker, "27-algo-1");
    CHECK_STR(h.node, "algo-1");
    CHECK_INT(import_place_of("1_88359-8c.ant.example_horovod_timeline.json", &h), PLACE_TRACE);
    CHECK_STR(h.node, "8c.ant.example");
    CHECK_INT(import_place_of("1589930988000000_4487_0000_pythontimeline.json", &h), PLACE_TRACE);
    CHECK_STR(h.worker, "4487");
    CHECK_STR(h.node, "");
    CHECK(!h.has_base);
}

TEST(files_that_are_being_written_are_left_alone)
{
    struct import_hint h;
    CHECK_INT(import_place_of("framework/27-algo-1_pythontimeline.json.tmp", &h), PLACE_SKIPPED);
    CHECK_STR(h.skipped, "still being written");
}

TEST(pytorch_traces_name_host_and_process)
{
    struct import_hint h;
    CHECK_INT(import_place_of("gpu-node_3_1234.1700000000000000.pt.trace.json.gz", &h),
              PLACE_TRACE);
    CHECK_STR(h.worker, "gpu-node_3_1234");
    CHECK_STR(h.node, "gpu-node_3");
    CHECK_INT(import_place_of("h.example.com_7.123.pt.trace.json", &h), PLACE_TRACE);
    CHECK_STR(h.node, "h.example.com");
    CHECK_INT(import_place_of("worker0.pt.trace.json", &h), PLACE_TRACE);
    CHECK_STR(h.worker, "worker0");
    CHECK_STR(h.node, "");
}

TEST(a_rank_in_the_name_is_taken)
{
    struct import_hint h;
    CHECK_INT(import_place_of("trace_rank_12.json", &h), PLACE_ANY);
    CHECK(h.has_rank);
    CHECK_INT(h.rank, 12);
    import_place_of("Rank3-step5.json.gz", &h);
    CHECK_INT(h.rank, 3);
    import_place_of("franking.json", &h);
    CHECK(!h.has_rank);
}

TEST(the_metadata_file_of_tensorflow_gives_the_base)
{
    char path[PATH_LEN];
    struct import_hint h;
    struct err e;
    OK(path_join(path, &e, "%s/000000005/plugins/profile/2020_08_05", test_tmpdir()));
    OK(dir_make(path, &e));
    OK(path_join(path, &e, "%s/000000005/plugins/profile/2020_08_05/h.x.trace.json.gz",
                 test_tmpdir()));
    CHECK_INT(import_place_of(path, &h), PLACE_TRACE);
    CHECK(!h.has_base);
    CHECK_STR(h.node, "h.x");
    char meta[PATH_LEN];
    OK(path_join(meta, &e, "%s/000000005/80807-h.y_1596659864545103_1596659864854168.metadata",
                 test_tmpdir()));
    OK(file_create(meta, "", 0, &e));
    CHECK_INT(import_place_of(path, &h), PLACE_TRACE);
    CHECK(h.has_base);
    CHECK_INT(h.base.ns, INT64_C(1596659864545103000));
    CHECK_STR(h.worker, "80807-h.y");
    CHECK_STR(h.node, "h.y");
}

TEST(python_profiles_tell_worker_and_begin_by_their_folders)
{
    struct import_hint h;
    CHECK_INT(import_place_of("f/pytorch/pyinstrument/3-algo-2/"
                              "train-0-stepstart-1700000009000000.5_train-0-stepend-17.0/"
                              "python_stats.json",
                              &h),
              PLACE_TRACE);
    CHECK_STR(h.node, "algo-2");
    CHECK(h.has_base);
    CHECK_INT(h.base.ns, INT64_C(1700000009000000000));
    CHECK_INT(import_place_of("f/pytorch/cprofile/3-algo-2/x/python_stats", &h), PLACE_LOST);
    CHECK_STR(h.skipped, "a Python profile in marshal format, which is not supported");
}

TEST(names_longer_than_there_is_room_are_cut)
{
    char path[512] = "1700000000_";
    struct import_hint h;
    memset(path + 11, 'w', 300);
    snprintf(path + 311, sizeof path - 311, "_pythontimeline.json");
    CHECK_INT(import_place_of(path, &h), PLACE_TRACE);
    CHECK_INT(strlen(h.worker), IMPORT_NAME_LEN - 1);
}
