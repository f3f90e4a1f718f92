/* SPDX-License-Identifier: Apache-2.0 */
/* test_import_pyinstrument.c - what a tree of frames becomes. */
#include "import_run.h"

static const char tree[] =
    "{\"start_time\": 1700000000.5, \"duration\": 2.5, \"sample_count\": 9,\n"
    " \"root_frame\": {\"function\": \"main\", \"file_path_short\": \"t.py\",\n"
    "  \"file_path\": \"/home/me/t.py\", \"line_no\": 1, \"time\": 2.0, \"children\": [\n"
    "   {\"function\": \"walk\", \"file_path\": \"/home/me/t.py\", \"line_no\": 7, \"time\": 1.5,\n"
    "    \"children\": [{\"function\": \"walk\", \"file_path\": \"/home/me/t.py\", \"line_no\": "
    "7,\n"
    "      \"time\": 0.5, \"children\": []},\n"
    "     {\"function\": \"[self]\", \"file_path\": \"\", \"line_no\": 0, \"time\": 1.0}]}],\n"
    "  \"group_id\": null}}";

static struct imported import(const char *text, struct import_hint hint)
{
    const struct import_ask ask = {.hint = hint,
                                   .wall_minus_mono_ns = INT64_C(1700000000000000000)};
    return import_with(&importer_pyinstrument, text, ask, 13);
}

TEST(own_time_is_what_children_leave_and_recursion_counts_once)
{
    struct imported m = import(tree, (struct import_hint){.worker = "31-algo-1"});
    CHECK_INT(m.rc, 0);
    const struct caught *main = catch_find(&m.got, "main (me/t.py:1)");
    const struct caught *walk = catch_find(&m.got, "walk (me/t.py:7)");
    CHECK_INT(main->event.at.ns, 500000000);
    CHECK_INT(main->event.dur_ns, 500000000);
    CHECK_INT(walk->event.dur_ns, 1500000000);
    CHECK(strstr(walk->event.args, "total_s=1.5\n"));
    CHECK_INT(main->track.pid, 31);
    CHECK_STR(main->track.name, "python profile");
    const struct caught *window = catch_find(&m.got, "python profile");
    CHECK_INT(window->event.dur_ns, 2500000000);
    CHECK(strstr(window->event.args, "profiler=pyinstrument"));
    CHECK_INT(m.got.n, 3);
    catch_close(&m.got);
}

TEST(the_place_of_the_file_tells_when_it_began)
{
    struct imported m = import(
        tree, (struct import_hint){.has_base = true, .base = {INT64_C(1700000009000000000)}});
    CHECK_INT(catch_find(&m.got, "main (me/t.py:1)")->event.at.ns, INT64_C(9000000000));
    catch_close(&m.got);
}

TEST(a_tree_that_is_cut_gives_what_it_has)
{
    char cut[sizeof tree] = "";
    memcpy(cut, tree, (size_t)(strstr(tree, "[self]") - tree));
    struct imported m = import(cut, (struct import_hint){0});
    CHECK_INT(m.rc, 0);
    catch_find(&m.got, "walk (me/t.py:7)");
    CHECK_INT(m.result.faults.cut, 1);
    catch_close(&m.got);
}

TEST(a_profile_without_frames_is_refused)
{
    struct imported m = import("{\"root_frame\": null}", (struct import_hint){0});
    CHECK_INT(m.rc, ERR_FORMAT);
    CHECK(strstr(m.e.msg, "no frame"));
    catch_close(&m.got);
}

TEST(it_is_known_by_its_root)
{
    CHECK(importer_sniff(tree, sizeof tree - 1) == &importer_pyinstrument);
}
