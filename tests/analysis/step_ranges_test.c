#include "tests/unit.h"

#include "analysis/section.h"
#include "analysis/step_ranges.h"

static const struct report_options options = {.sections = 1u << REPORT_NVTX, .workers = 1};
static struct sections sections;

static void begin_trace(void)
{
    assert_int_equal(sections_init(&sections, &options), 0);
}

static void add(const char *name, int64_t thread, int64_t start, int64_t duration)
{
    struct event_fields event = event_nothing;
    event.phase = 'X';
    event.category = CATEGORY_USER_ANNOTATION;
    event.name = intern(&sections.trace.strings, name, strlen(name));
    event.process = event_id_number(1);
    event.thread = event_id_number(thread);
    event.start = start;
    event.duration = duration;
    assert_int_equal(dispatcher_event(&sections.dispatcher, &event), 0);
}

static int write_step(void *context, const struct step_range *step)
{
    char *text = context;
    size_t length = strlen(text);
    snprintf(text + length, 200 - length, "%lld:%lld ", (long long)step->number, (long long)step->range.start);
    return 0;
}

/* What the steps are: their numbers and starts. */
static const char *steps_of(void)
{
    static char text[200];
    struct step_ranges steps;
    *text = '\0';
    assert_int_equal(sections_finish(&sections), 0);
    assert_int_equal(step_ranges_find(&steps, &sections.trace), 0);
    assert_int_equal(step_ranges_each(&steps, &sections.trace, write_step, text), 0);
    assert_int_equal(steps.any, *text != '\0');
    sections_release(&sections);
    return text;
}

UNIT_TEST(without_repetition_there_are_no_steps)
{
    begin_trace();
    assert_string_equal(steps_of(), "");
    begin_trace();
    add("all", 1, 0, 100);
    add("init", 1, 10, 10);
    add("init", 2, 10, 10); /* on another thread */
    assert_string_equal(steps_of(), "");
}

UNIT_TEST(the_outermost_range_that_repeats_is_the_step)
{
    begin_trace();
    add("all", 1, 0, 100);
    add("step", 1, 10, 20);
    add("inner", 1, 12, 5);
    add("inner", 1, 20, 5);
    add("step", 1, 40, 20);
    assert_string_equal(steps_of(), "1:10 2:40 ");
}

UNIT_TEST(of_several_that_repeat_the_longer_ones_are_steps)
{
    begin_trace();
    add("load", 1, 0, 5);
    add("step", 1, 10, 20);
    add("load", 1, 30, 5);
    add("step", 1, 40, 20);
    add("load", 1, 60, 5);
    assert_string_equal(steps_of(), "1:10 2:40 ");
}

UNIT_TEST(steps_count_on_each_thread)
{
    begin_trace();
    add("step", 1, 10, 20);
    add("step", 1, 40, 20);
    add("step", 2, 11, 20);
    add("step", 2, 41, 20);
    assert_string_equal(steps_of(), "1:10 2:40 1:11 2:41 ");
}

UNIT_TEST(a_step_within_a_step_is_part_of_it)
{
    begin_trace();
    add("step", 1, 10, 20);
    add("step", 1, 12, 5);
    add("step", 1, 40, 20);
    assert_string_equal(steps_of(), "1:10 2:40 ");
}

UNIT_TEST(steps_of_the_profiler_have_its_numbers)
{
    begin_trace();
    add("step", 1, 5, 200);
    add("step", 1, 205, 200);
    add("ProfilerStep#4", 1, 10, 20);
    add("ProfilerStep#x", 1, 20, 2);
    add("ProfilerStep#5", 1, 40, 20);
    assert_string_equal(steps_of(), "4:10 5:40 ");
}

UNIT_TEST(one_step_of_the_profiler_is_one)
{
    begin_trace();
    add("ProfilerStep#4", 1, 10, 20);
    assert_string_equal(steps_of(), "4:10 ");
}

UNIT_MAIN(NULL, NULL)
