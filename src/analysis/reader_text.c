#include "analysis/reader_text.h"

#include "common/log.h"
#include "analysis/scan.h"

char reader_next_byte(struct reader *reader)
{
    struct input *input = &reader->input;
    for (;;) {
        size_t blank = scan_blank(input_text(input), input_left(input));
        if (blank > 0)
            input_advance(input, blank);
        if (input_left(input) > 0)
            return *input_text(input);
        if (!input_more(input, &reader->status))
            return '\0';
    }
}

int reader_expected(struct reader *reader, const char *what)
{
    struct input *input = &reader->input;
    if (reader->status < 0)
        return -1;
    if (input_left(input) == 0)
        return reader->status = input_error(input, 0, "the file ends here: expected %s", what);
    unsigned char found = (unsigned char)*input_text(input);
    if (found < ' ' || found > '~')
        return reader->status = input_error(input, 0, "found byte 0x%02x: expected %s", found, what);
    return reader->status = input_error(input, 0, "found '%c': expected %s", found, what);
}

int reader_take(struct reader *reader, char c, const char *what)
{
    if (reader_next_byte(reader) != c || input_left(&reader->input) == 0)
        return reader_expected(reader, what);
    input_advance(&reader->input, 1);
    return 0;
}

bool reader_whole_value(struct reader *reader, struct scan *scan)
{
    struct input *input = &reader->input;
    reader_next_byte(reader);
    while (!scan_value(input_text(input), input_left(input), scan))
        if (!input_more(input, &reader->status))
            return false;
    return true;
}

int reader_cut_value(struct reader *reader, const char *what)
{
    if (reader->status == 0)
        input_advance(&reader->input, input_left(&reader->input));
    return reader_expected(reader, what);
}

int reader_value_error(struct reader *reader, enum parse_result result, const struct scan *scan, const char *what)
{
    struct input *input = &reader->input;
    if (result == PARSE_NO_MEMORY)
        return reader->status = error_no_memory("the trace's names");
    if (result == PARSE_TOO_LARGE)
        return reader->status = input_error(input, 0, "a value too large to be held: expected %s", what);
    size_t at = reader->parser.error_at < scan->length ? reader->parser.error_at : scan->length;
    return reader->status = input_error(input, at, "this is not JSON: expected %s", what);
}
