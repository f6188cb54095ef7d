#include "tests/unit.h"

#include "cli/diagnosis.h"

static void answer_length(const void *question, void *answer)
{
    *(size_t *)answer = strlen(question);
    puts("words on stdout are not seen");
    fflush(stdout);
}

static void crash(const void *question, void *answer)
{
    *(size_t *)answer = *(const size_t *)question;
    abort();
}

static void leave(const void *question, void *answer)
{
    (void)question, (void)answer;
    exit(0);
}

UNIT_TEST(an_answer_comes_back)
{
    size_t answer = 0;
    assert_int_equal(probe(answer_length, "four", &answer, sizeof(answer)), PROBE_ANSWERED);
    assert_int_equal(answer, 4);
}

UNIT_TEST(a_crash_is_reported_and_leaves_what_it_had_come_to)
{
    size_t question = 5, answer = 0;
    assert_int_equal(probe(crash, &question, &answer, sizeof(answer)), PROBE_CRASHED);
    assert_int_equal(answer, 5);
    assert_int_equal(probe(leave, NULL, &answer, sizeof(answer)), PROBE_CRASHED);
}

UNIT_MAIN(NULL, NULL)
