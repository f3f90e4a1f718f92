/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"
#include "query/stepkit.h"
#include "test.h"

/* ---- the cases of docs/steps.md ---- */

TEST(a_plain_loop_has_a_step_from_each_fetch_to_the_end_of_its_optimizer)
{
    CHECK_STR(kit_steps_of("L9 D5 F3 B4 O1 .2 D5 F3 B4 O1 .2 D5 F3 B4 O1"),
              "t0 9+13, t1 24+13, t2 39+13");
    CHECK_STR(kit_parts_of("D5 F3 .2 B4 O1 .2 D5 F3 B4 O1", 0),
              "data 5, forward 3, backward 4, optimizer 1, other 2");
}

TEST(zero_grad_counts_wherever_it_stands_and_begins_no_step_of_a_loop_with_a_loader)
{
    CHECK_STR(kit_steps_of("D5 Z1 F3 B4 O1 D5 Z1 F3 B4 O1"), "t0 0+14, t1 14+14");
    CHECK_STR(kit_steps_of("Z1 D5 F3 B4 O1 Z1 D5 F3 B4 O1 Z1"), "t0 1+13, t1 15+13");
    CHECK_STR(kit_parts_of("D5 Z2 F3 B4 O1", 0), "data 5, forward 3, backward 4, optimizer 3");
}

TEST(gradient_accumulation_makes_one_step_of_several_fetches)
{
    CHECK_STR(kit_steps_of("D1 F1 B1 D1 F1 B1 O1 D1 F1 B1 D1 F1 B1 O1"), "t0 0+7, t1 7+7");
    CHECK_STR(kit_parts_of("D1 F2 B3 .1 D1 F2 B3 O1", 0),
              "data 2, forward 4, backward 6, optimizer 1, other 1");
}

TEST(the_two_optimizers_of_a_gan_step_once_each_in_one_step)
{
    CHECK_STR(kit_steps_of("D2 F1 F1 B1 O1:0 F1 B1 O1:1 D2 F1 F1 B1 O1:0 F1 B1 O1:1"),
              "t0 0+9, t1 9+9");
    /* And without a loader: the first optimizer's second turn is the next step. */
    CHECK_STR(kit_steps_of("F1 F1 B1 O1:0 F1 B1 O1:1 .3 F1 F1 B1 O1:0 F1 B1 O1:1 .3 "
                           "F1 F1 B1 O1:0 F1 B1 O1:1"),
              "t0 0+7, t1 10+7, t2 20+7");
    /* A critic that steps more often than the generator. */
    CHECK_STR(kit_steps_of("F1 B1 O1:0 F1 B1 O1:0 F1 B1 O1:1 F1 B1 O1:0 F1 B1 O1:0 F1 B1 O1:1"),
              "t0 0+3, t1 3+6, t2 9+3, t3 12+6");
    CHECK_STR(kit_steps_of("Z1 F1 B1 O1:7 Z1 F1 B1 O1:9 Z1 F1 B1 O1:7 Z1 F1 B1 O1:9"),
              "t0 0+8, t1 8+8");
}

TEST(an_optimizer_that_steps_twice_for_one_fetch_makes_one_step)
{
    CHECK_STR(kit_steps_of("D1 F1 B1 O1 F1 B1 O1 D1 F1 B1 O1"), "t0 0+7, t1 7+4");
}

TEST(a_gan_that_makes_its_fakes_without_gradients_has_them_in_its_steps)
{
    CHECK_STR(kit_steps_of("E2 F1 B1 O1:0 F1 B1 O1:1 .1 E2 F1 B1 O1:0 F1 B1 O1:1 .1 "
                           "E2 F1 B1 O1:0 F1 B1 O1:1"),
              "t0 0+8, t1 9+8, t2 18+8");
}

TEST(a_loop_without_a_loader_begins_its_steps_with_the_first_pass_or_zero_grad)
{
    CHECK_STR(kit_steps_of("F3 B4 O1 .2 F3 B4 O1 .2"), "t0 0+8, t1 10+8");
    CHECK_STR(kit_steps_of("Z1 F3 B4 O1 .2 Z1 F3 B4 O1"), "t0 0+9, t1 11+9");
    CHECK_STR(kit_steps_of("B4 O1 .2 B4 O1"), "t0 0+5, t1 7+5");
    CHECK_STR(kit_steps_of("O1 .2 O1"), "t0 0+1, t1 3+1");
}

TEST(several_forwards_of_a_step_and_the_many_of_an_rnn_belong_together)
{
    CHECK_STR(kit_steps_of("D1 F1 F1 F1 B1 O1 D1 F1 F1 F1 B1 O1"), "t0 0+6, t1 6+6");
    CHECK_STR(kit_steps_of("F1 F1 F1 F1 B4 O1 F1 F1 F1 F1 B4 O1"), "t0 0+9, t1 9+9");
    CHECK_STR(kit_parts_of("D1 F1 .1 F1 .1 F1 .1 B4 O1", 0),
              "data 1, forward 3, backward 4, optimizer 1, other 3");
}

TEST(an_evaluation_between_epochs_has_a_step_for_each_fetch)
{
    CHECK_STR(kit_steps_of("L1 D1 F1 B1 O1 L1 D1 E1 .1 D1 E1 L1 D1 F1 B1 O1"),
              "t0 1+4, e0 6+2, e1 9+2, t1 12+4");
    CHECK_STR(kit_steps_of("D1 E1 E1 D1 E1 E1"), "e0 0+3, e1 3+3"); /* two models look */
}

TEST(a_fetch_that_found_the_loader_empty_begins_nothing)
{
    CHECK_STR(kit_steps_of("D1 F1 B1 O1 D1 .90 L1 D1 F1 B1 O1 D1"), "t0 0+4, t1 96+4");
    CHECK_STR(kit_steps_of("D1 N8 F1 B1 O1 D1 .90 D1 N8 E1 D1 .5 D1 N8 F1 B1 O1 D1"),
              "t0 0+4, e0 95+2, t1 103+4");
}

TEST(two_loaders_side_by_side_make_one_step)
{
    CHECK_STR(kit_steps_of("D1 D2 F1 B1 O1 D1 D2 F1 B1 O1"), "t0 0+6, t1 6+6");
    CHECK_STR(kit_steps_of("D1 F1 D2 F1 B1 O1 D1 F1 D2 F1 B1 O1"), "t0 0+7, t1 7+7");
    CHECK_STR(kit_steps_of("D1 D2 E1 D1 D2 E1"), "e0 0+4, e1 4+4");
}

TEST(a_teacher_that_looks_inside_a_step_is_part_of_it)
{
    CHECK_STR(kit_steps_of("D1 E2 F1 B1 O1 D1 E2 F1 B1 O1"), "t0 0+6, t1 6+6");
    CHECK_STR(kit_steps_of("D1 F1 E2 B1 O1 D1 F1 E2 B1 O1"), "t0 0+6, t1 6+6");
    CHECK_STR(kit_steps_of("D1 F1 B1 D1 E2 F1 B1 O1"), "t0 0+9");
    CHECK_STR(kit_steps_of("F1 E2 B1 O1 F1 E2 B1 O1"), "t0 0+5, t1 5+5");
    CHECK_STR(kit_steps_of("Z1 E2 F1 B1 O1 Z1 E2 F1 B1 O1 Z1 E2 F1 B1 O1"),
              "t0 0+6, t1 6+6, t2 12+6");
}

TEST(an_evaluation_without_a_loader_has_a_step_for_each_forward)
{
    CHECK_STR(kit_steps_of("F1 B1 O1 Z1 F1 B1 O1 Z1 F1 B1 O1 Z1 E1 E1 .1 E1 F1 B1 O1"),
              "t0 0+3, t1 3+4, t2 7+4, e0 12+1, e1 13+1, e2 15+1, t3 16+3");
    CHECK_STR(kit_steps_of("E1 .1 E1 .1 E1"), "e0 0+1, e1 2+1, e2 4+1");
    CHECK_STR(kit_steps_of("D1 F1 B1 O1 E1 .1 E1 D1 F1 B1 O1"), "t0 0+4, e0 4+1, e1 6+1, t1 7+4");
    CHECK_STR(kit_steps_of("F1 B1 O1 F1 B1 O1 E1 E1 Z1 F1 B1 O1"),
              "t0 0+3, t1 3+3, e0 6+1, e1 7+1, t2 8+4");
}

TEST(an_evaluation_whose_gradients_nobody_switched_off_is_one_all_the_same)
{
    CHECK_STR(kit_steps_of("L1 D1 F1 B1 O1 L1 D1 F1 D1 F1 L1 D1 F1 B1 O1"),
              "t0 1+4, e0 6+2, e1 8+2, t1 11+4");
    CHECK_STR(kit_steps_of("D1 F1 B1 O1 L1 D1 F1 D1 F1"), "t0 0+4, e0 5+2, e1 7+2");
}

TEST(training_without_a_loader_beside_an_evaluation_with_one_keeps_its_steps)
{
    CHECK_STR(kit_steps_of("D1 N4 E1 D1 N4 E1 D1 F1 B1 O1 F1 B1 O1 D1 N4 E1 D1"),
              "e0 0+2, e1 2+2, t0 5+3, t1 8+3, e2 11+2");
}

TEST(a_short_last_batch_is_a_step_like_others)
{
    struct stepkit k = {0};
    struct arena a = {0};
    struct step *v;
    size_t n;
    stepkit_add(&k, "D5 N32 F3 B4 O1 D5 N32 F3 B4 O1 D2 N7 F1 B1 O1");
    steps_derive(k.v, k.n, &a, &v, &n);
    CHECK_STR(kit_steps_text(v, n), "t0 0+13, t1 13+13, t2 26+5");
    CHECK_INT(v[0].batch, 32);
    CHECK_INT(v[2].batch, 7);
    arena_free(&a);
    stepkit_free(&k);
}

TEST(batches_of_accumulated_fetches_are_summed_and_unknown_ones_are_not_zero)
{
    struct stepkit k = {0};
    struct arena a = {0};
    struct step *v;
    size_t n;
    stepkit_add(&k, "D1 N4 F1 B1 D1 N3 F1 B1 O1 D1 F1 B1 O1");
    steps_derive(k.v, k.n, &a, &v, &n);
    CHECK_INT(n, 2);
    CHECK_INT(v[0].batch, 7);
    CHECK_INT(v[1].batch, -1);
    arena_free(&a);
    stepkit_free(&k);
}

TEST(accumulation_left_over_at_the_end_of_an_epoch_goes_into_the_next_optimizer)
{
    CHECK_STR(kit_steps_of("L1 D1 F1 B1 O1 D1 F1 B1 D1 L1 D1 F1 B1 O1"), "t0 1+4, t1 5+9");
    CHECK_STR(kit_steps_of("D1 E1 F1 B1 D1 L1 D1 F1 B1 O1"), "t0 0+10");
    /* Unless an evaluation comes between: then it is no step's. */
    CHECK_STR(kit_steps_of("D1 F1 B1 D1 E1 D1 F1 B1 O1"), "e0 3+2, t0 5+4");
    CHECK_STR(kit_steps_of("L1 D1 F1 B1 O1 D1 F1 B1 D1 L1 D1 E1 D1 L1 D1 F1 B1 O1"),
              "t0 1+4, e0 10+2, t1 14+4");
}

TEST(a_process_that_dies_in_mid_step_leaves_a_cut_one)
{
    CHECK_STR(kit_steps_of("D1 F1 B1 O1 D1 F3!"), "t0 0+4, t1 4+4!");
    CHECK_STR(kit_steps_of("D1 F1 B1 O1 D1 F3?"), "t0 0+4, t1 4+4!");
    CHECK_STR(kit_steps_of("D1 F1 B1 O1 D1 F1 B1"), "t0 0+4, t1 4+3!");
    CHECK_STR(kit_steps_of("D1 F1 B1 O1 D1 F1 B1 O9!"), "t0 0+4, t1 4+12!");
    CHECK_STR(kit_steps_of("D1 F1 B1 O1 D50!"), "t0 0+4, t1 4+50!");
    CHECK_STR(kit_steps_of("D1 N4 F1 B1 O1 D50!"), "t0 0+4, t1 4+50!");
    CHECK_STR(kit_steps_of("D1 F1 B1 D1 F1 B9!"), "t0 0+14!");
    CHECK_STR(kit_steps_of("D1 E1 D1 E5!"), "e0 0+2, e1 2+6!");
    CHECK_STR(kit_steps_of("D1 E1 D9!"), "e0 0+2, e1 2+9!");
    CHECK_STR(kit_steps_of("D1 F1 B1 O1 L1 D9!"), "t0 0+4, t1 5+9!");
    CHECK_STR(kit_steps_of("D1 E1 L1 D9!"), "e0 0+2, t0 3+9!");
    CHECK_STR(kit_steps_of("D1 F1 B1 O1 E3!"), "t0 0+4, e0 4+3!");
    CHECK_STR(kit_parts_of("D1 F1 B1 O1 D1 F3!", 1), "data 1, forward 3");
}

TEST(a_process_that_dies_between_the_passes_of_a_step_was_training)
{
    CHECK_STR(kit_steps_of("L1 D1 F1 B1 O1 D1 F3"), "t0 1+4, t1 5+4!");
    CHECK_STR(kit_steps_of("L1 D1 F1 B1 O1 D1 F1 F1"), "t0 1+4, t1 5+3!");
    CHECK_STR(kit_parts_of("D1 F1 B1 O1 D1 F3", 1), "data 1, forward 3");
    /* Several fetches without one are an evaluation, and so is what another loader gave. */
    CHECK_STR(kit_steps_of("D1 F1 B1 O1 D1 F1 D1 F1"), "t0 0+4, e0 4+2, e1 6+2");
    CHECK_STR(kit_steps_of("L1 D1 F1 B1 O1 L1 D1 F1"), "t0 1+4, e0 6+2");
    CHECK_STR(kit_steps_of("L1 D1 F1"), "e0 1+2");
}

TEST(a_process_that_dies_in_mid_step_without_a_loader_leaves_a_cut_one)
{
    CHECK_STR(kit_steps_of("F1 B1 O1 F3!"), "t0 0+3, t1 3+3!");
    CHECK_STR(kit_steps_of("F1 B1 O1 F1 B1"), "t0 0+3, t1 3+2!");
    CHECK_STR(kit_steps_of("F1 B1 O1 F1 B1 O1!"), "t0 0+3, t1 3+3!");
    CHECK_STR(kit_steps_of("F9!"), "t0 0+9!");
    CHECK_STR(kit_steps_of("F1 B1 O1 Z9!"), "t0 0+3");
    CHECK_STR(kit_steps_of("F1 B1 O1 F9"), "t0 0+3"); /* a last look, gradients left on */
}

TEST(one_of_two_optimizers_is_no_whole_step_when_the_process_dies_before_the_other)
{
    CHECK_STR(kit_steps_of("D1 F1 B1 O1:0 F3!"), "t0 0+7!");
    CHECK_STR(kit_steps_of("D1 F1 B1 O1:0 F1 B1"), "t0 0+4");
}

TEST(what_only_warms_up_is_no_step)
{
    CHECK_STR(kit_steps_of(""), "");
    CHECK_STR(kit_steps_of("F5"), "");
    CHECK_STR(kit_steps_of("F5 B5 .90 D1 F1 B1 O1"), "t0 100+4"); /* before the loop */
    CHECK_STR(kit_steps_of("Z5 .90 D1 F1 B1 O1 D1 F1 B1 O1 D5"), "t0 95+4, t1 99+4");
    CHECK_STR(kit_steps_of("D5 D5 L1"), "");
    CHECK_STR(kit_steps_of("Z5"), "");
    CHECK_STR(kit_steps_of("U5 K5 C1"), "");
}

TEST(an_optimizer_that_runs_a_closure_has_the_passes_counted_for_themselves)
{
    CHECK_STR(kit_steps_of("D1 O20(F3 B4 F3 B4) D1 O20(F3 B4)"), "t0 0+21, t1 21+21");
    CHECK_STR(kit_parts_of("D1 O20(.1 F3(H1) B4 F3 B4(C2))", 0),
              "data 1, forward 6, backward 8, optimizer 6");
    CHECK_STR(kit_steps_of("O20(F3 B4) .2 O20(F3 B4) .2 E4 .1 O20(F3 B4)"),
              "t0 0+20, t1 22+20, e0 44+4, t2 49+20");
}

TEST(optimizers_inside_the_backward_pass_end_their_step_with_it)
{
    CHECK_STR(kit_steps_of("D1 F1 B9(O1:0 .1 O1:1 .1 O1:2) D1 F1 B9(O1:0 O1:1 O1:2)"),
              "t0 0+11, t1 11+11");
    CHECK_STR(kit_steps_of("F1 B9(O1:0 .1 O1:1 .1 O1:2) F1 B9(O1:0 O1:1 O1:2) F1 B9(O1:0 O1:1)"),
              "t0 0+10, t1 10+10, t2 20+10");
    CHECK_STR(kit_parts_of("D1 F1 B9(O1:0 .1 O1:1 .1 O1:2)", 0), "data 1, forward 1, backward 9");
}

TEST(an_optimizer_inside_another_is_that_ones_own_affair)
{
    CHECK_STR(kit_steps_of("F1 B1 O5:1(O2:7 O2:7) F1 B1 O5:1(O2:7)"), "t0 0+7, t1 7+7");
}

TEST(the_loader_made_by_the_first_fetch_does_not_part_it_from_its_step)
{
    CHECK_STR(kit_steps_of("D9(L5) F1 B1 O1"), "t0 0+12");
}

/* ---- steps that the program says ---- */

TEST(steps_that_the_program_says_are_taken_as_they_are)
{
    CHECK_STR(kit_steps_of("S10:5 .1 S10:6 .1 V4:0 P3:9"), "t5 0+10, t6 11+10, e0 22+4, p9 26+3");
    CHECK_STR(kit_steps_of("S10:5(F1 B1 O1 F1 B1 O1) F1 B1 O1 S9:6!"), "t5 0+10, t6 13+9!");
    CHECK_STR(kit_parts_of("S10:5(F2 B3 O1)", 0), "forward 2, backward 3, optimizer 1, other 4");
}

TEST(a_step_that_the_program_says_reaches_back_over_its_fetch)
{
    CHECK_STR(kit_steps_of("D5 S10:0 D5 .1 S10:1 D2 D3 H1 S10:2"), "t0 0+15, t1 15+16, t2 31+16");
    CHECK_STR(kit_steps_of("D5 F1 S10:0"), "t0 6+10");
    CHECK_STR(kit_steps_of("D5 K9 S10:0"), "t0 14+10");
    CHECK_STR(kit_steps_of("D5 L1 D2 S10:0"), "t0 6+12");
    CHECK_STR(kit_steps_of("S10:0(D5) .5 S10:1"), "t0 0+10, t1 15+10");
    CHECK_STR(kit_parts_of("D5 .1 S10:0(F2)", 0), "data 5, forward 2, other 9");
}

TEST(a_loader_that_looks_ahead_is_empty_before_its_last_step_and_that_has_its_fetch_too)
{
    /* Two batches a step; N tells the size of a batch, and a fetch without one found nothing. */
    const char *ahead = "D1 N8 .1 D1 N8 .1 D1 N8 .1 S9:0 D1 N8 .1 D1 N8 .1 S9:1 D1 N3 .1 D2 S9:2";
    CHECK_STR(kit_steps_of(ahead), "t0 0+15, t1 15+13, t2 28+13");
    CHECK_STR(kit_parts_of(ahead, 2), "data 3, other 10");
    /* Who looks at all batches before its first step takes none of them for it. */
    CHECK_STR(kit_steps_of("D1 N8 .1 D1 N8 .1 D1 N8 .1 D1 S9:0 .1 S9:1"), "t0 7+9, t1 17+9");
    CHECK_STR(kit_steps_of("D1 N8 .1 S9:0 L1 D1 N8 .1 D1 N8 .1 D1 S9:1"), "t0 0+11, t1 17+9");
}

TEST(of_steps_inside_each_other_the_outer_one_counts)
{
    CHECK_STR(kit_steps_of("S10:0(S3:7 S3:8) S10:1"), "t0 0+10, t1 10+10");
}

TEST(a_step_that_came_to_nothing_does_not_count)
{
    CHECK_STR(kit_steps_of("S10:0 D5 S10:1(.9 Q0) S10:1 S10:2(Q0 .1 Q0)"), "t0 0+10, t1 25+10");
    CHECK_STR(kit_steps_of("S10:0 S10:1(.10 Q0)"), "t0 0+10"); /* in the same nanosecond */
    CHECK_STR(kit_steps_of("S10:0 S10:1(P5:0(.1 Q0))"), "t0 0+10, t1 10+10"); /* not the outer */
    CHECK_STR(kit_steps_of("D1 F1 B1 O1 S10:0(Q0)"), ""); /* the program does say its steps */
    CHECK_STR(kit_steps_of("S10:0 .1 Q0"), "t0 0+10");
}

/* ---- parts ---- */

TEST(a_part_inside_another_counts_for_the_outer_one)
{
    CHECK_STR(kit_parts_of("D1 F5(C1) B6(C4) O1", 0), "data 1, forward 5, backward 6, optimizer 1");
    CHECK_STR(kit_parts_of("D1 H2 F1 X3 K2 C1 B1 O1", 0),
              "data 1, forward 1, backward 1, optimizer 1, h2d 2, compile 3, checkpoint 2, comm 1");
    CHECK_STR(kit_parts_of("U20(D1 F2 .1 B3 O1)", 0),
              "data 1, forward 2, backward 3, optimizer 1, other 1");
}

TEST(compilations_and_waits_count_for_themselves_wherever_they_are)
{
    CHECK_STR(kit_parts_of("D1 F5(X2 C1) B6(.2 Y3) O4(Y1)", 0),
              "data 1, forward 3, backward 3, optimizer 3, sync 4, compile 2");
    CHECK_STR(kit_parts_of("D1 H4(.1 Y2) F2(X2(Y1)) B1 O1", 0),
              "data 1, backward 1, optimizer 1, h2d 2, sync 2, compile 2");
    CHECK_STR(kit_parts_of("D1 O9:1(F4(Y3) B2) F1", 0), "data 1, forward 1, backward 2, "
                                                        "optimizer 3, sync 3");
    CHECK_STR(kit_parts_of("D1 F2 Y5 B1 O1", 0),
              "data 1, forward 2, backward 1, optimizer 1, sync 5");
}

TEST(short_waits_are_taken_from_the_span_that_they_are_reported_in)
{
    CHECK_STR(kit_parts_of("D1 F5(.4 T3) B1 O1", 0),
              "data 1, forward 2, backward 1, optimizer 1, sync 3");
    CHECK_STR(kit_parts_of("D1 F2 .5 T4 .1 B1 O1", 0),
              "data 1, forward 2, backward 1, optimizer 1, sync 4, other 2");
    /* never more than there was */
    CHECK_STR(kit_parts_of("D1 F5(.4 T90) B1 .1 T99 .1 O1", 0),
              "data 1, forward 1, backward 1, optimizer 1, sync 6");
}

/* Of the n-th step of the text: "10+4": between it and the next, of that waited for the GPU. */
static const char *between_of(const char *text, size_t i)
{
    static char out[64];
    struct stepkit k = {0};
    struct arena a = {0};
    struct step *v;
    size_t n;
    stepkit_add(&k, text);
    steps_derive(k.v, k.n, &a, &v, &n);
    CHECK(i < n);
    snprintf(out, sizeof out, "%lld, sync %lld, saves %lld", (long long)v[i].between_ns,
             (long long)v[i].between_sync_ns, (long long)v[i].save_ns);
    arena_free(&a);
    stepkit_free(&k);
    return out;
}

TEST(an_iteration_reaches_to_the_begin_of_the_next_step_of_any_mode)
{
    CHECK_STR(between_of("D1 F1 B1 O1 .10 D1 F1 B1 O1", 0), "10, sync 0, saves 0");
    CHECK_STR(between_of("D1 F1 B1 O1 .10 D1 F1 B1 O1", 1), "-1, sync 0, saves 0"); /* the last */
    CHECK_STR(between_of("D1 F1 B1 O1 .3 L1 D1 E1 D1 E1 L1 D1 F1 B1 O1", 0), "4, sync 0, saves 0");
    CHECK_STR(between_of("D1 F1 B1 O1 Y7 .3 D1 F1 B1 O1", 0), "10, sync 7, saves 0");
    CHECK_STR(between_of("D1 F1 B1 O1 .9 T6 .1 D1 F1 B1 O1", 0), "10, sync 6, saves 0");
    CHECK_STR(between_of("D1 F1 B1 O1 .9 T60 .1 D1 F1 B1 O1", 0), "10, sync 10, saves 0");
    CHECK_STR(between_of("D1 F1 B1 O1 K9 D1 F1 B1 O1", 0), "9, sync 0, saves 9");
    CHECK_STR(between_of("D1 F9(.1 K3(K2)) B1 O1 K9(K5 K2) D1 F1", 0), "9, sync 0, saves 12");
}

TEST(replays_of_a_graph_are_steps)
{
    CHECK_STR(kit_steps_of("G2:1 .1 G2:1 .1 G2:1"), "t0 0+2, t1 3+2, t2 6+2");
    CHECK_STR(kit_steps_of("D1 G2:1 .1 D1 G2:1 D1 G2:1"), "t0 0+3, t1 4+3, t2 7+3");
    /* several graphs between two fetches are one step, and so are several without a loader */
    CHECK_STR(kit_steps_of("D1 G2:1 G2:2 G2:1 D1 G2:1 G2:2 G2:1"), "t0 0+7, t1 7+7");
    CHECK_STR(kit_steps_of("G2:1 G2:2 .1 G2:1 G2:2"), "t0 0+4, t1 5+4");
    /* passes as a graph, the optimizer apart; a graph is not the optimizer of its number */
    CHECK_STR(kit_steps_of("G2:1 O1:1 G2:1 O1:1"), "t0 0+3, t1 3+3");
    /* inside a pass it is the pass */
    CHECK_STR(kit_steps_of("F3(G1:1) B3(G1:2) O1 F3(G1:1) B3(G1:2) O1"), "t0 0+7, t1 7+7");
}

TEST(fetches_of_a_cuda_job_with_nothing_between_are_steps_after_those_that_were_seen)
{
    struct stepkit k = {0};
    struct arena a = {0};
    struct step *v;
    size_t n;
    stepkit_add(&k, "A0 F1 B1 O1 F1 B1 O1 L1");
    for (int i = 0; i < 20; i++)
        stepkit_add(&k, "D2 N16 .8");
    steps_derive(k.v, k.n, &a, &v, &n);
    CHECK_INT(n, 2 + 19); /* the end of the last one is not known */
    CHECK_STR(kit_steps_text(v + 2, 2), "t2 7+10, t3 17+10");
    CHECK_INT(v[2].batch, 16);
    k.v[0].event.name = "other"; /* no CUDA: nothing is known of what a fetch was for */
    steps_derive(k.v, k.n, &a, &v, &n);
    CHECK_INT(n, 2);
    arena_free(&a);
    stepkit_free(&k);
}

/* "wwdd.." : warm-up, disturbed by a detail window, or neither. */
static const char *flags_of(const char *first, const char *each, int times, const char *last)
{
    static char out[256];
    struct stepkit k = {0};
    struct arena a = {0};
    struct step *v;
    size_t n;
    stepkit_add(&k, first);
    for (int i = 0; i < times; i++)
        stepkit_add(&k, each);
    stepkit_add(&k, last);
    steps_derive(k.v, k.n, &a, &v, &n);
    CHECK(n < sizeof out);
    for (size_t i = 0; i < n; i++)
        out[i] = v[i].disturbed ? 'd' : v[i].warmup ? 'w' : '.';
    out[n] = '\0';
    arena_free(&a);
    stepkit_free(&k);
    return out;
}

TEST(the_first_steps_are_warm_up_until_the_loop_has_its_pace)
{
    CHECK_STR(flags_of("D1 F90 B9 O1", "D1 F4 B4 O1", 9, ""), "w.........");
    CHECK_STR(flags_of("", "D1 F4 B4 O1", 10, ""), "w.........");
    /* the third is slow, too; a slow one later is not the warm-up's */
    CHECK_STR(flags_of("D1 F90 B9 O1 D1 F4 B4 O1 D1 F30 B4 O1", "D1 F4 B4 O1", 12, ""),
              "www............");
    CHECK_STR(flags_of("D1 F4 B4 O1", "D1 F4 B4 O1", 12, "D1 F90 B9 O1"), "w.............");
    /* steps of two kinds, the slow one in three: that is how the loop is */
    CHECK_STR(flags_of("", "D1 F4 B4 O1 D1 F4 B4 O1 D40 F4 B4 O1", 7, ""), "w....................");
    /* compiling is never the usual pace */
    CHECK_STR(flags_of("D1 F9 B9 O1", "D1 F4 B4 O1", 6, "D1 F90(X80) B9 O1 D1 F4 B4 O1"),
              "w......w.");
    /* evaluation has a first step of its own */
    CHECK_STR(flags_of("L1 D1 E1 D1 E1 L1", "D1 F4 B4 O1", 3, ""), "w.w..");
}

TEST(steps_in_a_detail_window_and_the_two_after_it_are_marked)
{
    CHECK_STR(
        flags_of("D1 F4 B4 O1 D1 F4 B4 O1 W25(D1 F4 B4 O1 D1 F4 B4 O1)", "D1 F4 B4 O1", 5, ""),
        "w.dddd...");
}

TEST(a_pass_inside_another_pass_counts_for_the_outer_one)
{
    CHECK_STR(kit_parts_of("D1 F5(B2) B6(.1 F2) O1", 0),
              "data 1, forward 5, backward 6, optimizer 1");
}

TEST(a_span_that_reaches_into_a_step_counts_for_what_lies_inside)
{
    struct arena a = {0};
    struct step *v;
    size_t n;
    struct run_event e[] = {
        {{0}, {.name = "checkpoint", .kind = EVENT_SPAN, .dur_ns = 8}},
        {{5}, {.at = {5}, .name = "step", .kind = EVENT_STEP, .dur_ns = 10}},
        {{13}, {.at = {13}, .name = "compile", .kind = EVENT_SPAN, .dur_ns = 9}},
        {{20}, {.at = {20}, .name = "step", .kind = EVENT_STEP, .dur_ns = 10}},
    };
    steps_derive(e, COUNT_OF(e), &a, &v, &n);
    CHECK_INT(n, 2);
    CHECK_STR(kit_parts_text(&v[0]), "compile 2, checkpoint 3, other 5");
    CHECK_STR(kit_parts_text(&v[1]), "compile 2, other 8");
    arena_free(&a);
}

TEST(the_parts_are_those_of_the_table_and_then_other)
{
    CHECK_STR(step_part_name(0), "data");
    CHECK_STR(step_part_name(step_parts() - 1), "other");
    CHECK(step_parts() <= STEP_PARTS_MOST);
    for (size_t i = 0; i < step_parts(); i++)
        for (size_t k = 0; k < i; k++)
            CHECK(strcmp(step_part_name(i), step_part_name(k)) != 0);
}

TEST(spans_that_overlap_without_nesting_are_counted_once)
{
    struct arena a = {0};
    struct step *v;
    size_t n;
    struct run_event e[] = {
        {{0}, {.name = "step", .kind = EVENT_STEP, .dur_ns = 20}},
        {{2}, {.at = {2}, .name = "forward", .kind = EVENT_SPAN, .dur_ns = 6}},
        {{5}, {.at = {5}, .name = "compile", .kind = EVENT_SPAN, .dur_ns = 7}},
        {{9}, {.at = {9}, .name = "optimizer", .kind = EVENT_SPAN, .dur_ns = 6}},
        {{10}, {.at = {10}, .name = "forward", .kind = EVENT_SPAN, .dur_ns = 4}},
        {{13}, {.at = {13}, .name = "backward", .kind = EVENT_SPAN, .dur_ns = 15}},
    };
    steps_derive(e, COUNT_OF(e), &a, &v, &n);
    CHECK_INT(n, 1);
    CHECK_STR(kit_parts_text(&v[0]), "forward 5, backward 6, compile 7, other 2");
    arena_free(&a);
}

TEST(events_that_are_not_in_order_are_sorted_first)
{
    struct stepkit k = {0};
    struct arena a = {0};
    struct step *v;
    size_t n;
    stepkit_add(&k, "D5 F3 B4 O1 .2 D5 F3 B4 O1 .2 D5 F3 B4 O1");
    for (size_t i = 0; i < k.n / 2; i++) {
        const struct run_event x = k.v[i];
        k.v[i] = k.v[k.n - 1 - i];
        k.v[k.n - 1 - i] = x;
    }
    steps_derive(k.v, k.n, &a, &v, &n);
    CHECK_INT(n, 3);
    CHECK_INT(v[1].dur_ns, 13);
    arena_free(&a);
    stepkit_free(&k);
}
