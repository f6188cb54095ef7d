#include "tests/unit.h"

#include "trace/output.h"

UNIT_TEST(the_ending_chooses_the_format)
{
    assert_ptr_equal(file_format_of("t.json")->sink, &chrome_json);
    assert_ptr_equal(file_format_of("a.pftrace/t.json.gz")->sink, &chrome_json);
    assert_ptr_equal(file_format_of("t.pftrace.gz")->sink, &pftrace);
    assert_int_equal(file_format_of("t.speedscope.json")->content, FILE_SPEEDSCOPE);
    assert_int_equal(file_format_of("t.folded.gz")->content, FILE_FOLDED);
    assert_int_equal(file_format_of("t.flight")->content, FILE_FLIGHT);
    assert_int_equal(file_format_of("t.folded.json")->content, FILE_EVENTS);
    assert_int_equal(file_format_of("t.folded.gz")->packing, PACKING_MEMBERS);
    assert_int_equal(file_format_of("t.pftrace")->packing, PACKING_SECTIONS);
}

UNIT_TEST(a_name_without_a_known_ending_is_json)
{
    assert_ptr_equal(file_format_of("/dev/null")->sink, &chrome_json);
    assert_int_equal(file_format_of("/dev/null")->packing, PACKING_NONE);
    assert_int_equal(file_format_of("t.gz")->packing, PACKING_MEMBERS);
}

UNIT_TEST(a_known_name_is_more_than_its_ending)
{
    assert_true(file_format_is_known("a.json") && file_format_is_known("a.folded"));
    assert_true(!file_format_is_known(".json") && !file_format_is_known("a") && !file_format_is_known("a.gz"));
}

UNIT_TEST(endings_are_listed_for_messages)
{
    char words[FILE_FORMAT_WORDS];
    assert_string_equal(file_format_words(words, true), ".json, .json.gz, .pftrace, .pftrace.gz, .sqlite or .db");
    assert_contains(file_format_words(words, false), ".db, .folded, .folded.gz or .flight");
}

UNIT_MAIN(NULL, NULL)
