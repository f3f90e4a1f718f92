/* SPDX-License-Identifier: Apache-2.0 */
/* Charts: what is drawn stands where the numbers say, and nothing breaks on odd numbers. */
#include "base/stat.h"
#include "report/svg.h"
#include "report/svg_internal.h"
#include "test.h"

static const char *text_of(struct buf *b)
{
    buf_u8(b, 0);
    return (const char *)b->p;
}

static size_t count_of(const char *text, const char *word)
{
    size_t n = 0;
    for (const char *s = text; (s = strstr(s, word)); s += strlen(word))
        n++;
    return n;
}

static const struct svg_words words = {
    .title = "A <chart>", .desc = "what \"is\" seen", .unit = "s"};

TEST(a_chart_says_what_it_is_to_who_does_not_see_it)
{
    struct buf b = {0};
    svg_pie(&b, &words, (const struct svg_part[]){{"a", 1, -1}}, 1);
    const char *text = text_of(&b);
    CHECK(strstr(text, "role=\"img\""));
    CHECK(strstr(text, "aria-label=\"A &lt;chart&gt;. what &quot;is&quot; seen\""));
    CHECK(strstr(text, "<title>A &lt;chart&gt;</title><desc>what &quot;is&quot; seen</desc>"));
    buf_free(&b);
}

TEST(a_pie_tells_value_and_percent_of_each_part)
{
    const struct svg_part v[] = {{"one", 30, -1}, {"two", 60, -1}, {"none", 0, -1}};
    struct buf b = {0};
    svg_pie(&b, &words, v, 3);
    const char *text = text_of(&b);
    CHECK(strstr(text, "30.0 s, 33.3 %") && strstr(text, "60.0 s, 66.7 %"));
    CHECK(strstr(text, "0 ms, 0.0 %"));
    CHECK_INT(count_of(text, "<path"), 2);
    buf_free(&b);
}

TEST(a_pie_of_one_part_is_a_whole_ring)
{
    struct buf b = {0};
    svg_pie(&b, &words, (const struct svg_part[]){{"all", 5, -1}}, 1);
    CHECK(strstr(text_of(&b), "<circle class=\"ring"));
    buf_free(&b);
}

TEST(percentages_sum_to_a_hundred)
{
    const double thirds[] = {1, 1, 1}, odd[] = {62.5, 31.25, 6.25}, none[] = {0, NAN, -1};
    double out[7];
    percents_of(thirds, 3, out);
    NEAR(out[0] + out[1] + out[2], 100, 1e-9);
    NEAR(out[0], 33.4, 1e-9);
    percents_of(odd, 3, out);
    NEAR(out[0] + out[1] + out[2], 100, 1e-9);
    percents_of(none, 3, out);
    NEAR(out[0] + out[1] + out[2], 0, 1e-9);
    const double sevenths[] = {1, 1, 1, 1, 1, 1, 1};
    percents_of(sevenths, 7, out);
    double sum = 0;
    for (size_t i = 0; i < 7; i++)
        sum += out[i];
    NEAR(sum, 100, 1e-9);
}

TEST(whiskers_stand_at_p5_and_p95)
{
    const struct svg_box v[] = {{"gpu0", 10, 20, 50, 80, 90}};
    struct buf b = {0};
    svg_box_plot(&b, &(struct svg_words){.title = "t", .unit = "%"}, v, 1, 0, 100);
    const char *text = text_of(&b);
    const double left = svg_width_of("gpu0") + 12, right = SVG_HALF - 14;
    char p5[64], p95[64];
    snprintf(p5, sizeof p5, "x1=\"%.1f\"", left + 0.1 * (right - left));
    snprintf(p95, sizeof p95, "x2=\"%.1f\"", left + 0.9 * (right - left));
    CHECK(strstr(text, p5) && strstr(text, p95));
    CHECK(strstr(text, "p5 10.0 %, p25 20.0 %, median 50.0 %, p75 80.0 %, p95 90.0 %"));
    buf_free(&b);
}

TEST(a_line_has_a_gap_where_nothing_was_measured)
{
    const double t[] = {0, 1, 2, 3}, v[] = {1, NAN, 3, 4};
    const struct svg_line line = {"x", t, v, NULL, NULL, 4};
    struct buf b = {0};
    svg_lines(&b, &words, &(struct svg_lines){.v = &line, .n = 1});
    const char *text = text_of(&b);
    CHECK(strstr(text, "data-v=\"1.0 s\t3.0 s\t4.0 s\""));
    const char *d = strstr(text, "d=\"M");
    CHECK(d && count_of(d, "M") >= 2);
    CHECK(!strstr(text, "nan"));
    buf_free(&b);
}

TEST(a_band_goes_along_the_maxima_and_back_along_the_minima)
{
    const double t[] = {0, 10}, v[] = {50, 50}, lo[] = {0, 0}, hi[] = {100, 100};
    const struct svg_line line = {"x", t, v, lo, hi, 2};
    struct buf b = {0};
    svg_lines(&b, &words, &(struct svg_lines){.v = &line, .n = 1, .hi = 100});
    CHECK(strstr(text_of(&b), "d=\"M0.0 0.0L1000.0 0.0L1000.0 100.0L0.0 100.0Z\""));
    buf_free(&b);
}

TEST(odd_numbers_break_no_chart)
{
    const double edges[] = {0, 0}, zero[] = {0}, t[] = {5}, v[] = {NAN};
    const struct svg_counts counts = {"x", zero};
    const struct svg_line line = {"x", t, v, NULL, NULL, 1};
    const struct svg_box box = {"x", NAN, NAN, NAN, NAN, NAN};
    const struct svg_part part = {"x", NAN, -1};
    struct buf b = {0};
    svg_pie(&b, &words, &part, 1);
    svg_bars(&b, &words, &part, 1);
    svg_bars(&b, &words, NULL, 0);
    svg_box_plot(&b, &words, &box, 1, 0, 0);
    svg_histogram(&b, &words, edges, 2, &counts, 1);
    svg_histogram(&b, &words, NULL, 0, NULL, 0);
    svg_lines(&b, &words, &(struct svg_lines){.v = &line, .n = 1});
    svg_lines(&b, &words, &(struct svg_lines){0});
    svg_stack(&b, &words, &(struct svg_stack){0});
    svg_progress(&b, &words, NULL, 0, 0, 0);
    const char *text = text_of(&b);
    CHECK(!strstr(text, "nan") && !strstr(text, "inf"));
    CHECK(strstr(text, "not measured"));
    CHECK_INT(count_of(text, "<svg"), count_of(text, "</svg>"));
    buf_free(&b);
}

TEST(names_in_charts_are_cut_and_kept_whole_as_a_hint)
{
    static const char name[] = "a name that is a good deal longer than a chart has room for";
    struct buf b = {0};
    svg_bars(&b, &words, (const struct svg_part[]){{name, 1, -1}}, 1);
    const char *text = text_of(&b);
    CHECK(
        strstr(text, "<title>a name that is a good deal longer than a chart has room for</title>"));
    CHECK(strstr(text, "\u2026</text>"));
    buf_free(&b);
}

TEST(units_and_names_in_hints_are_escaped)
{
    static const struct svg_words odd = {.title = "a", .unit = "<b>"};
    static const double one[] = {1, 2};
    static const char *const names[] = {"<i>"};
    static const struct report_look parts[] = {{"<i>", "<i>", COLOUR_c1}};
    struct buf b = {0};
    svg_histogram(&b, &odd, one, 2, (const struct svg_counts[]){{"a", one}}, 1);
    svg_stack(&b, &odd,
              &(struct svg_stack){.parts = parts, .n_parts = 1, .labels = names, .v = one, .n = 1});
    const char *text = text_of(&b);
    CHECK(!strstr(text, "<b>") && !strstr(text, "<i>"));
    CHECK(strstr(text, "<title>1 &lt;b&gt; to 2 &lt;b&gt;: 1</title>"));
    buf_free(&b);
}

TEST(marks_of_time_are_round)
{
    char text[48];
    struct ticks t = ticks_of_time(0, 86400, 8);
    NEAR(t.step, 10800, 1e-9);
    CHECK_STR(tick_time_text(21600, &t, text, sizeof text), "6 h");
    t = ticks_of_time(0, 1500, 8);
    NEAR(t.step, 300, 1e-9);
    CHECK_STR(tick_time_text(300, &t, text, sizeof text), "5 min");
    t = ticks_of_time(0, 0.5, 5);
    CHECK_STR(tick_time_text(0.1, &t, text, sizeof text), "100 ms");
}

TEST(marks_of_a_short_time_late_in_a_run_have_no_exponent)
{
    char text[48];
    const struct ticks t = ticks_of_time(16.4, 20.0, 8);
    NEAR(t.step, 0.5, 1e-9);
    CHECK_STR(tick_time_text(17.5, &t, text, sizeof text), "17.5 s");
}
