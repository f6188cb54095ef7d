/*
 * Walks over the structure of the file (the object, its keys, the array of events), takes the events that blocks.c has
 * parsed ahead, and parses the others. Text that is not JSON is skipped and counted.
 */
#include "trace/json/reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cjson/cJSON.h>

#include "common/array.h"
#include "common/log.h"
#include "common/map.h"
#include "common/buffer.h"
#include "trace/json/blocks.h"
#include "trace/json/parse.h"
#include "trace/json/rows.h"
#include "trace/fields_receiver.h"

/* Limits when only texts are wanted: the parser's names are dropped when they are more, or after an event with more
 * bytes. */
#define NAMES_KEPT 1024
#define LARGE_BYTES ((size_t)64 * 1024)

#define UTF8_BOM "\xef\xbb\xbf"

struct reader {
    struct input input;
    struct parser parser;
    const struct fields_receiver *receiver; /* NULL: `texts` is set */
    const struct json_texts *texts;         /* NULL: `receiver` is set */
    ARRAY(uint32_t) numbers;                /* of each text of a batch, its number in the parser's strings */
    struct buffer key;                      /* in memory: the current key of the trace's object, with a final NUL */
    int status;                             /* -1 once an error was printed */
    struct json_problems problems;
    struct pairs pairs;    /* joins slices in two events, if fields are wanted */
    int64_t start, end;    /* start of the first event, at most 0, and end of the last event, ns */
    bool any;              /* some events are neither flows nor metadata */
    bool is_bare;          /* the file is an array, whose ']' may be missing */
    bool cut_off;          /* the file ended too early, after usable events */
    struct json_rows rows; /* names of rows, for slices without a category */
    bool rows_known;       /* `rows` has all rows of the file */
};

static char reader_next_byte(struct reader *reader)
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

/* Counts text that is not JSON, AT bytes after the start of the window, which the reader skips. */
static void note_stray(struct reader *reader, size_t at, const char *found, const char *format, const char *what)
{
    char message[JSON_MESSAGE_BYTES + 64];
    struct input *input = &reader->input;
    snprintf(message, sizeof(message), format, found, what);
    json_problems_add(&reader->problems, JSON_STRAY, 1, input->offset + at, input_line(input, at), message);
}

static void note_found(struct reader *reader, size_t at, const char *what)
{
    char shown[] = {input_text(&reader->input)[at], '\0'}, byte[16];
    snprintf(byte, sizeof(byte), "0x%02x", (unsigned char)*shown);
    if (*shown < ' ' || *shown > '~')
        note_stray(reader, at, byte, "found byte %s: expected %s", what);
    else
        note_stray(reader, at, shown, "found '%s': expected %s", what);
}

/* Prints the first stray text as the error, if there are no events. Returns -1. */
static int stray_error(struct reader *reader)
{
    const struct json_problem_count *stray = &reader->problems.of[JSON_STRAY];
    return reader->status = error("'%s', line %" PRIu64 " (byte %" PRIu64 "): %s", reader->input.path, stray->line,
                                  stray->at, stray->message);
}

/* Handles text that cannot be read; WHAT was expected. Returns -1, with status 0 if a file that ends too early has
 * usable events, else after error(). */
static int reader_expected(struct reader *reader, const char *what)
{
    struct input *input = &reader->input;
    if (reader->status < 0)
        return -1;
    if (reader->problems.of[JSON_STRAY].count > 0 && !reader->any)
        return stray_error(reader);
    reader->cut_off = input_left(input) == 0 && (reader->any || (reader->is_bare && !input->cut_off));
    if (reader->cut_off)
        return -1;
    if (input_left(input) == 0 && input->cut_off)
        return reader->status = blocks_error(input->blocks, input->block);
    if (input_left(input) == 0)
        return reader->status = input_error(input, 0, "the file ends here: expected %s", what);
    note_found(reader, 0, what);
    return stray_error(reader);
}

/* Extends the window to the whole next value. Returns the value's bytes, or 0 if it does not end. */
static size_t reader_whole_value(struct reader *reader)
{
    struct input *input = &reader->input;
    struct scan scan;
    reader_next_byte(reader);
    while (!scan_value(input_text(input), input_left(input), &scan))
        if (!input_more(input, &reader->status))
            return 0;
    return scan.length;
}

static int reader_cut_value(struct reader *reader, const char *what)
{
    if (reader->status == 0)
        input_advance(&reader->input, input_left(&reader->input));
    return reader_expected(reader, what);
}

/* Counts a skipped value as stray text. Returns 0, or -1 after error() if it must not be skipped. */
static int note_value(struct reader *reader, enum parse_result result, size_t length, const char *what)
{
    struct input *input = &reader->input;
    if (result == PARSE_NO_MEMORY)
        return reader->status = error_no_memory("the trace's names");
    if (result == PARSE_TOO_LARGE)
        return reader->status = input_error(input, 0, "a value too large to be held: expected %s", what);
    size_t at = reader->parser.error_at < length ? reader->parser.error_at : length;
    note_stray(reader, at, reader->parser.message, "%s, within %s", what);
    return 0;
}

/* --- slices without a category: only the names of their rows tell what they are. These names may be anywhere in the
 * file, so at the first such slice they are read from the whole file, if it can be read twice. Problems of the file are
 * reported only by the reading that called this. --- */

static int scan_event(void *context, struct json_text text)
{
    struct json_event event = json_event_read(text);
    return event.phase == 'M' ? json_rows_take(context, &event) : 0;
}

static uint32_t row_number(struct reader *reader, event_id id)
{
    char text[256];
    if (event_id_is_text(id))
        snprintf(text, sizeof(text), "\"%.250s\"", interned(reader->parser.strings, (uint32_t)(id >> 1)));
    else
        snprintf(text, sizeof(text), "%" PRId64, event_id_value(id));
    return json_row_number(&reader->rows, (struct json_text){text, strlen(text)});
}

static int pass_whole(struct reader *reader, struct event_fields *event)
{
    if (event->category == CATEGORY_OTHER && event->phase == 'X') {
        const struct json_texts texts = {&reader->rows, scan_event, .quiet = true};
        struct stat file;
        if (!reader->rows_known && stat(reader->input.path, &file) == 0 && S_ISREG(file.st_mode))
            json_read_texts(reader->input.path, &texts, 1);
        reader->rows_known = true;
        struct row row = {row_number(reader, event->process), row_number(reader, event->thread)};
        struct gpu_row found = json_rows_gpu(&reader->rows, row, interned(reader->parser.strings, event->name));
        event_set_category(event, found.category);
        if (found.device >= 0) {
            event->device = found.device;
            event->of.gpu.stream = found.stream;
        }
    }
    return reader->receiver->event(reader->receiver->context, event);
}

static void note_times(struct reader *reader, int64_t start, int64_t end)
{
    reader->start = start < reader->start && start != FIELD_ABSENT ? start : reader->start;
    reader->end = end > reader->end ? end : reader->end;
}

/* Passes on the slice of BEGIN and END (NULL: it lasts until the trace ends). Fields absent in BEGIN are taken from
 * END. */
static int pass_slice(void *context, const char *begin, size_t size, const char *end, size_t end_size)
{
    struct reader *reader = context;
    struct event_fields slice, last;
    memcpy(&slice, begin, size);
    if (end) {
        memcpy(&last, end, end_size);
        event_complete(&slice, &last);
    } else if (category_in(slice.category, ARGS_RANGE | ARGS_OPERATOR)) {
        slice.of.range.open_at_end = 1;
    }
    slice.phase = 'X';
    slice.duration = (end ? last.start : reader->end) - slice.start;
    if (slice.name == EVENT_NO_TEXT)
        slice.name = intern(reader->parser.strings, "", 0);
    return pass_whole(reader, &slice);
}

static int pass_event(struct reader *reader, struct event_fields *event)
{
    if (!batch_is_half(event))
        return pass_whole(reader, event);
    uint64_t row[] = {event->process, event->thread};
    struct pairs_event half = {
        .row = hash_bytes(row, sizeof(row)),
        .name = event->name == EVENT_NO_TEXT ? 0 : event->name + 1,
        .time = event->start,
        .kind = event->phase == 'B'   ? PAIRS_BEGIN
                : event->phase == 'E' ? PAIRS_END
                                      : PAIRS_OPEN,
    };
    return pairs_add(&reader->pairs, half, (const char *)event, event_size(event), false);
}

/* An event is recognised by its "ph", which is usually in the first so many bytes. */
#define EVENT_HEAD_BYTES 2048

/* Returns the offset, from AT on, of the first event that seems to follow another element, or LENGTH if there is
 * none. */
static size_t find_event(const char *text, size_t at, size_t length)
{
    struct scan scan;
    for (const char *brace; at < length && (brace = memchr(text + at, '{', length - at)); at++) {
        at = (size_t)(brace - text);
        size_t before = at, inside = at + 1 + scan_blank(brace + 1, length - at - 1);
        while (before > 0 && scan_blank(text + before - 1, 1) == 1)
            before--;
        if (before == 0 || text[before - 1] != ',' || inside == length || text[inside] != '"')
            continue;
        scan_value(brace, length - at < EVENT_HEAD_BYTES ? length - at : EVENT_HEAD_BYTES, &scan);
        if (scan.ph > 0 && length - at > scan.ph + 2 && brace[scan.ph] == '"' && brace[scan.ph + 2] == '"')
            return at;
    }
    return length;
}

/* Returns the offset, from AT on, of the array's ']', which the valid rest of the file must follow, or LENGTH if there
 * is none. */
static size_t find_end(const struct reader *reader, const char *text, size_t at, size_t length)
{
    struct json_fault fault;
    for (const char *end; at < length && (end = memchr(text + at, ']', length - at)); at++) {
        at = (size_t)(end - text);
        size_t after = at + 1 + scan_blank(end + 1, length - at - 1);
        if (reader->is_bare ? after == length : json_check_rest(text + after, length - after, &fault))
            return at;
    }
    return length;
}

/* Skips a broken element. AT is the offset of its last string before the error. Returns as read_element(). */
static int pass_broken(struct reader *reader, size_t at)
{
    struct input *input = &reader->input;
    size_t next;
    while ((next = find_event(input_text(input), at, input_left(input))) == input_left(input) &&
           input_more(input, &reader->status))
        ;
    bool found = next < input_left(input);
    if (!found && reader->status == 0)
        next = find_end(reader, input_text(input), at, input_left(input));
    if (reader->status < 0 || next == input_left(input))
        return reader->status < 0 ? -1 : 2;
    input_advance(input, next);
    return found;
}

/* Sets `numbers` to the numbers of the batch's texts in the parser's strings. Returns 0, or -1 after error(). */
static int number_texts(struct reader *reader, const struct interner *strings)
{
    reader->numbers.count = 0;
    for (uint32_t i = 0; i < strings->count; i++) {
        uint32_t *number = array_push(&reader->numbers);
        if (!number)
            return error_no_memory("the trace's names");
        const struct interned *text = interner_at(strings, i);
        *number = intern(reader->parser.strings, text->text, text->length);
        if (*number == INTERN_NO_MEMORY)
            return error_no_memory("the trace's names");
    }
    return 0;
}

static int take_events(struct reader *reader, const struct batch *batch)
{
    struct event_fields own;
    if (number_texts(reader, &batch->strings) < 0)
        return reader->status = -1;
    for (size_t i = 0; i < batch->events.count; i++) {
        struct event_fields *event = fields_receiver_place(reader->receiver, &own);
        event_copy(event, &batch->events.items[i]);
        event_translate(event, reader->numbers.items);
        if (pass_event(reader, event) < 0)
            return reader->status = -1;
    }
    return 0;
}

/* Passes on a batch that was read ahead; the window is known to start with an element. */
static int take_batch(struct reader *reader, const struct batch *batch)
{
    const struct json_texts *texts = reader->texts;
    for (size_t i = 0; i < batch->texts.count && reader->status == 0; i++) {
        const struct batch_text *text = &batch->texts.items[i];
        reader->status =
            texts->event(texts->context, (struct json_text){input_text(&reader->input) + text->at, text->length});
    }
    if (reader->status < 0 || (!texts && take_events(reader, batch) < 0))
        return -1;
    for (int i = 0; batch->problems.any && i < JSON_PROBLEMS; i++) {
        const struct json_problem_count *found = &batch->problems.of[i];
        uint64_t line = reader->problems.of[i].count == 0 ? input_line(&reader->input, found->at) : 0;
        if (found->count > 0)
            json_problems_add(&reader->problems, (enum json_problem)i, found->count, reader->input.offset + found->at,
                              line, found->message);
    }
    reader->any |= batch->any;
    note_times(reader, batch->start, batch->end);
    input_advance_batch(&reader->input);
    return 0;
}

/* Parses the element at the start of the window, which is extended until the element is complete. Sets *SIZE to the
 * element's bytes. */
static enum parse_result parse_element(struct reader *reader, size_t *size, struct event_fields *event)
{
    struct input *input = &reader->input;
    struct scan scan;
    enum parse_result result;
    do {
        *size = input_left(input);
        result = parser_event(&reader->parser, input_text(input), size, event);
    } while (result == PARSE_CUT && input_more(input, &reader->status));
    if (result == PARSE_CUT && scan_value(input_text(input), input_left(input), &scan)) /* broken, or too deep */
        result = parser_check(&reader->parser, input_text(input), scan.length);
    return result;
}

/* Reads the element at the start of the window, or all that were read ahead from there. Returns 1 if an element may
 * follow, 0 if ',' or ']' must follow, -1 after error(), and 2 if the file ends within the element. */
static int read_element(struct reader *reader)
{
    struct input *input = &reader->input;
    const struct batch *batch = input_batch(input);
    struct event_fields event;
    size_t size;
    if (batch && batch->length > 0)
        return take_batch(reader, batch) < 0 ? -1 : !batch->after_event;
    enum parse_result result = parse_element(reader, &size, &event);
    if (result == PARSE_CUT || reader->status < 0)
        return reader->status < 0 ? -1 : 2;
    if (result == PARSE_NO_MEMORY)
        return note_value(reader, result, size, "an event, {\"ph\": …}");
    size_t at = result == PARSE_NOT_JSON || result == PARSE_NOT_AN_EVENT ? reader->parser.error_at : 0;
    parser_note_problems(&reader->parser, result, &reader->problems, input->offset + at, input_line(input, at));
    if (result == PARSE_NOT_JSON)
        return pass_broken(reader, reader->parser.string_at);
    if (result == PARSE_DONE) {
        reader->any |= event.phase != 'M';
        note_times(reader, event.start, event.start + event.duration);
    }
    if (reader->texts && (result == PARSE_DONE || result == PARSE_FLOW)) {
        reader->status = reader->texts->event(reader->texts->context, (struct json_text){input_text(input), size});
        if (reader->parser.strings->count >= NAMES_KEPT || size >= LARGE_BYTES) /* names are not needed later */
            interner_release(reader->parser.strings);
    } else if (result == PARSE_DONE && pass_event(reader, &event) < 0) {
        reader->status = -1;
    }
    if (reader->status == 0)
        input_advance(input, size);
    return reader->status;
}

/* Reads the elements of the array after its '[', up to its ']'. */
static int read_events(struct reader *reader)
{
    static const char rest[] = "the rest of the events, then ]}; the file is incomplete";
    bool after = false; /* after an event: ',' or ']' must follow */
    for (;;) {
        char c = reader_next_byte(reader);
        if (c == '\0' && (reader->status < 0 || input_left(&reader->input) == 0))
            return reader_cut_value(reader, rest);
        if (c == ']' || (c == ',' && after)) {
            input_advance(&reader->input, 1);
            after = false;
            if (c == ']')
                return 0;
            continue;
        }
        bool stray = after || strchr(",:}", c); /* strchr finds '\0' too */
        if (stray)
            note_found(reader, 0, after ? "',' or ']' after an event" : "an event or ']'");
        int next = !stray ? read_element(reader) : c == '{' ? 1 : pass_broken(reader, 0);
        if (next < 0)
            return -1;
        if (next == 2)
            return reader_cut_value(reader, rest);
        after = next == 0;
    }
}

/* Reads the array, and also events behind a misplaced ']'. */
static int read_array(struct reader *reader)
{
    struct input *input = &reader->input;
    while (read_events(reader) == 0) {
        size_t at;
        reader_next_byte(reader);
        while ((at = strspn(input_text(input), ", \t\r\n")) == input_left(input) && input_more(input, &reader->status))
            ;
        if (input_text(input)[at] != '{') /* zeros follow the window */
            return reader->status;
        note_found(reader, at, "no event behind the ']' after the events");
        input_advance(input, at);
    }
    return -1;
}

/* Skips broken text up to the '[' after "traceEvents". Returns false if there is none. */
static bool find_array(struct reader *reader)
{
    static const char key[] = "traceEvents\"";
    struct input *input = &reader->input;
    do {
        const char *text = input_text(input), *end = text + input_left(input), *at = text;
        for (; (at = memmem(at, (size_t)(end - at), key, strlen(key))); at++) {
            const char *after = at + strlen(key);
            after += strspn(after, ": \t\r\n"); /* zeros follow the window */
            if (*after != '[')
                continue;
            input_advance(input, (size_t)(after - text));
            return true;
        }
    } while (input_more(input, &reader->status));
    return false;
}

static int read_metadata(struct reader *reader)
{
    static const char what[] = "a value of the trace's metadata";
    struct input *input = &reader->input;
    const char *key = reader->key.data;
    char c = reader_next_byte(reader);
    cJSON *root;
    if (c && strchr(",:]}", c)) {
        note_found(reader, 0, what);
        return 0;
    }
    size_t size = reader_whole_value(reader);
    if (size == 0)
        return reader_cut_value(reader, "the rest of a value; the file is incomplete");
    enum parse_result result = parser_json(&reader->parser, input_text(input), size, &root);
    if (result != PARSE_DONE)
        note_value(reader, result, size, what);
    else if (reader->receiver)
        reader->status = reader->receiver->metadata(reader->receiver->context, key, root);
    else if (reader->texts->metadata)
        reader->status =
            reader->texts->metadata(reader->texts->context, key, (struct json_text){input_text(input), size});
    cJSON_Delete(root);
    if (reader->status == 0)
        input_advance(input, size);
    return reader->status;
}

/* WHAT is missing here. Returns 1 after counting stray text, or -1 at the end of the file. */
static int not_found(struct reader *reader, const char *what)
{
    if (reader->status < 0 || input_left(&reader->input) == 0)
        return reader_expected(reader, what);
    note_found(reader, 0, what);
    return 1;
}

static int pass_rest(struct reader *reader)
{
    do
        input_advance(&reader->input, input_left(&reader->input));
    while (input_more(&reader->input, &reader->status));
    return reader->status;
}

/* Reads a key and its ':'. Returns 0, or as not_found(). */
static int read_key(struct reader *reader)
{
    struct buffer *key = &reader->key;
    if (reader_next_byte(reader) != '"')
        return not_found(reader, "a key in quotes, such as \"traceEvents\"");
    size_t size = reader_whole_value(reader);
    if (size == 0)
        return reader_cut_value(reader, "the rest of a key; the file is incomplete");
    if (parser_check(&reader->parser, input_text(&reader->input), size) != PARSE_DONE)
        note_value(reader, PARSE_NOT_JSON, size, "a key");
    key->length = 0;
    json_unescape(key, (struct json_text){input_text(&reader->input) + 1, size - 2});
    buffer_char(key, '\0');
    if (key->failure)
        return reader->status = error_no_memory("a key of the trace");
    input_advance(&reader->input, size);
    if (reader_next_byte(reader) != ':')
        return not_found(reader, "':' after a key");
    input_advance(&reader->input, 1);
    return 0;
}

static int read_object(struct reader *reader)
{
    bool found = false, at_array = false;
    while (at_array || reader_next_byte(reader) != '}') {
        int result = at_array ? 0 : read_key(reader);
        if (result == 0 && (at_array || strcmp(reader->key.data, "traceEvents") == 0)) {
            found = true;
            bool is_array = reader_next_byte(reader) == '[';
            input_advance(&reader->input, is_array);
            result = is_array ? read_array(reader) : reader_expected(reader, "'[' after \"traceEvents\"");
        } else if (result == 0) {
            result = read_metadata(reader);
        }
        char separator = result == 0 ? reader_next_byte(reader) : '}';
        if (separator == ',')
            input_advance(&reader->input, 1);
        if (separator != ',' && separator != '}')
            result = not_found(reader, "',' or '}'");
        if (separator == '"')
            result = 0; /* the ',' before the next key is missing */
        if (result < 0)
            return -1;
        at_array = result > 0 && !found;
        if (at_array && !find_array(reader))
            return reader->status < 0 ? -1 : stray_error(reader);
        if (result > 0 && found)
            return pass_rest(reader);
    }
    if (!found && reader->problems.of[JSON_STRAY].count > 0)
        return stray_error(reader);
    if (!found)
        return reader->status =
                   error("'%s' is JSON but not a trace: expected the key \"traceEvents\"", reader->input.path);
    input_advance(&reader->input, 1);
    return 0;
}

static int read_file(struct reader *reader)
{
    struct input *input = &reader->input;
    while (input_left(input) < strlen(UTF8_BOM) && input_more(input, &reader->status))
        ;
    if (input_left(input) >= strlen(UTF8_BOM) && memcmp(input_text(input), UTF8_BOM, strlen(UTF8_BOM)) == 0)
        input_advance(input, strlen(UTF8_BOM));
    char c = reader_next_byte(reader);
    if (c != '{' && c != '[')
        return reader_expected(reader, "a trace in the trace-event format, {\"traceEvents\": [...]} or [...]");
    input_advance(input, 1);
    reader->is_bare = c == '[';
    if ((c == '{' ? read_object(reader) : read_array(reader)) < 0)
        return reader->status;
    reader_next_byte(reader);
    if (reader->status < 0 || input_left(input) == 0)
        return reader->status;
    note_found(reader, 0, "nothing after the trace");
    return pass_rest(reader);
}

/* Warns how many events were left out, and why most were. Returns 0, or -1 after error() if no event is left. */
static int tell_problems(struct reader *reader)
{
    const struct json_problem_count *most = reader->problems.of, *halves = &reader->problems.of[JSON_SURROGATE],
                                    *stray = &reader->problems.of[JSON_STRAY];
    const char *path = reader->input.path;
    uint64_t sum = 0;
    char all[64] = "", part[48] = "";
    for (const struct json_problem_count *one = most; one < &reader->problems.of[JSON_LEFT_OUT]; one++) {
        sum += one->count;
        if (one->count > most->count || (one->count == most->count && one->at < most->at))
            most = one;
    }
    if (halves->count > 0)
        warning("'%s': lone surrogates in texts are read as U+FFFD: %" PRIu64 ", the first at line %" PRIu64
                " (byte %" PRIu64 ")",
                path, halves->count, halves->line, halves->at);
    if (stray->count > 0 && sum == 0 && !reader->any)
        return stray_error(reader);
    if (stray->count > 0)
        warning("'%s': places that are not JSON are passed over: %" PRIu64 ", the first at line %" PRIu64
                " (byte %" PRIu64 "): %s",
                path, stray->count, stray->line, stray->at, stray->message);
    if (sum == 0)
        return 0;
    snprintf(all, sizeof(all), sum == 1 ? "1 event is left out" : "%" PRIu64 " events are left out", sum);
    if (most->count < sum)
        snprintf(part, sizeof(part),
                 most->count == 1 ? ", each for another reason" : ", %" PRIu64 " of them for one reason", most->count);
    if (!reader->any)
        return error("'%s' has no events that can be read: %s%s, the first at line %" PRIu64 " (byte %" PRIu64 "): %s",
                     path, all, part, most->line, most->at, most->message);
    warning("'%s': %s%s, %sat line %" PRIu64 " (byte %" PRIu64 "): %s", path, all, part, sum == 1 ? "" : "the first ",
            most->line, most->at, most->message);
    return 0;
}

static int read_all(struct reader *reader, const char *path, struct interner *strings, unsigned workers)
{
    bool quiet = reader->texts && reader->texts->quiet;
    parser_init(&reader->parser, strings);
    buffer_init_memory(&reader->key);
    pairs_init(&reader->pairs, pass_slice, reader);
    int status = input_open(&reader->input, path, workers);
    if (status == 0 && reader->texts)
        blocks_keep_texts(reader->input.blocks);
    status = status ?: read_file(reader) ?: pairs_finish(&reader->pairs, reader->input.path);
    if (status == 0 && !quiet && (reader->cut_off || reader->input.cut_off))
        warning("'%s' is cut off at byte %" PRIu64 ": what follows the last complete event is left out",
                reader->input.path, reader->input.offset);
    if (status == 0 && !quiet)
        status = tell_problems(reader);
    if (reader->texts && reader->texts->start)
        *reader->texts->start = reader->start;
    array_release(&reader->numbers);
    buffer_release(&reader->key);
    pairs_release(&reader->pairs);
    parser_release(&reader->parser);
    json_rows_release(&reader->rows);
    input_close(&reader->input);
    return status;
}

int json_read_fields(const char *path, struct interner *strings, const struct fields_receiver *receiver,
                     unsigned workers)
{
    return read_all(&(struct reader){.receiver = receiver}, path, strings, workers);
}

int json_read_texts(const char *path, const struct json_texts *texts, unsigned workers)
{
    struct interner names = {0};
    int status = read_all(&(struct reader){.texts = texts}, path, &names, workers);
    interner_release(&names);
    return status;
}
